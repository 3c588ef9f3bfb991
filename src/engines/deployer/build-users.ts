/**
 * The users that builds of a server started as root run as. Each build has one that no other build on the machine has meanwhile, so whatever
 * belongs to that user is the build's: processes, whatever they do to their limits and environment, and files that they leave behind.
 */
import { execFile, spawn } from 'node:child_process';
import { lstat, readFile } from 'node:fs/promises';
import { text } from 'node:stream/consumers';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';
import { forEachYielding } from '../../lib/concurrency.ts';
import { BuildProcesses } from './build-processes.ts';
import { type Lease, take } from './leases.ts';
import { fixedEnvironment } from './sandbox.ts';

const run = promisify(execFile);

/** The range systemd gives to services without a user of their own: no person and no package has one of it. */
export const firstUser = 61_184;
const users = 4_336;
const blockBytes = 512;

const isOfBuilds = (user: number) => user >= firstUser && user < firstUser + users;

export interface BuildUser {
  id: number;
  /** Ends what still runs, removes what it has left outside of its workspace, and gives the user back. */
  release(): Promise<void>;
}

/** Where every user of the machine may write. */
export const sharedDirectories = ['/dev/shm', '/tmp', '/var/tmp', '/run/lock'];

/** What a build has written: bytes, and files. */
export interface Written {
  bytes: number;
  files: number;
}

/** A build keeps what it has written from being measured. */
export class Unmeasured extends Error {}

/** How often in succession a measurement may leave something out: what installs packages moves directories, too. */
const tries = 5;
/** Between two of them; milliseconds. */
const betweenTries = 100;

/** @returns the first of several measurements that is not null @throws Unmeasured where each has left something out */
export async function whole<T>(measure: () => Promise<T | null>): Promise<T> {
  for (let left = tries; left > 0; left--) {
    const found = await measure();
    if (found !== null) return found;
    await delay(betweenTries, null, { ref: false });
  }
  throw new Unmeasured();
}

/** More characters than any error that is looked for has. */
const overlap = 64;

/**
 * @param leavesOut errors with which the program leaves out files that are still there; others name what has just gone. The first line begins with
 * a newline for it, too: names of files, which errors quote, have none
 * @returns all that a program prints; null where something is left out, or it could not run to its end
 */
export async function wholeOutput(
  program: string,
  words: readonly string[],
  leavesOut: RegExp,
): Promise<string | null> {
  const child = spawn(program, words, { stdio: ['ignore', 'pipe', 'pipe'], env: fixedEnvironment });
  const hasEnded = new Promise<boolean>((resolve) => {
    child.once('error', () => resolve(false));
    child.once('close', (code) => resolve(code !== null));
  });
  // Where no file descriptor is left it has no streams.
  if (child.stdout === undefined) return null;
  let isWhole = true;
  let end = '\n';
  child.stderr.setEncoding('latin1').on('data', (chunk: string) => {
    const errors = end + chunk;
    end = errors.slice(-overlap);
    if (!isWhole || !leavesOut.test(errors)) return;
    isWhole = false;
    child.kill('SIGKILL');
  });
  const printed = text(child.stdout).catch(() => null);
  return (await hasEnded) && isWhole ? printed : null;
}

/** Errors of find(1): a directory that it is in moves elsewhere, which ends the whole search; or it is not that of GNU, and does nothing. */
export const findLeavesOut = /\nfind: (?:failed to read|unknown predicate|unrecognized)/;

/**
 * Looks for what a user has by find(1): in directories that are everyone's, in those below them that everyone may write to, and in all that other
 * builds have there, whatever its modes are now, as two builds may share a directory that one opens and closes again. A file is reached from the
 * directory that holds it and not by its path, so names of any bytes and paths of any length are found, and no link leads elsewhere. Where another
 * build keeps moving its directories, they are left out: this one is not to end for it.
 * @param act what is done with each
 * @throws Unmeasured where what is looked for moves itself
 */
async function search(user: number, directories: readonly string[], ...act: string[]): Promise<string> {
  const searched = ['-H', ...directories, '-xdev', '-mindepth', '1', '(', '-uid', `${user}`, ...act, ')'];
  const find = (...leftOut: string[]) =>
    wholeOutput('find', [...searched, '-o', '-type', 'd', ...leftOut, '-prune'], findLeavesOut);
  const notOfBuilds = ['(', '-uid', `-${firstUser}`, '-o', '-uid', `+${firstUser + users - 1}`, ')'];
  const closed = ['!', '-perm', '-0002', ...notOfBuilds];
  const ofBuilds = ['!', ...notOfBuilds];
  return whole(() => find(...closed)).catch(() => whole(() => find('(', ...closed, '-o', ...ofBuilds, ')')));
}

/**
 * What a user has in directories that are everyone's, each file counted once.
 * @param user null: the server's own, whose files there cannot be distinguished, and count as none
 * @throws Unmeasured where it cannot be found out
 */
export async function writtenBy(
  user: number | null,
  directories: readonly string[] = sharedDirectories,
): Promise<Written> {
  const sum = { bytes: 0, files: 0 };
  if (user === null || directories.length === 0) return sum;
  const lines = await search(user, directories, '-printf', '%b %n %D:%i\\n');
  const linked = new Set<string>();
  await forEachYielding(lines.matchAll(/^(\d+) (\d+) (\S+)$/gm), ([, blocks = '', links, name = '']) => {
    if (links !== '1' && linked.has(name)) return;
    if (links !== '1') linked.add(name);
    sum.bytes += Number(blocks) * blockBytes;
    sum.files += 1;
  });
  return sum;
}

/** Rows of a table of System V objects (proc(5), sysvipc): numbers by the names in its first line. */
export function sysvRows(table: string): Record<string, number>[] {
  const [head = '', ...rows] = table.trim().split('\n');
  const names = head.trim().split(/\s+/);
  return rows.map((row) => {
    const fields = row.trim().split(/\s+/).map(Number);
    return Object.fromEntries(names.map((name, at) => [name, fields[at] ?? 0]));
  });
}

/** Kinds of System V objects with the option of ipcrm(1) and the column that removes one. */
const sysvKinds = { shm: ['-m', 'shmid'], msg: ['-q', 'msqid'], sem: ['-s', 'semid'] } as const;

/** Removes shared memory, queues and semaphores of System V, which stay when all that used them has ended. */
async function removeSegments(user: number): Promise<void> {
  for (const [kind, [option, column]] of Object.entries(sysvKinds)) {
    const table = await readFile(`/proc/sysvipc/${kind}`, 'latin1').catch(() => '');
    for (const row of sysvRows(table))
      if (row.uid === user) await run('ipcrm', [option, String(row[column])]).catch(() => {});
  }
}

/** Paths of one process that removes them: a program has 2 MiB of arguments, and a path up to 4,096 bytes. */
const removedAtOnce = 400;

/** The directories among some paths, but not what links lead to: `chmod -R` follows links that it is given. */
const directoriesAmong = async (paths: readonly string[]) =>
  (
    await Promise.all(paths.map(async (one) => ((await lstat(one).catch(() => null))?.isDirectory() ? [one] : [])))
  ).flat();

/**
 * Removes what builds have made, of any depth and with any modes: node's own removal ends at paths beyond the system's longest, and a server that
 * is not root may not empty a directory that a build has closed to its owner.
 */
export async function removeTrees(paths: readonly string[]): Promise<void> {
  for (let at = 0; at < paths.length; at += removedAtOnce) {
    const some = paths.slice(at, at + removedAtOnce);
    const remove = () => run('rm', ['-rf', '--', ...some]);
    await remove().catch(async () => {
      const closed = await directoriesAmong(some);
      if (closed.length > 0) await run('chmod', ['-R', 'u+rwX', '--', ...closed]).catch(() => {});
      await remove();
    });
  }
}

/**
 * Removes all that a user has left where everyone may: files, and what System V keeps.
 * @throws RangeError when no build has such a user: root has far more there than a build leaves
 */
export async function removeLeft(user: number): Promise<void> {
  if (!isOfBuilds(user)) throw new RangeError(`${user} is not a user of builds`);
  // From where it lies: a path through a directory of another build may lead to a file of the machine by now.
  await search(user, sharedDirectories, '-execdir', 'rm', '-rf', '--', '{}', '+', '-prune').catch(() => {});
  await removeSegments(user);
}

/** @returns whether none of its processes is left */
async function endAll(user: number, workspace: string): Promise<boolean> {
  const processes = new BuildProcesses({ leader: null, workspace, user });
  await processes.end(false);
  await removeLeft(user);
  return (await processes.find()).length === 0;
}

function userOf(id: number, workspace: string, lease: Lease): BuildUser {
  return {
    id,
    async release() {
      // What cannot be ended keeps its user from others for as long as this server runs.
      if (await endAll(id, workspace)) await lease.release();
    },
  };
}

/**
 * Takes a user for a workspace.
 * @param seed names the user that is tried first, so that a project mostly has the same one
 * @param workspace its directory
 * @throws Error when each of them is in use
 */
export async function takeUser(seed: number, workspace: string): Promise<BuildUser> {
  const start = seed % users;
  for (let step = 0; step < users; step++) {
    const id = firstUser + ((start + step) % users);
    const lease = await take(`user-${id}`, workspace.slice(-8));
    if (lease === null) continue;
    const processes = new BuildProcesses({ leader: null, workspace, user: id });
    // Without a build before it they are a service's of this machine.
    if (!lease.wasLeft && (await processes.find()).length > 0) {
      await lease.release();
      continue;
    }
    if (!lease.wasLeft || (await endAll(id, workspace))) return userOf(id, workspace, lease);
  }
  throw new Error(`each of the users ${firstUser} to ${firstUser + users - 1} has processes: end some of them`);
}

/** The user of a workspace that was left, unless another build has it by now, or it is a person's who has started a server before: null. */
export async function takeUserOf(id: number, workspace: string): Promise<BuildUser | null> {
  if (!isOfBuilds(id)) return null;
  const mark = workspace.slice(-8);
  const lease = await take(`user-${id}`, 'cleared0', mark);
  return lease && userOf(id, workspace, lease);
}
