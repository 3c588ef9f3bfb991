import { readdir, readFile } from 'node:fs/promises';

/**
 * A command that does not end by itself, and that no other process on the machine has in its command line, whose names and numbers may hold
 * any few digits.
 */
export const longSleep = (seconds: number): string => `sleep ${seconds}.${process.pid}`;

/** Processes that have some words in their command line, the arguments separated by spaces; this one is not among them. */
export async function processesWith(words: string): Promise<number[]> {
  const found: number[] = [];
  for (const pid of (await readdir('/proc')).filter((name) => /^\d+$/.test(name)).map(Number)) {
    const line = await readFile(`/proc/${pid}/cmdline`, 'latin1').catch(() => '');
    if (line.replaceAll('\0', ' ').includes(words) && pid !== process.pid) found.push(pid);
  }
  return found;
}
