import type { Source } from './source.ts';

/** Larger files are no configuration; bytes. */
const largestConfig = 1024 * 1024;

/** Reads files of a source by their path, as the service reads configurations: null for what is not there, too large or no UTF-8. */
export function textReader(source: Source): (path: string) => Promise<string | null> {
  const files = new Map(source.files.map((file) => [file.path, file]));
  return async (path) => {
    const file = files.get(path);
    const bytes = file && (await source.read(file));
    if (!bytes || bytes.length > largestConfig) return null;
    const text = bytes.toString('utf8');
    return Buffer.from(text, 'utf8').equals(bytes) ? text : null;
  };
}
