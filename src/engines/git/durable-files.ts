import { randomUUID } from 'node:crypto';
import fs from 'node:fs';
import { mkdir, rename, unlink } from 'node:fs/promises';
import { dirname } from 'node:path';
import { promisify } from 'node:util';
import { forEachConcurrently } from '../../lib/concurrency.ts';

// A commit makes a dozen such calls at least: by descriptors they take half the processor time of those by FileHandles.
const open = promisify(fs.open);
const fsync = promisify(fs.fsync);
const writeFile = promisify(fs.writeFile);
const writev = promisify(fs.writev);

/** Makes the entries of a directory (names created, renamed, removed) survive a loss of power. */
export async function syncDirectory(path: string): Promise<void> {
  const descriptor = await open(path, 'r');
  try {
    await fsync(descriptor);
  } finally {
    fs.closeSync(descriptor);
  }
}

/** Directories that are open at the same time. */
const together = 64;

/** Like `syncDirectory` for several, each once; one that is gone by now needs no sync. */
export async function syncDirectories(paths: Iterable<string>): Promise<void> {
  await forEachConcurrently(new Set(paths), together, (path) =>
    syncDirectory(path).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'ENOENT') throw error;
    }),
  );
}

/** Writes a new file, where pieces are one content, and makes it durable; its name is not, before the directory is synced. Fails with EEXIST. */
export async function writeNewFile(
  path: string,
  content: Buffer | readonly Buffer[] | string,
  mode: number,
): Promise<void> {
  const pieces = typeof content === 'string' ? [Buffer.from(content)] : Buffer.isBuffer(content) ? [content] : content;
  try {
    await writePieces(path, pieces, mode);
  } catch (error) {
    // What was there before is not ours.
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') await unlink(path).catch(() => {});
    throw error;
  }
}

async function writePieces(path: string, pieces: readonly Buffer[], mode: number): Promise<void> {
  const descriptor = await open(path, 'wx', mode);
  try {
    const { bytesWritten } = await writev(descriptor, pieces);
    // A write may end early; what follows goes behind it, or fails with the reason.
    const rest = pieces.reduce((sum, piece) => sum + piece.length, 0) - bytesWritten;
    if (rest > 0) await writeFile(descriptor, Buffer.concat(pieces).subarray(-rest));
    await fsync(descriptor);
  } finally {
    fs.closeSync(descriptor);
  }
}

/**
 * Replaces a file as a whole, durably.
 *
 * @param temporary name to write to first; git's own `<file>.lock` excludes other git processes (EEXIST when one holds it)
 */
export async function replaceFile(path: string, content: string, temporary = `${path}.${randomUUID()}`): Promise<void> {
  await writeNewFile(temporary, content, 0o644);
  await rename(temporary, path);
  await syncDirectory(dirname(path));
}

/**
 * Does what needs a directory, making it first when it is not there. git removes directories of objects that maintenance emptied, also
 * between our making one and writing into it, so this is tried again.
 *
 * @returns true when the directory was made: its own name is not durable then
 */
export async function inDirectory(path: string, job: () => Promise<void>): Promise<boolean> {
  for (let made = 0; ; made += 1) {
    try {
      await job();
      return made > 0;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT' || made === 100) throw error;
    }
    await mkdir(path, { recursive: true }).catch((error: NodeJS.ErrnoException) => {
      // It was there, and gone when Node looked at what it is.
      if (error.code !== 'ENOENT') throw error;
    });
  }
}
