import { closeSync, fsyncSync, openSync, rmSync } from 'node:fs';
import path from 'node:path';
import type { BlobPaths } from './blob-paths.ts';
import { whenThere } from './failures.ts';
import { namesIn } from './journal-records.ts';

/** @returns false when there is none */
function sync(place: string): boolean {
  const file = whenThere(() => openSync(place, 'r'));
  if (file === null) return false;
  try {
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
  return true;
}

function namesOf(journal: string): string[] {
  const file = whenThere(() => openSync(journal, 'r'));
  if (file === null) return [];
  try {
    return [...namesIn(file)];
  } finally {
    closeSync(file);
  }
}

/** Syncs the files of a journal, which is not needed any more then; waits for the disk. */
export function settleJournal(journal: string, paths: BlobPaths): void {
  const places = namesOf(journal).map((sha256) => paths.of(sha256));
  // One that is not there was removed by a sweep, or was never told to anybody.
  const folders = places.filter(sync).map((place) => path.dirname(place));
  for (const folder of new Set(folders)) sync(folder);
  rmSync(journal, { force: true });
}
