import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Gives a job a directory that only this user can read and that is gone afterwards. */
export async function withScratch<T>(job: (directory: string) => Promise<T>): Promise<T> {
  const directory = await mkdtemp(join(tmpdir(), 'portico-reach-'));
  try {
    return await job(directory);
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}
