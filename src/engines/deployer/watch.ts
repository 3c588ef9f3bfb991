/**
 * Ends a command whose build exceeds its limits. The kernel enforces limits by process or user (run-command.ts); for sums of
 * memory and of files it has no limits, so they are measured: memory more often the less is left, the disk every ten seconds and when the
 * free space of the file system has gone down by half of what is left. A measurement waits four times as long as it took, within bounds.
 */
import { stat, statfs } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';
import type { CommandLimit } from '../../ports/deployer.ts';
import type { BuildProcesses } from './build-processes.ts';
import { Unmeasured, type Written, whole, wholeOutput, writtenBy } from './build-users.ts';
import { type Held, HeldFiles } from './held-files.ts';
import type { BuildLimits } from './limits.ts';
import {
  keptByMachine,
  keptByMounts,
  keptByOthers,
  type Memory,
  memoryOf,
  Segments,
  sharedByMachine,
  sharedPlaces,
} from './memory.ts';
import type { ProcessState } from './processes.ts';

/**
 * Errors of du(1) with which its total leaves out files that are still there: a directory is closed to the server, as a build that runs as the
 * server's user may close it, or the one that is being read moves elsewhere, which ends the whole count.
 */
const leavesOut = /Permission denied|fts_read failed/;

/** @returns the total of du(1), 0 where it has none (not every du counts files); null where it is not of all that is there */
async function total(directory: string, ...options: string[]): Promise<number | null> {
  const output = await wholeOutput('du', [...options, '--', directory], leavesOut);
  return output === null ? null : Number(/(\d+)\t[^\t]*$/.exec(output.trimEnd())?.[1] ?? 0);
}

/** All that a directory holds, each file counted once. @throws Unmeasured where it cannot be found out */
const sizeOf = (directory: string): Promise<Written> =>
  whole(async () => {
    const kilobytes = await total(directory, '-skxc');
    const files = await total(directory, '--inodes', '-sxc');
    return kilobytes === null || files === null ? null : { bytes: kilobytes * 1024, files };
  });

/** What a file system has left. */
const freeAt = (directory: string): Promise<Written> =>
  statfs(directory).then(
    ({ bavail, bsize, ffree }) => ({ bytes: bavail * bsize, files: ffree }),
    () => ({ bytes: 0, files: 0 }),
  );

/** Bounds of the time between two looks at the processes, milliseconds. */
const soonest = 25;
const latest = 250;
/** What a few threads fill in a millisecond, at most; bytes. */
const fastest = 4 * 1024 ** 2;
/** Time between two measurements of the disk, milliseconds. */
const measureEvery = 10_000;
/** How long growth is reckoned from a detailed measurement: other builds may free meanwhile what this one takes. Milliseconds. */
const trusted = 1_000;
/** How many times as long as it takes something is not done again. */
const rest = 4;

/** What belongs to the build that is watched. */
interface Watched {
  build: BuildProcesses;
  /** Its workspace. */
  directory: string;
  /** Package caches it may write to, which have the bounds of a workspace of their own. */
  caches: readonly string[];
  /** Of this build alone; null: the server's user, whose other files cannot be distinguished. */
  user: number | null;
  limits: BuildLimits;
}

/** Builds of this server that run. */
const running = new Set<Watch>();

/**
 * What the machine keeps in files in memory without anything by which that is found: a descriptor that is on its way through a socket stands
 * in no process, and a file system whose namespace has ended is mounted nowhere. Bytes.
 */
async function unexplained(): Promise<number> {
  const before = keptByMachine();
  const watches = [...running];
  let explained = (await keptByOthers(new Set(watches.map(({ user }) => user)))) + (await keptByMounts());
  for (const watch of watches) {
    // What cannot be found out of one build explains nothing, and keeps nothing from being found of others.
    const found = await watch.look().catch(() => null);
    explained += found?.memory.kept ?? 0;
  }
  return Math.min(before, keptByMachine()) - explained;
}

let looking: Promise<number> | undefined;

/** The same for builds that want to know it at the same time. */
function unexplainedNow(): Promise<number> {
  looking ??= unexplained().finally(() => {
    looking = undefined;
  });
  return looking;
}

class Watch {
  readonly #watched: Watched;
  readonly #held = new HeldFiles();
  readonly #segments = new Segments();
  readonly #device: Promise<number>;
  /** The last close look: what was found, what it was at most, and until when growth is reckoned from there. */
  #looked = { taken: 0, most: 0, until: 0 };
  /**
   * The least that the machine kept, and that was unexplained, while it ran; what it kept at the last look at that, what was left then, and when it
   * is due again.
   */
  #unexplained = { leastKept: Number.POSITIVE_INFINITY, least: Number.POSITIVE_INFINITY, kept: 0, left: 0, due: 0 };

  constructor(watched: Watched) {
    this.#watched = watched;
    this.#device = stat(watched.directory).then(({ dev }) => dev);
    running.add(this);
  }

  end(): void {
    running.delete(this);
  }

  get user(): number {
    return this.#watched.user ?? process.getuid?.() ?? 0;
  }

  #find(processes: readonly ProcessState[]): Promise<Held> {
    const { user, limits } = this.#watched;
    return this.#held.find(processes, user, limits.descriptors);
  }

  /** Looks closely at what it holds; null where a process of it is closed to the server. */
  async look(processes?: readonly ProcessState[]): Promise<{ descriptors: number; memory: Memory } | null> {
    const { build, user } = this.#watched;
    const found = processes ?? (await build.find());
    const held = await this.#find(found);
    if (held.isHidden) return null;
    const segments = await this.#segments.find(found, user);
    const memory = await memoryOf(found, held, segments, { user, device: await this.#device });
    return { descriptors: held.descriptors, memory };
  }

  /**
   * No build can be shown to hold what is unexplained, and each that ran while it grew may: past the limit of one they all end.
   * @returns the limit that is passed, or bytes by which it may still grow
   */
  async growth(): Promise<CommandLimit | number> {
    const { limits } = this.#watched;
    const most = limits.memory + limits.otherMemory;
    const last = this.#unexplained;
    const kept = keptByMachine();
    last.leastKept = Math.min(last.leastKept, kept);
    const growth = kept - last.leastKept;
    const began = performance.now();
    const isGrowing = growth > most && kept - last.kept > last.left / 2;
    if (began < last.due && !isGrowing) return growth > most ? last.left : most - growth;
    // What changes hands meanwhile may be missed once.
    for (let tries = 2; tries > 0; tries--) {
      const now = await unexplainedNow();
      last.least = Math.min(last.least, now);
      // What explains memory may end before the memory does: no more counts than all has grown by.
      last.left = most - Math.min(now - last.least, growth);
      if (last.left >= 0) break;
    }
    const end = performance.now();
    last.kept = kept;
    last.due = end + (growth > most ? trusted : measureEvery) + rest * (end - began);
    return last.left < 0 ? 'unexplained' : last.left;
  }

  /** @returns the limit that is passed, or the bytes of memory that are left */
  async memory(): Promise<CommandLimit | number> {
    const { build, limits } = this.#watched;
    const processes = await build.find();
    if (processes.length > limits.processes) return 'processes';
    // It is at most this much, and grows no faster: only where that is too much it is looked at closely.
    const most = processes.reduce((sum, { memory }) => sum + memory, sharedByMachine());
    const since = this.#looked.taken + most - this.#looked.most;
    const bound = performance.now() < this.#looked.until ? Math.min(most, Math.max(since, 0)) : most;
    if (bound <= limits.memory) return limits.memory - bound;
    const began = performance.now();
    const found = await this.look(processes);
    if (found === null) return 'hidden';
    if (found.descriptors > limits.descriptors) return 'descriptors';
    const taken = found.memory.own + found.memory.kept;
    const end = performance.now();
    this.#looked = { taken, most, until: end + trusted + rest * (end - began) };
    return taken > limits.memory ? 'memory' : limits.memory - taken;
  }

  /** @returns the limit that is passed, or what is left of the workspace */
  async disk(): Promise<CommandLimit | Written> {
    const { build, directory, caches, user, limits } = this.#watched;
    const device = await this.#device;
    const elsewhere = await writtenBy(user, (await sharedPlaces(device)).onDisk);
    const held = await this.#find(await build.find());
    if (held.isHidden) return 'hidden';
    if (held.descriptors > limits.descriptors) return 'descriptors';
    const unnamed = held.files.filter((file) => !file.inMemory || file.device === device);
    const inside = await sizeOf(directory);
    const bytes = unnamed.reduce((sum, file) => sum + file.bytes, inside.bytes + elsewhere.bytes);
    const files = inside.files + elsewhere.files + unnamed.length;
    const cached = await Promise.all(caches.map(sizeOf));
    for (const use of [{ bytes, files }, ...cached]) {
      if (use.bytes > limits.workspace) return 'workspace';
      if (use.files > limits.files) return 'files';
    }
    const most = (of: keyof Written, all: number) => Math.max(all, ...cached.map((use) => use[of]));
    return { bytes: limits.workspace - most('bytes', bytes), files: limits.files - most('files', files) };
  }
}

/**
 * Watches what a command takes.
 * @param onOver called once, at the first limit that is passed
 * @returns ends the watch
 */
export function watchBuild(watched: Watched, onOver: (limit: CommandLimit) => void): () => void {
  const stop = new AbortController();
  const watch = new Watch(watched);
  /** @param look gives the limit that is passed, or milliseconds until it is due again, by how long it took */
  const repeat = async (look: () => Promise<CommandLimit | ((took: number) => number)>) => {
    while (!stop.signal.aborted) {
      const began = performance.now();
      const found = await look().catch((error) => (error instanceof Unmeasured ? 'unmeasured' : null));
      if (stop.signal.aborted) return;
      if (typeof found === 'string') {
        stop.abort();
        return onOver(found);
      }
      const pause = found?.(performance.now() - began) ?? latest;
      await delay(pause, null, { ref: false, signal: stop.signal }).catch(() => {});
    }
  };
  for (const measure of [() => watch.memory(), () => watch.growth()])
    void repeat(async () => {
      const found = await measure();
      if (typeof found === 'string') return found;
      return (took) => Math.min(Math.max(found / fastest, rest * took, soonest), latest);
    });
  let due = 0;
  let left: Written = { bytes: 0, files: 0 };
  let free = left;
  void repeat(async () => {
    const began = performance.now();
    const now = await freeAt(watched.directory);
    const isFilling = free.bytes - now.bytes > left.bytes / 2 || free.files - now.files > left.files / 2;
    if (began >= due || (isFilling && began >= due - measureEvery)) {
      const found = await watch.disk();
      if (typeof found === 'string') return found;
      left = found;
      free = now;
      const end = performance.now();
      due = end + measureEvery + rest * (end - began);
    }
    return () => latest;
  });
  return () => {
    watch.end();
    stop.abort();
  };
}
