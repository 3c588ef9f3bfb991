import { randomUUID } from 'node:crypto';
import { rm, statfs, writeFile } from 'node:fs/promises';
import path from 'node:path';

/** Directories of a data directory in which files are made; each may be a disk of its own. */
const written = ['', 'git', 'blobs', 'blob-journal', 'postgres/data'];

/** A disk with less than this counts as full, bytes: what is saved is mostly smaller, and PostgreSQL extends tables by less. */
const least = 1024 * 1024;
/** What is written to find out what free blocks do not tell: quotas, inodes, a file system that has become read-only. */
const probeBytes = 16 * 1024;
/** How long a finding is good for, milliseconds; so that nothing can be made to write by asking. */
const goodFor = 2_000;

async function hasRoom(directory: string): Promise<boolean> {
  const probe = path.join(directory, `.probe-${randomUUID()}`);
  try {
    const { bavail, bsize } = await statfs(directory);
    if (bavail * bsize < least) return false;
    await writeFile(probe, Buffer.alloc(probeBytes), { flag: 'wx', mode: 0o600, flush: true });
    return true;
  } catch (error) {
    // Made when it is first needed.
    return (error as NodeJS.ErrnoException).code === 'ENOENT';
  } finally {
    await rm(probe, { force: true }).catch(() => {});
  }
}

/** Says whether files can be written below a data directory. It asks the disk at most every two seconds. */
export function storageCheck(dataDir: string): () => Promise<boolean> {
  let known: { at: number; answer: Promise<boolean> } | null = null;
  return () => {
    if (known === null || performance.now() - known.at > goodFor) {
      const directories = written.map((name) => path.join(dataDir, name));
      const answer = Promise.all(directories.map(hasRoom)).then((all) => all.every(Boolean));
      known = { at: performance.now(), answer };
    }
    return known.answer;
  };
}
