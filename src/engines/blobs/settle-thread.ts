import { closeSync, fsyncSync, openSync, rmSync } from 'node:fs';
import path from 'node:path';
import { type BlobPaths, blobPaths } from './blob-paths.ts';
import { whenThere } from './failures.ts';
import { answerJobs } from './job-thread.ts';
import { namesIn, type SettleJob } from './journal.ts';

/** Result of `use` on an open file; null when the file does not exist. */
function withFile<T>(place: string, use: (file: number) => T): T | null {
  const file = whenThere(() => openSync(place, 'r'));
  if (file === null) return null;
  try {
    return use(file);
  } finally {
    closeSync(file);
  }
}

/** @returns false when the file does not exist */
function sync(place: string): boolean {
  const synced = withFile(place, (file) => {
    fsyncSync(file);
    return true;
  });
  return synced ?? false;
}

/** Syncs the files of a journal, which is not needed any more then; waits for the disk. */
function settleJournal(journal: string, paths: BlobPaths): void {
  const names = withFile(journal, (file) => [...namesIn(file)]) ?? [];
  const places = names.map((sha256) => paths.of(sha256));
  // A missing file was removed by a sweep, or was never acknowledged.
  const folders = places.filter(sync).map((place) => path.dirname(place));
  for (const folder of new Set(folders)) sync(folder);
  rmSync(journal, { force: true });
}

answerJobs(({ journal, root }: SettleJob): void => settleJournal(journal, blobPaths(root)));
