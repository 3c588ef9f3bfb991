import { randomUUID } from 'node:crypto';
import { closeSync, openSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';

/**
 * Gives a small content its name at once, there whole or not at all as far as this machine keeps running; nobody waits for the disk. Each
 * turn of the thread pool would take longer than all of it.
 * @param aside a directory on the same file system, which exists like that of `place`
 */
export function writeSmall(aside: string, place: string, content: Uint8Array): void {
  const temporary = path.join(aside, randomUUID());
  const file = openSync(temporary, 'wx', 0o600);
  try {
    writeFileSync(file, content);
    renameSync(temporary, place);
  } catch (error) {
    rmSync(temporary, { force: true });
    throw error;
  } finally {
    closeSync(file);
  }
}
