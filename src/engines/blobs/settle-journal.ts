import { open, readFile, rm } from 'node:fs/promises';
import path from 'node:path';
import type { BlobPaths } from './blob-paths.ts';
import { absentAs } from './failures.ts';
import { recordsOf } from './journal-records.ts';
import type { KeptDirectories } from './kept-directories.ts';

/** Syncs the files of a journal, which is not needed any more then. */
export async function settleJournal(place: string, paths: BlobPaths, names: KeptDirectories): Promise<void> {
  const journal = await readFile(place).catch(absentAs(null));
  if (journal === null) return;
  const folders = new Set<string>();
  for (const { sha256 } of recordsOf(journal)) {
    const file = await open(paths.of(sha256), 'r').catch(absentAs(null));
    // A sweep has removed it, or it was never told to anybody.
    if (file === null) continue;
    await file.sync().finally(() => file.close());
    folders.add(path.dirname(paths.of(sha256)));
  }
  for (const folder of folders) await names.sync(folder);
  await rm(place, { force: true });
}
