import { spawn } from 'node:child_process';
import { chown, lstat, mkdir, mkdtemp, rm } from 'node:fs/promises';
import path from 'node:path';
import type { IsolationLevel } from '../../domain/ports/deployer.ts';
import { programPath } from './program-path.ts';

/** How builds are kept apart from the server here. */
export interface Isolation {
  level: IsolationLevel;
  /** User and group a project's commands run as; null: the server's own. */
  userOf(project: string): number | null;
}

/** The range systemd gives to services without a user of their own: no person and no package has one of it. */
const firstUser = 61_184;
const users = 4_336;

/** A user id for a project, always the same. */
function userOf(project: string): number {
  return firstUser + (Number.parseInt(project.replaceAll('-', '').slice(-8), 16) % users);
}

function succeeds(
  program: string,
  args: string[],
  options: { cwd?: string; uid?: number; gid?: number } = {},
): Promise<boolean> {
  return new Promise((resolve) => {
    const child = spawn(program, args, { ...options, stdio: 'ignore' });
    child.once('error', () => resolve(false));
    child.once('exit', (code) => resolve(code === 0));
  });
}

/** Whether bubblewrap can make the namespaces, for the user that is to be in them. */
const hasBubblewrap = (uid: number | null) =>
  succeeds(
    programPath('bwrap') ?? 'bwrap',
    ['--unshare-user', '--unshare-pid', '--unshare-ipc', '--ro-bind', '/', '/', '--proc', '/proc', 'true'],
    uid === null ? {} : { uid, gid: uid },
  );

/** Whether another user can work below the directory, by its whole path, and reach the programs that builds need. */
async function isReachable(directory: string): Promise<boolean> {
  const uid = firstUser;
  const probe = await mkdtemp(path.join(directory, 'probe-'));
  try {
    await chown(probe, uid, uid);
    const script = `require('fs').writeFileSync(${JSON.stringify(path.join(probe, 'a'))}, '')`;
    return await succeeds(process.execPath, ['-e', script], { cwd: probe, uid, gid: uid });
  } finally {
    await rm(probe, { recursive: true, force: true });
  }
}

/** Makes the directory of workspaces, which no other user may have made before. @returns false when it was there */
export async function makeBuildDirectory(directory: string): Promise<boolean> {
  const made = await mkdir(directory, { recursive: true, mode: 0o711 });
  const found = await lstat(directory);
  if (!found.isDirectory() || (process.getuid && found.uid !== process.getuid()))
    throw new Error(`${directory} belongs to somebody else: set PORTICO_BUILD_DIR to a directory of the server's own`);
  await spread(directory);
  return made !== undefined;
}

/**
 * Has workspaces put far from one another: ext4 lays related directories together (chattr(1), T), and one that begins where another was just
 * removed is slow to fill, a hundred times so without a journal. Other file systems refuse, and need it not.
 */
async function spread(directory: string): Promise<void> {
  const chattr = programPath('chattr');
  if (chattr !== null) await succeeds(chattr, ['+T', directory]);
}

/**
 * Finds out the best way to keep builds apart that this machine has. A server started as root gives its privileges away in either: root in a
 * namespace still owns root's files.
 */
export async function findIsolation(directory: string): Promise<Isolation> {
  const canChange = process.getuid?.() === 0 && (await isReachable(directory));
  const own = { userOf: canChange ? userOf : () => null };
  if (await hasBubblewrap(canChange ? firstUser : null)) return { level: 'bubblewrap', ...own };
  return { level: canChange ? 'user' : 'process', ...own };
}
