import { readFile, stat } from 'node:fs/promises';

/** Keeps what is made of a file's text until the file changes. The function that is returned rejects while the file cannot be read. */
export function madeOfFile<T>(path: string, make: (text: string) => T): () => Promise<T> {
  let known: { version: string; made: T } | undefined;
  return async () => {
    const { mtimeMs, size, ino } = await stat(path);
    const version = `${mtimeMs} ${size} ${ino}`;
    if (known?.version !== version) known = { version, made: make(await readFile(path, 'utf8')) };
    return known.made;
  };
}
