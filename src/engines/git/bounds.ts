import { readFile } from 'node:fs/promises';
import { totalmem } from 'node:os';
import { setTimeout } from 'node:timers/promises';
import { DomainError } from '../../kernel/errors.ts';
import { ownBytes } from '../../lib/child-processes.ts';
import { Tally } from '../../lib/fair-queue.ts';
import type { GitChild } from './git-child.ts';

/** What one git process, and each process it starts, may take. */
export interface Bounds {
  /** Bytes of its own memory (RLIMIT_DATA of setrlimit(2)); packs it maps are page cache and do not count. */
  memory: number;
  /** Seconds of processor time (RLIMIT_CPU). */
  cpu: number;
  /** Bytes of any one file it writes (RLIMIT_FSIZE); absent: no bound. */
  file?: number | undefined;
}

const mebibyte = 1024 * 1024;

/**
 * Memory of one git process: a quarter of the machine's, at least 512 MiB and at most 1 GiB. To resolve a delta between two files of
 * 100 MiB, the largest that are taken in, git needs 500 MiB.
 */
export const defaultMemory = Math.min(1024 * mebibyte, Math.max(512 * mebibyte, Math.floor(totalmem() / 4)));

/** Seconds between SIGXCPU, which gives the reason, and SIGKILL. */
const grace = 5;

/**
 * Sets the limits and becomes git; Node cannot set limits of a child. Where one cannot be set a lower one is in force already, since every
 * process may lower its own. Dash, bash and BusyBox take `-d` in KiB. It is the soft limit, which our hook may lift for itself.
 */
const script =
  '{ ulimit -c 0; ulimit -S -t "$1"; ulimit -H -t "$2"; ulimit -S -d "$3"; ulimit -f "$4"; } 2>/dev/null; shift 4; exec "$@"';
/** Of `ulimit -f` (POSIX), bytes. */
const block = 512;

/** The command line that runs git within bounds. */
export function boundedCommand(
  args: readonly string[],
  { memory, cpu, file }: Bounds,
): [program: string, args: string[]] {
  const blocks = file === undefined ? 'unlimited' : Math.ceil(file / block);
  const limits = [cpu, cpu + grace, Math.ceil(memory / 1024), blocks].map(String);
  return ['/bin/sh', ['-c', script, 'sh', ...limits, 'git', ...args]];
}

/** Also a bound where the system does not hold `ulimit -d`: git refuses to allocate more than this at once (wrapper.c). */
export const allocationLimit = ({ memory }: Bounds): Record<string, string> => ({
  GIT_ALLOC_LIMIT: String(Math.floor(memory / 2)),
});

/** A bound of its own ended git, and not the other side of a connection. */
export class BoundExceeded extends DomainError {}

/** git's words when an allocation fails, by the system or by `GIT_ALLOC_LIMIT`; its threads have words of their own. */
const outOfMemory =
  /^(?:fatal|error): (?:out of memory|attempting to allocate \d+ over limit|.*(?:unable to create thread|cannot allocate memory))/im;

/** How the processes that git starts are reported to end at the limit of processor time. */
const outOfTime = /^error: .* died of signal 24$/m;

/** git's message when the process that reads the pack died; it does not say how. */
const lostReader = /^fatal: fetch-pack: invalid index-pack output$/m;

/**
 * Which bound ended a process or one that it started; null when none did.
 *
 * @param end signal and standard error of the process, and for how many seconds it lived
 */
export function exceeded(
  { memory, cpu }: Bounds,
  { signal, stderr, seconds = 0 }: { signal: NodeJS.Signals | null; stderr: string; seconds?: number },
): BoundExceeded | null {
  // One thread takes no more processor time than passes.
  const isReaderOutOfTime = seconds >= cpu && lostReader.test(stderr) && !outOfMemory.test(stderr);
  if (signal === 'SIGXCPU' || outOfTime.test(stderr) || isReaderOutOfTime)
    return new BoundExceeded('git_timeout', `git needed more than ${cpu} s of processor time for this and was stopped`);
  if (outOfMemory.test(stderr))
    return new BoundExceeded(
      'too_large',
      `git needed more than ${Math.floor(memory / mebibyte)} MiB of memory for this`,
    );
  return null;
}

/** Bytes that a process and what it has started have for themselves (proc_pid_task(5)). */
async function bytesOf(pid: number): Promise<number> {
  const children = await readFile(`/proc/${pid}/task/${pid}/children`, 'latin1').catch(() => '');
  const started = children.split(' ').filter(Boolean).map(Number);
  const bytes = await Promise.all([ownBytes(pid), ...started.map(bytesOf)]);
  return bytes.reduce((sum, part) => sum + part);
}

interface Sharing {
  /** Bytes that all may take together. */
  most: number;
  /** Milliseconds between two looks at what they take. */
  every: number;
  /** Why one is ended, for its caller. */
  message: string;
}

/**
 * Bounds what some processes take of the memory together, where each has a bound of its own but many run at once, since they mostly wait. Beyond it
 * the largest of the caller that has most is ended, so that what one caller keeps ends nothing of others that have less.
 */
export class SharedMemory {
  readonly #sharing: Sharing;
  readonly #callers = new Map<GitChild, string>();
  #isLooking = false;

  constructor(sharing: Sharing) {
    this.#sharing = sharing;
  }

  /** Counts a process until it is left out. */
  watch(child: GitChild, caller: string): void {
    this.#callers.set(child, caller);
    if (!this.#isLooking) void this.#look();
  }

  leaveOut(child: GitChild): void {
    this.#callers.delete(child);
  }

  async #look(): Promise<void> {
    this.#isLooking = true;
    while (this.#callers.size > 0) {
      const found = await Promise.all(
        [...this.#callers].map(async ([child, caller]) => ({
          child,
          caller,
          bytes: await bytesOf(child.streams.pid ?? 0),
        })),
      );
      this.#endBeyond(found.filter(({ child }) => this.#callers.has(child)));
      await setTimeout(this.#sharing.every, undefined, { ref: false });
    }
    this.#isLooking = false;
  }

  #endBeyond(found: { child: GitChild; caller: string; bytes: number }[]): void {
    const { most, message } = this.#sharing;
    const held = new Tally();
    for (const { caller, bytes } of found) held.add(bytes, caller);
    while (held.all > most) {
      const largest = found.sort((a, b) => held.of(b.caller) - held.of(a.caller) || b.bytes - a.bytes).shift();
      if (largest === undefined) return;
      largest.child.kill(new DomainError('unavailable', message));
      held.add(-largest.bytes, largest.caller);
    }
  }
}
