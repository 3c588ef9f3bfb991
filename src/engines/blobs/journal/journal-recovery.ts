import { randomUUID } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, renameSync } from 'node:fs';
import path from 'node:path';
import type { BlobPaths } from '../blob-paths.ts';
import { whenThere } from '../failures.ts';
import { writeSmall } from '../small-file.ts';
import { isWhole, recordsOf } from './journal-records.ts';

/** Names the time since the machine was started (random(4)); null where that is not known. */
export const bootId = (): string | null => {
  try {
    return readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
  } catch {
    return null;
  }
};

/** A name for a journal: what was written since the machine started is in its memory, whichever process has ended. */
export const journalName = (boot: string | null): string => `${boot ?? 'unknown'}.${randomUUID()}`;

/** Writes every content of a journal again whose file is not what it should be. */
function restore(journal: string, paths: BlobPaths): void {
  mkdirSync(paths.incoming, { recursive: true, mode: 0o700 });
  for (const record of recordsOf(readFileSync(journal))) {
    // What follows a damaged record was never told to anybody.
    if (!isWhole(record)) return;
    const place = paths.of(record.sha256);
    const content = whenThere(() => readFileSync(place));
    if (content !== null && isWhole({ ...record, content })) continue;
    mkdirSync(path.dirname(place), { recursive: true, mode: 0o700 });
    writeSmall(paths.incoming, place, record.content);
  }
}

/**
 * Takes over the journals others have left. After a loss of power their contents are written again before anything is looked for; otherwise
 * the machine still has them. One that somebody still writes to is taken, too: whoever does so finds it gone, and begins another.
 * @param boot see `bootId`
 * @returns the journals, whose files are still to be made durable
 */
export function takeJournals(directory: string, paths: BlobPaths, boot: string | null): string[] {
  const taken: string[] = [];
  for (const name of whenThere(() => readdirSync(directory)) ?? []) {
    const then = name.split('.', 1)[0] ?? '';
    const mine = path.join(directory, `${then}.${randomUUID()}`);
    // First the name, then the contents: nothing that is added later counts.
    const isMine = whenThere(() => {
      renameSync(path.join(directory, name), mine);
      return true;
    });
    if (!isMine) continue;
    if (boot === null || then !== boot) restore(mine, paths);
    taken.push(mine);
  }
  return taken;
}
