import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { access, chmod, constants, mkdtemp, rm, statfs, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';

const memory = '/dev/shm';
/** What tests under way need at most, several of which hold a cluster of PostgreSQL; bytes. */
const room = 6 * 1024 ** 3;
const prefix = 'portico-tests-';

/** Tests start hooks and programs from their directories, which a mount with `noexec` forbids (see access(2)). */
async function startsPrograms(directory: string): Promise<boolean> {
  const program = path.join(directory, 'program');
  await writeFile(program, '', { mode: 0o700 });
  const can = await access(program, constants.X_OK).then(
    () => true,
    () => false,
  );
  await rm(program);
  return can;
}

async function inMemory(): Promise<string | null> {
  const { bavail, bsize } = await statfs(memory).catch(() => ({ bavail: 0, bsize: 0 }));
  if (Math.min(bavail * bsize, process.availableMemory()) < room) return null;
  const directory = await mkdtemp(path.join(memory, prefix)).catch(() => null);
  if (directory === null || (await startsPrograms(directory))) return directory;
  await rm(directory, { recursive: true });
  return null;
}

/**
 * Makes the directory that holds everything a run of the tests writes, and points `os.tmpdir()` of this process and those it starts there:
 * in memory where there is room, because the tests make files and wait for syncs by the ten thousand, else where temporary files are. What
 * survives `kill -9` is the same in both. TMPDIR, where set, takes precedence. It goes with the run, also with one that is killed.
 * @returns how to remove it; says what still ran there
 */
export async function makeTemporaryRoot(): Promise<() => Promise<void>> {
  const chosen = process.env.TMPDIR === undefined ? await inMemory() : null;
  const root = chosen ?? (await mkdtemp(path.join(tmpdir(), prefix)));
  // Builds run as another user, which needs access to their directories.
  await chmod(root, 0o711);
  const [parent, name] = [path.dirname(root), path.basename(root)];
  const cleaner = spawn(process.execPath, [path.join(import.meta.dirname, 'clean-up.child.ts'), name], {
    env: { ...process.env, TMPDIR: parent },
    stdio: ['pipe', 'inherit', 'inherit'],
    detached: true,
  });
  const cleaned = once(cleaner, 'close');
  process.env.TMPDIR = root;
  return async () => {
    cleaner.stdin.end('done');
    await cleaned;
  };
}

/** How the databases of this run begin. */
export function databasePrefix(): string {
  return `portico_test_${path.basename(tmpdir()).slice(prefix.length).toLowerCase()}_`;
}
