/**
 * What no two builds on this machine may have at the same time, whichever servers run them: a user, or a cache. Each is held by an empty file
 * in a directory that builds cannot enter, whose name says what is held, by which process and for which workspace. The holder is
 * never determined by anything that a build can change.
 */
import { createHash } from 'node:crypto';
import { lstat, mkdir, readdir, stat, unlink, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { nameOf, processState } from './processes.ts';

/** Tried one after another; the first is empty after a boot. */
const places = ['/run/portico-builds', '/var/tmp/portico-build-leases'];
/** How long what a process of another pid namespace holds is taken as held: no build takes as long. Milliseconds. */
const trusted = 24 * 3600_000;

let place: Promise<string> | undefined;

/** @throws Error when there is no directory of the server's own */
function leaseDirectory(): Promise<string> {
  place ??= (async () => {
    const problems: string[] = [];
    for (const directory of places) {
      try {
        await mkdir(directory, { recursive: true, mode: 0o700 });
        const { uid, mode } = await lstat(directory);
        if (uid === process.getuid?.() && (mode & 0o777) === 0o700) return directory;
        problems.push(`${directory} is not the server's alone`);
      } catch (error) {
        problems.push((error as Error).message);
      }
    }
    throw new Error(`builds cannot have users of their own: ${problems.join('; ')}`);
  })().catch((error: unknown) => {
    place = undefined;
    throw error;
  });
  return place;
}

const shortMachine = (machine: string) => createHash('sha256').update(machine).digest('hex').slice(0, 8);

export interface Lease {
  /** Whether it was left by a process that has ended, or taken over from the workspace that was named. */
  wasLeft: boolean;
  release(): Promise<void>;
}

/** Whether the process that a lease names still runs. */
async function isHeld(file: string, machine: string): Promise<boolean> {
  const [, pid, started, where] = path.basename(file).split('.');
  if (where === machine) return processState(Number(pid))?.started === started;
  const since = (await stat(file).catch(() => null))?.mtimeMs ?? 0;
  return Date.now() - since < trusted;
}

/**
 * Takes something for a workspace. Two that try at the same time may both be refused, and never both have it.
 * @param what a name without dots
 * @param workspace the eight hexadecimal digits its directory ends with
 * @param from a workspace whose lease is taken over even if its process runs
 * @returns null when another workspace holds it
 */
export async function take(what: string, workspace: string, from?: string): Promise<Lease | null> {
  const directory = await leaseDirectory();
  const self = await nameOf(process.pid);
  if (self === null) throw new Error('this process is not to be seen in /proc');
  const machine = shortMachine(self.machine);
  const own = [what, self.pid, self.started, machine, workspace].join('.');
  // Made before the others are looked at: of two that do so at once, at least one sees the other.
  await writeFile(path.join(directory, own), '', { flag: 'wx', mode: 0o600 });
  const release = () => unlink(path.join(directory, own)).catch(() => {});
  const others = (await readdir(directory)).filter((name) => name.startsWith(`${what}.`) && name !== own);
  for (const name of others) {
    if ((from === undefined || !name.endsWith(`.${from}`)) && (await isHeld(path.join(directory, name), machine))) {
      await release();
      return null;
    }
  }
  return {
    wasLeft: others.length > 0,
    async release() {
      for (const name of others) await unlink(path.join(directory, name)).catch(() => {});
      await release();
    },
  };
}

/** Gives back all that a workspace which was left still has, also where its server runs on. */
export async function giveBack(workspace: string): Promise<void> {
  const directory = await leaseDirectory();
  for (const name of await readdir(directory))
    if (name.endsWith(`.${workspace}`)) await unlink(path.join(directory, name)).catch(() => {});
}
