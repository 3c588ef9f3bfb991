/**
 * Memory that a build holds: of its processes, and of files that are kept in memory. Code and data that programs map from disk are left out:
 * many processes share them, and the kernel drops them when memory is short.
 */
import { execFile } from 'node:child_process';
import { readFileSync, readlinkSync } from 'node:fs';
import { lstat, readFile, statfs } from 'node:fs/promises';
import { promisify } from 'node:util';
import { sharedDirectories, sysvRows, writtenBy } from './build-users.ts';
import { deviceOf, type Held, isInMemory } from './held-files.ts';
import { allProcesses, type ProcessState, pauses } from './processes.ts';
import { fixedEnvironment, programPath } from './sandbox.ts';

const run = promisify(execFile);
/** What a file in memory takes beside its content, about; bytes. */
const inodeBytes = 1024;

/** Sum of fields that /proc shows in kB, in bytes. */
function kilobytes(text: string, ...fields: string[]): number {
  const found = fields.map((field) => Number(new RegExp(`^${field}:\\s+(\\d+) kB`, 'm').exec(text)?.[1] ?? 0));
  return found.reduce((sum, each) => sum + each, 0) * 1024;
}

/**
 * What all of the machine holds of the kinds of memory that resident memory does not count or may not show: files in memory, page tables and
 * what is swapped out. No build holds more of them. Bytes; infinite where it cannot be read.
 */
export function sharedByMachine(): number {
  try {
    const text = readFileSync('/proc/meminfo', 'latin1');
    return kilobytes(text, 'Shmem', 'PageTables', 'SwapTotal') - kilobytes(text, 'SwapFree');
  } catch {
    return Number.POSITIVE_INFINITY;
  }
}

/** The first namespace of processes (PROC_PID_INIT_INO, linux/proc_ns.h). */
const firstNamespace = 'pid:[4026531836]';

/**
 * What all of the machine keeps in files in memory: tmpfs, and ramfs, which is found among what cannot be evicted, also where it is swapped
 * out. What is swapped out of processes is in it, too. Bytes; 0 where it cannot be read, or, as in a container, is not of the processes that are
 * seen here.
 */
export function keptByMachine(): number {
  try {
    if (readlinkSync('/proc/self/ns/pid') !== firstNamespace) return 0;
    const text = readFileSync('/proc/meminfo', 'latin1');
    const evictable = kilobytes(text, 'Mlocked', 'SwapFree', 'SwapCached');
    return kilobytes(text, 'Shmem', 'Unevictable', 'SwapTotal') - evictable;
  } catch {
    return 0;
  }
}

/**
 * How much of that is explained without looking at builds, at least: what is swapped out of processes, and of each user with none of the builds
 * the most that one process has mapped, such as the shared buffers of a database.
 * @param users whom builds run as
 */
export async function keptByOthers(users: ReadonlySet<number>): Promise<number> {
  const pause = pauses();
  const mapped = new Map<number, number>();
  let sum = 0;
  for (const { thread } of await allProcesses()) {
    try {
      const status = readFileSync(`/proc/${thread}/status`, 'latin1');
      sum += kilobytes(status, 'VmSwap');
      const user = Number(/^Uid:\s+(\d+)/m.exec(status)?.[1]);
      if (!users.has(user)) mapped.set(user, Math.max(mapped.get(user) ?? 0, kilobytes(status, 'RssShmem')));
    } catch {
      // Gone meanwhile.
    }
    await pause();
  }
  for (const bytes of mapped.values()) sum += bytes;
  return sum;
}

/** World-writable directories, by where their files are kept; what is on the workspace's device counts as disk. */
export async function sharedPlaces(device: number): Promise<{ inMemory: string[]; onDisk: string[] }> {
  const places = { inMemory: [] as string[], onDisk: [] as string[] };
  for (const directory of sharedDirectories) {
    const state = await lstat(directory).catch(() => null);
    if (!state?.isDirectory()) continue;
    const isElsewhere = state.dev !== device && (await isInMemory(directory));
    places[isElsewhere ? 'inMemory' : 'onDisk'].push(directory);
  }
  return places;
}

interface Options {
  /** Of the build alone; null: it runs as the server's user. */
  user: number | null;
  /** Device of the workspace. */
  device: number;
}

/** Files with names in directories of everyone that are kept in memory. */
async function named({ user, device }: Options): Promise<number> {
  const { bytes, files } = await writtenBy(user, (await sharedPlaces(device)).inMemory);
  return bytes + files * inodeBytes;
}

/** What the file systems in memory hold that this server sees: `/dev/shm`, and a temporary directory that is one. Bytes. */
export async function keptByMounts(): Promise<number> {
  const mounts = mountsIn(await readFile('/proc/self/mountinfo', 'latin1').catch(() => ''));
  let sum = 0;
  for (const place of mounts.values()) {
    const size = await statfs(Buffer.from(place, 'latin1')).catch(() => null);
    if (size !== null) sum += (size.blocks - size.bfree) * size.bsize;
  }
  return sum;
}

/** Which of the processes show a namespace that this server is not in, one for each. */
function apart(processes: readonly ProcessState[], kind: 'ipc' | 'mnt'): number[] {
  const found = new Map<string, number>();
  const nameOf = (pid: number | 'self') => {
    try {
      return readlinkSync(`/proc/${pid}/ns/${kind}`);
    } catch {
      return null;
    }
  };
  const own = nameOf('self');
  for (const { thread } of processes) {
    const name = nameOf(thread);
    if (name !== null && name !== own) found.set(name, thread);
  }
  return [...found.values()];
}

/** Devices of file systems in memory with the places they are mounted at (proc(5), mountinfo). */
function mountsIn(text: string): Map<number, string> {
  const found = new Map<number, string>();
  for (const line of text.split('\n')) {
    const [mount = '', type = ''] = line.split(' - ');
    const [, , device = '', , at = ''] = mount.split(' ');
    if (!/^(tmpfs|ramfs|hugetlbfs) /.test(type)) continue;
    const [major = 0, minor = 0] = device.split(':').map(Number);
    const place = at.replace(/\\([0-7]{3})/g, (_, code: string) => String.fromCharCode(Number.parseInt(code, 8)));
    found.set(deviceOf(major, minor), place);
  }
  return found;
}

/** File systems in memory that a build has mounted where this server does not see them, with what they hold, by device. */
async function mounted(processes: readonly ProcessState[]): Promise<Map<number, number>> {
  const found = new Map<number, number>();
  const own = mountsIn(await readFile('/proc/self/mountinfo', 'latin1').catch(() => ''));
  for (const thread of apart(processes, 'mnt')) {
    const mounts = mountsIn(await readFile(`/proc/${thread}/mountinfo`, 'latin1').catch(() => ''));
    for (const [device, place] of mounts) {
      if (own.has(device) || found.has(device)) continue;
      // The name of a place may be of any bytes, too.
      const size = await statfs(Buffer.from(`/proc/${thread}/root${place}`, 'latin1')).catch(() => null);
      if (size !== null) found.set(device, (size.blocks - size.bfree) * size.bsize);
    }
  }
  return found;
}

/** System V segments that no process has attached; attached ones are counted as mappings. */
function detached(table: string, user: number | null): number {
  let sum = 0;
  for (const { nattch = 0, uid, cuid, rss = 0, swap = 0 } of sysvRows(table))
    if (nattch === 0 && (user === null || uid === user || cuid === user)) sum += rss + swap;
  return sum;
}

/** Shared memory of System V that stays though nothing has it attached. */
export class Segments {
  #next = 0;
  #last = 0;

  /** A namespace is looked into by a process of its own, so not more often than every second. Bytes. */
  async find(processes: readonly ProcessState[], user: number | null): Promise<number> {
    if (performance.now() < this.#next) return this.#last;
    this.#next = performance.now() + 1_000;
    const own = user === null ? '' : await readFile('/proc/sysvipc/shm', 'latin1').catch(() => '');
    let sum = detached(own, user);
    const nsenter = programPath('nsenter');
    for (const thread of nsenter === null ? [] : apart(processes, 'ipc')) {
      const asUser = user === null ? [`--user=/proc/${thread}/ns/user`, '--preserve-credentials'] : [];
      const words = [...asUser, `--ipc=/proc/${thread}/ns/ipc`, '--', 'cat', '/proc/sysvipc/shm'];
      const { stdout } = await run(nsenter ?? '', words, { env: fixedEnvironment, cwd: '/' }).catch(() => ({
        stdout: '',
      }));
      // All of them belong to the build, whichever process made them.
      sum += detached(stdout, null);
    }
    this.#last = sum;
    return sum;
  }
}

export interface Memory {
  /** Of its processes alone. */
  own: number;
  /** Kept in files, wherever they are. */
  kept: number;
}

/** Bytes that the processes of a build hold, with files in memory that it has made. */
export async function memoryOf(
  processes: readonly ProcessState[],
  { files, unseen }: Held,
  segments: number,
  options: Options,
): Promise<Memory> {
  const pause = pauses();
  const sum: Memory = { own: 0, kept: segments + (await named(options)) };
  for (const { thread } of processes) {
    try {
      const status = readFileSync(`/proc/${thread}/status`, 'latin1');
      sum.own += kilobytes(status, 'RssAnon', 'VmSwap', 'VmPTE');
      if (unseen.includes(thread)) sum.kept += kilobytes(status, 'RssShmem');
    } catch {
      // Gone meanwhile.
    }
    await pause();
  }
  const mounts = await mounted(processes);
  for (const bytes of mounts.values()) sum.kept += bytes;
  for (const { device, bytes, inMemory } of files)
    if (inMemory && device !== options.device && !mounts.has(device)) sum.kept += bytes;
  return sum;
}
