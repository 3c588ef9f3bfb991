import { closeSync, constants, fstatSync, openSync, readSync } from 'node:fs';

/** How files are opened that somebody else has made: never by a link, and without waiting for whoever writes into a pipe. */
export const plainFile = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;

/** Files up to this size are read at once, larger ones are streamed; bytes. */
const small = 64 * 1024;

/**
 * Reads a small file that has just been written, and so is still in memory: four turns of the thread pool would take many times as long,
 * and more of this thread as well.
 * @returns null when it is large, or grows
 */
export function readSmall(place: string): Buffer | null {
  const file = openSync(place, plainFile);
  try {
    const { size } = fstatSync(file);
    if (size > small) return null;
    // One byte further than it says it is long.
    const content = Buffer.allocUnsafe(size + 1);
    const read = readSync(file, content, 0, size + 1, 0);
    return read > size ? null : content.subarray(0, read);
  } finally {
    closeSync(file);
  }
}
