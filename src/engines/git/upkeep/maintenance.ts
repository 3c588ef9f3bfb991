import { readdir, rm, stat, utimes } from 'node:fs/promises';
import { join } from 'node:path';
import { DomainError } from '../../../kernel/errors.ts';
import type { MaintenanceLevel } from '../../../ports/git.ts';
import { syncDirectories, writeNewFile } from '../durable-files.ts';
import type { GitProcesses, Log } from '../git-process.ts';
import { scratchPrefix } from '../history/merge.ts';

/** From how many of each a repository is maintained. Every push leaves a pack, which costs every reader a look. */
const limits = { looseObjects: 5_000, commits: 500, packs: 50 };
const week = 7 * 24 * 3600_000;
const day = 24 * 3600_000;
/** A large repository takes its time, at low priority; milliseconds. */
const wall = 2 * 3600_000;

/** Objects are spread evenly over 256 directories by their first byte; a few of them give an estimate of their number. */
const sampled = ['17', '5a', 'a3', 'e8'];

const markers: Record<MaintenanceLevel, string> = { light: 'maintained-light', full: 'maintained-full' };

async function names(directory: string): Promise<string[]> {
  return readdir(directory).catch(() => []);
}

/** When a level was last done, milliseconds since 1970; for a repository that is new, when it was made. */
async function lastDone(gitDir: string, level: MaintenanceLevel): Promise<number> {
  const seen = await stat(join(gitDir, markers[level])).catch(() => stat(join(gitDir, 'config')));
  return seen.mtimeMs;
}

async function markDone(gitDir: string, level: MaintenanceLevel): Promise<void> {
  const path = join(gitDir, markers[level]);
  const now = new Date();
  await utimes(path, now, now).catch(() => writeNewFile(path, '', 0o644));
}

/**
 * Which upkeep a repository is due for, estimated from a few directories: cheap enough to check after every write.
 *
 * @param commits commits this process made since it last maintained the repository
 */
export async function maintenanceDue(gitDir: string, commits: number): Promise<MaintenanceLevel | null> {
  if (Date.now() - (await lastDone(gitDir, 'full')) > week) return 'full';
  if (commits >= limits.commits) return 'light';
  const objects = join(gitDir, 'objects');
  if ((await deadQuarantines(gitDir)).length > 0) return 'light';
  const loose = await Promise.all(sampled.map(async (name) => (await names(join(objects, name))).length));
  const estimate = (loose.reduce((sum, count) => sum + count, 0) * 256) / sampled.length;
  if (estimate >= limits.looseObjects) return 'light';
  const packs = (await names(join(objects, 'pack'))).filter((name) => name.endsWith('.pack'));
  return packs.length >= limits.packs ? 'light' : null;
}

/**
 * Packs loose objects, keeps the commit graph, and joins small packs; `full` repacks everything and drops what nothing has named for two
 * weeks. Readers and writers go on meanwhile.
 *
 * @throws DomainError `busy` when another process is at it; `repository_unavailable` when git fails, which a damaged repository is
 */
export async function maintain(
  processes: GitProcesses,
  gitDir: string,
  level: MaintenanceLevel,
  { log, signal }: { log: Log; signal: AbortSignal },
): Promise<void> {
  const git = async (...args: string[]) => {
    const { code, stderr } = await processes.runNow(args, { gitDir, timeout: wall, lowPriority: true, signal });
    if (code === 0) return;
    if (/already running|maintenance\.lock|\.lock': File exists/.test(stderr))
      throw new DomainError('busy', 'The repository is being maintained already', { cause: new Error(stderr) });
    throw new DomainError('repository_unavailable', 'The repository could not be maintained', {
      cause: new Error(`git ${args[0]}: ${stderr}`),
    });
  };
  await removeScratch(gitDir, log);
  if (level === 'full') await git('gc', '--quiet', '--prune=2.weeks.ago');
  else {
    await git('maintenance', 'run', '--quiet', '--task=loose-objects');
    // The task leaves the loose copies of what it packs to its next run.
    await git('prune-packed', '--quiet');
  }
  // `maintenance` only keeps the changed-path filters there are; begun here, they are in every layer.
  await git('commit-graph', 'write', '--reachable', '--changed-paths', ...(level === 'full' ? [] : ['--split']));
  if (level === 'light') {
    await git('maintenance', 'run', '--quiet', '--task=incremental-repack').catch((error: DomainError) => {
      // Without a pack, or with a brand-new one, git 2.39 ends with a harmless error.
      if (error.code !== 'repository_unavailable') throw error;
      log.info({ cause: String(error.cause) }, 'packs were not joined');
    });
  }
  await syncDirectories(
    ['', 'refs', 'refs/heads', 'refs/tags', 'objects', 'objects/info', 'objects/pack'].map((name) =>
      join(gitDir, name),
    ),
  );
  await markDone(gitDir, level);
  if (level === 'full') await markDone(gitDir, 'light');
}

/** Where git keeps the objects of a push until its hook agrees, and those of other processes that may be dropped as a whole (tmp-objdir.c). */
const quarantine = /^(?:tmp_objdir-|incoming-)/;

/** Quarantines of processes that died: nothing below them was written for a day, while a push that is under way writes what it receives. */
async function deadQuarantines(gitDir: string): Promise<string[]> {
  const objects = join(gitDir, 'objects');
  const dead: string[] = [];
  for (const name of await names(objects)) {
    if (!quarantine.test(name)) continue;
    const path = join(objects, name);
    const below = await readdir(path, { recursive: true }).catch(() => []);
    const seen = await Promise.all(
      ['', ...below].map((entry) => stat(join(path, entry)).catch(() => ({ mtimeMs: Date.now() }))),
    );
    if (seen.every(({ mtimeMs }) => Date.now() - mtimeMs > day)) dead.push(path);
  }
  return dead;
}

/** What processes that died left behind. */
async function removeScratch(gitDir: string, log: Log): Promise<void> {
  for (const path of await deadQuarantines(gitDir)) {
    log.info({ path }, 'removed the quarantine of a push whose process had died');
    await rm(path, { recursive: true, force: true });
  }
  for (const name of await names(gitDir)) {
    if (!name.startsWith(scratchPrefix)) continue;
    const seen = await stat(join(gitDir, name)).catch(() => null);
    if (seen !== null && Date.now() - seen.mtimeMs > day)
      await rm(join(gitDir, name), { recursive: true, force: true });
  }
}

/**
 * Files that git writes a pack and its index to while it receives them (index-pack.c), and, below `objects`, what it takes from a host that is files alone
 * (http.c).
 */
const unfinished = /^pack\/tmp_(?:pack|idx|rev)_|^(?:pack|[\da-f]{2})\/[^/]+\.temp$/;

/** Not below the directories in which pushes under way have theirs. */
async function unfinishedFiles(gitDir: string): Promise<string[]> {
  const objects = join(gitDir, 'objects');
  const folders = (await names(objects)).filter((name) => name === 'pack' || /^[\da-f]{2}$/.test(name));
  const found = await Promise.all(
    folders.map(async (folder) => (await names(join(objects, folder))).map((name) => `${folder}/${name}`)),
  );
  return found
    .flat()
    .filter((name) => unfinished.test(name))
    .map((name) => join(objects, name));
}

/**
 * Receives objects, and removes the parts of files that git leaves when that fails. A repack that runs at that very moment may lose its own file: it fails,
 * and is repeated.
 *
 * @param most bytes that git may write to a file
 * @throws DomainError `too_large` when it has written as many; otherwise what the work throws
 */
export async function receiving<T>(gitDir: string, most: number | undefined, receive: () => Promise<T>): Promise<T> {
  const before = new Set(await unfinishedFiles(gitDir));
  try {
    return await receive();
  } catch (error) {
    let largest = 0;
    for (const path of (await unfinishedFiles(gitDir)).filter((found) => !before.has(found))) {
      largest = Math.max(largest, (await stat(path).catch(() => null))?.size ?? 0);
      await rm(path, { force: true });
    }
    if (most === undefined || largest < most) throw error;
    const message = `The other host sent more than ${Math.floor(most / 1024 / 1024)} MiB at once`;
    throw new DomainError('too_large', message, { cause: error });
  }
}
