import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { open, readdir, stat } from 'node:fs/promises';
import path from 'node:path';

/** Makes a directory and all below it survive a loss of power: contents first, then names. */
export async function syncAll(root: string): Promise<void> {
  const entries = await readdir(root, { withFileTypes: true, recursive: true });
  const placeOf = (entry: (typeof entries)[number]) => path.join(entry.parentPath, entry.name);
  const files = entries.filter((entry) => entry.isFile()).map(placeOf);
  const directories = entries.filter((entry) => entry.isDirectory()).map(placeOf);
  for (const place of [...files, ...directories, root]) await syncOne(place);
}

/** fsync of one file or directory. */
export async function syncOne(place: string): Promise<void> {
  const handle = await open(place, 'r');
  await handle.sync().finally(() => handle.close());
}

/** Paths of all files below a directory, relative, with slashes, sorted. */
export async function filesBelow(root: string): Promise<string[]> {
  const entries = await readdir(root, { withFileTypes: true, recursive: true });
  return entries
    .filter((entry) => entry.isFile())
    .map((entry) => path.relative(root, path.join(entry.parentPath, entry.name)).split(path.sep).join('/'))
    .sort();
}

/** Size in bytes and SHA-256, hexadecimal, of a file. */
export async function measure(place: string, signal: AbortSignal): Promise<{ bytes: number; sha256: string }> {
  const hash = createHash('sha256');
  for await (const chunk of createReadStream(place, { signal })) hash.update(chunk as Buffer);
  return { bytes: (await stat(place)).size, sha256: hash.digest('hex') };
}

/** The lines of a text file, without holding it all. JSON leaves U+2028 and U+2029 as they are, which `node:readline` would break at. */
export async function* linesOf(place: string): AsyncGenerator<string> {
  let rest = '';
  for await (const chunk of createReadStream(place, { encoding: 'utf8' })) {
    const lines = `${rest}${chunk}`.split('\n');
    rest = lines.pop() ?? '';
    yield* lines;
  }
  if (rest !== '') yield rest;
}
