/**
 * The users that builds of a server started as root run as. Each build has one that no other build on the machine has meanwhile, so whatever
 * belongs to that user is the build's: processes, whatever they do to their limits and environment, and files that they leave behind.
 */
import { execFile } from 'node:child_process';
import { lstat, readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { BuildProcesses } from './build-processes.ts';
import { type Lease, take } from './leases.ts';

const run = promisify(execFile);

/** The range systemd gives to services without a user of their own: no person and no package has one of it. */
export const firstUser = 61_184;
const users = 4_336;

const isOfBuilds = (user: number) => user >= firstUser && user < firstUser + users;

export interface BuildUser {
  id: number;
  /** Ends what still runs, removes what it has left outside of its workspace, and gives the user back. */
  release(): Promise<void>;
}

const separator = Buffer.from(path.sep);

/** Where every user of the machine may write. */
export const sharedDirectories = ['/dev/shm', '/tmp', '/var/tmp', '/run/lock'];

/** Paths of all that a directory holds, of whatever bytes: a name that is no UTF-8 would not be found again by its text. */
export async function pathsIn(directory: string | Buffer): Promise<Buffer[]> {
  const names: Buffer[] = await readdir(directory, 'buffer').catch(() => []);
  return names.map((name) => Buffer.concat([Buffer.from(directory as Buffer), separator, name]));
}

/** What a user has in directories that are everyone's, and in those of others among them that are everyone's, too. */
export async function leftBy(user: number, directories: readonly string[] = sharedDirectories): Promise<Buffer[]> {
  const found: Buffer[] = [];
  const waiting = directories.map((one) => ({ directory: Buffer.from(one) as Buffer, isOuter: true }));
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    for (const file of await pathsIn(next.directory)) {
      const state = await lstat(file).catch(() => null);
      if (state?.uid === user) found.push(file);
      else if (next.isOuter && state?.isDirectory() && (state.mode & 0o002) !== 0)
        waiting.push({ directory: file, isOuter: false });
    }
  }
  return found;
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

/**
 * A script of sh(1) that becomes a program with paths as its last arguments. Node passes text alone, so a path of other bytes reaches a
 * program by a script, which is read from the standard input: as an argument of its own it would have to be shorter.
 */
export const scriptWith = (words: readonly string[], paths: readonly (string | Buffer)[]): Buffer =>
  Buffer.concat([
    Buffer.from(`exec ${words.join(' ')} --`),
    ...paths.map((one) => {
      const bytes = Buffer.from(one as Buffer).toString('latin1');
      return Buffer.from(` '${bytes.replaceAll("'", "'\\''")}'`, 'latin1');
    }),
    Buffer.from('\n'),
  ]);

async function runWith(words: readonly string[], paths: readonly (string | Buffer)[]): Promise<void> {
  const running = run('/bin/sh', []);
  running.child.stdin?.on('error', () => {}).end(scriptWith(words, paths));
  await running;
}

/** The directories among some paths, but not what links lead to: `chmod -R` follows links that it is given. */
const directoriesAmong = async (paths: readonly (string | Buffer)[]) =>
  (
    await Promise.all(paths.map(async (one) => ((await lstat(one).catch(() => null))?.isDirectory() ? [one] : [])))
  ).flat();

/**
 * Removes what builds have made, of any depth and with any modes: node's own removal ends at paths beyond the system's longest, and a server that
 * is not root may not empty a directory that a build has closed to its owner.
 */
export async function removeTrees(paths: readonly (string | Buffer)[]): Promise<void> {
  for (let at = 0; at < paths.length; at += removedAtOnce) {
    const some = paths.slice(at, at + removedAtOnce);
    const remove = () => runWith(['rm', '-rf'], some);
    await remove().catch(async () => {
      const closed = await directoriesAmong(some);
      if (closed.length > 0) await runWith(['chmod', '-R', 'u+rwX'], closed).catch(() => {});
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
  await removeTrees(await leftBy(user));
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
