import { lstat, readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type ListedFile, largestFile, SkipCounter, type Source } from './source.ts';

/** Never content, and too large to walk for nothing. */
const notWalked = new Set(['.git', 'node_modules']);

/** The files below a directory. Symlinks are not followed, so nothing outside is reached and no walk is endless. */
export async function openDirectory(root: string, signal: AbortSignal): Promise<Source> {
  const skipped = new SkipCounter();
  const files: ListedFile[] = [];
  const waiting = [''];
  for (let directory = waiting.pop(); directory !== undefined; directory = waiting.pop()) {
    signal.throwIfAborted();
    await list(root, directory, { files, waiting, skipped });
  }
  files.sort((a, b) => (a.path < b.path ? -1 : 1));
  return {
    name: root,
    kind: 'directory',
    commit: null,
    files,
    skipped: skipped.counts,
    read: (file) => read(join(root, file.path), skipped),
    close: async () => {},
  };
}

async function list(
  root: string,
  directory: string,
  { files, waiting, skipped }: { files: ListedFile[]; waiting: string[]; skipped: SkipCounter },
): Promise<void> {
  const entries = await readdir(join(root, directory), { withFileTypes: true }).catch(() => null);
  if (entries === null) skipped.add('unreadable', directory);
  for (const entry of entries ?? []) {
    const path = directory === '' ? entry.name : `${directory}/${entry.name}`;
    if (entry.isSymbolicLink()) skipped.add('symlinks', path);
    else if (entry.isFile()) files.push({ path, oid: '' });
    else if (!entry.isDirectory()) skipped.add('special', path);
    else if (!notWalked.has(entry.name)) waiting.push(path);
  }
}

/** The directory may change while it is read: what is no regular file any more is not opened. */
async function read(path: string, skipped: SkipCounter): Promise<Buffer | null> {
  try {
    const seen = await lstat(path);
    if (!seen.isFile()) skipped.add('special', path);
    else if (seen.size > largestFile) skipped.add('too_large', path);
    else return await readFile(path);
  } catch {
    skipped.add('unreadable', path);
  }
  return null;
}
