/**
 * Files without a name that processes hold: by a descriptor of any thread, or mapped. Neither du(1) nor resident memory counts them: what is
 * written to a memfd, to a deleted file or to shared memory that is mapped and freed again (madvise(2)) stays until the last holder ends.
 */
import { readdirSync, readlinkSync, type Stats, statSync } from 'node:fs';
import { readFile, stat, statfs } from 'node:fs/promises';
import { isEnding, type ProcessState, pauses } from './processes.ts';

const blockBytes = 512;
/** tmpfs (and memfd, shared mappings, System V), ramfs, hugetlbfs: statfs(2). */
const memoryTypes = new Set([0x01021994, 0x858458f6, 0x958458f6]);

/** Whether a file is kept in memory; false where that cannot be found out. */
export const isInMemory = (file: string): Promise<boolean> =>
  statfs(file).then(
    ({ type }) => memoryTypes.has(type),
    () => false,
  );

export interface HeldFile {
  device: number;
  bytes: number;
  inMemory: boolean;
}

export interface Held {
  files: HeldFile[];
  /** Descriptors that were found. */
  descriptors: number;
  /** Whether a process shows its descriptors to root alone (prctl(2), PR_SET_DUMPABLE), and this server is not root: what it holds is unknown. */
  isHidden: boolean;
  /** Threads of processes which map further such files, at which only a privileged server may look. */
  unseen: number[];
}

/** Names in a directory of /proc; none when it has gone, and null when the server may not look. */
const namesIn = (directory: string): string[] | null => {
  try {
    return readdirSync(directory);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EACCES' ? null : [];
  }
};

/** Names of the descriptors of a process or thread; null when they are hidden. @param entry its directory in /proc */
const descriptorsOf = (entry: string): string[] | null =>
  // What has given up its memory is shown to root alone, too, while it closes its files.
  namesIn(`${entry}/fd`) ?? (isEnding(entry) ? [] : null);

const linkOf = (file: string): string | null => {
  try {
    return readlinkSync(file);
  } catch {
    return null;
  }
};

const countOf = (directory: string): number => {
  try {
    return statSync(directory).size;
  } catch {
    return -1;
  }
};

/** Descriptors of a thread that are compared with the first thread's each time. */
const compared = 2;
const deletedMapping = /^([0-9a-f]+-[0-9a-f]+) \S+ \S+ ([0-9a-f]+):([0-9a-f]+) (\d+) .* \(deleted\)$/gm;

/** A device by its two numbers, as stat(2) has it (makedev(3)). */
export const deviceOf = (major: number, minor: number): number =>
  ((major & 0xfff) << 8) | (minor & 0xff) | ((minor & ~0xff) << 12);

/** Remembers, from one look at the processes of a build to the next, which threads have descriptors of their own (unshare(2), CLONE_FILES). */
export class HeldFiles {
  readonly #own = new Set<string>();
  #looks = 0;

  /** Whether a thread has other descriptors than the first: by their number (proc(5), since Linux 6.2), and by some of them, all over several calls. */
  #isApart(first: string, names: readonly string[], table: string): boolean {
    if (this.#own.has(table) || countOf(first) !== countOf(table)) return true;
    for (let at = 0; at < Math.min(compared, names.length); at++) {
      const name = names[(this.#looks * compared + at) % names.length] ?? '';
      const [link, other] = [linkOf(`${first}/${name}`), linkOf(`${table}/${name}`)];
      if (link === null || link === other) continue;
      this.#own.add(table);
      return true;
    }
    return false;
  }

  /**
   * @param user whose files count: another's, such as a program of the machine that was replaced meanwhile, are not a build's; null: all
   * @param most descriptors after which the search ends: the limit is exceeded anyway
   */
  async find(processes: readonly ProcessState[], user: number | null, most: number): Promise<Held> {
    this.#looks += 1;
    const pause = pauses();
    const hidden: Held = { files: [], descriptors: 0, isHidden: true, unseen: [] };
    const found = new Map<string, HeldFile>();
    const types = new Map<number, boolean>();
    const add = async (file: string, { dev, ino, nlink, blocks, uid }: Stats) => {
      const name = `${dev} ${ino}`;
      if (nlink > 0 || found.has(name) || (user !== null && uid !== user)) return;
      const inMemory = types.get(dev) ?? (await isInMemory(file));
      types.set(dev, inMemory);
      found.set(name, { device: dev, bytes: blocks * blockBytes, inMemory });
    };
    let descriptors = 0;
    const walk = async (table: string, names: readonly string[]) => {
      descriptors += names.length;
      for (const name of names) {
        if (descriptors > most) return;
        const file = `${table}/${name}`;
        // Only deleted files are examined further: any other may be on a file system that never answers.
        if (linkOf(file)?.endsWith(' (deleted)')) {
          const state = await stat(file).catch(() => null);
          if (state) await add(file, state);
        }
        await pause();
      }
    };
    const mapped = new Set<string>();
    const unseen: number[] = [];
    for (const { thread } of processes) {
      const first = `/proc/${thread}/fd`;
      const names = descriptorsOf(`/proc/${thread}`);
      if (names === null) return hidden;
      await walk(first, names);
      for (const other of namesIn(`/proc/${thread}/task`) ?? []) {
        const task = `/proc/${thread}/task/${other}`;
        const table = `${task}/fd`;
        if (Number(other) !== thread && descriptors <= most && this.#isApart(first, names, table)) {
          const own = descriptorsOf(task);
          if (own === null) return hidden;
          await walk(table, own);
        }
        await pause();
      }
    }
    for (const { thread } of processes) {
      const maps = await readFile(`/proc/${thread}/maps`, 'latin1').catch(() => '');
      for (const [, range = '', major = '', minor = '', inode = ''] of maps.matchAll(deletedMapping)) {
        const name = `${deviceOf(Number.parseInt(major, 16), Number.parseInt(minor, 16))} ${inode}`;
        if (mapped.has(name) || found.has(name)) continue;
        const file = `/proc/${thread}/map_files/${range}`;
        const state = await stat(file).catch(() => null);
        if (state === null) {
          if (unseen.at(-1) !== thread) unseen.push(thread);
          continue;
        }
        mapped.add(name);
        await add(file, state);
      }
    }
    return { files: [...found.values()], descriptors, isHidden: false, unseen };
  }
}
