import { spawn } from 'node:child_process';
import { availableParallelism, constants, setPriority } from 'node:os';
import { DomainError } from '../../kernel/errors.ts';
import { currentCaller } from '../../lib/concurrency.ts';
import { allocationLimit, type Bounds, boundedCommand, defaultMemory, SharedMemory } from './bounds.ts';
import { type Config, type GitChild, type GitExit, type SpawnOptions, watchChild } from './git-child.ts';
import { Slots } from './slots.ts';
import { StandingHolders } from './standing.ts';

/** The part of a logger this engine writes to. */
export interface Log {
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}

export interface RunOptions extends SpawnOptions {
  /** Bytes for stdin. */
  input?: string | Buffer;
  /** Most bytes of stdout; with more the process is ended. Default 256 MiB. */
  mostOutput?: number;
  /** Called with stdout as it arrives: what came before the process was ended may be of use. */
  onOutput?: (chunk: Buffer) => void;
}

export interface GitOutput extends GitExit {
  stdout: Buffer;
}

/** How long one command of each kind may run before it is ended, milliseconds. */
export const wallTime = { read: 30_000, merge: 120_000, fetch: 900_000 } as const;

/** Holds for every command: no hooks, no helpers, no protocol, and everything written is made durable (refs are not, by default). */
const baseConfig: Config = [
  ['core.hooksPath', '/dev/null'],
  ['core.fsmonitor', 'false'],
  ['core.fsync', 'all'],
  ['core.filesRefLockTimeout', '1000'],
  ['credential.helper', ''],
  ['gc.auto', '0'],
  ['maintenance.auto', 'false'],
  ['protocol.allow', 'never'],
  // Packing and unpacking keep to few large objects at once; larger blobs are streamed and never searched for deltas.
  ['core.bigFileThreshold', '16m'],
  ['pack.threads', '1'],
  ['pack.windowMemory', '64m'],
  ['pack.deltaCacheSize', '64m'],
];

/** Processor time of a process that has no wall time, because it serves many requests; its holder replaces it long before. Seconds. */
const standingCpu = 3600;
/** Commands and streams that wait for others of their kind; more are refused. */
const waiting = 1_000;
/** How long one waits for others, milliseconds. */
const patience = 30_000;

/** Slots of which one caller has at most half, and half of the places in the queue: what it keeps busy is never all there is. */
const shared = (size: number, { most = waiting, each = Math.ceil(size / 2) } = {}) =>
  new Slots(size, { waiting: most, patience, each, waitingEach: Math.ceil(most / 2) });

/** Slots for what may take git long: one caller keeps the processors busy, and some together still leave slots to others. */
const sharedByMany = () =>
  shared(Math.max(16, 4 * availableParallelism()), { each: Math.max(2, availableParallelism()) });

/** Output of one command that is collected, bytes. */
const mostCollected = 256 * 1024 * 1024;
/** Milliseconds. A host that answers quickly fills some 100 MiB meanwhile. */
const lookAtOutgoing = 100;
/**
 * Milliseconds. What stands still hardly grows, and no more fetches join it in a second than there are slots for; a look at 128 takes 20 ms of a
 * processor.
 */
const lookAtUnread = 500;
/** Milliseconds. What is searched for renames fills some 20 MiB meanwhile, and a look at all that has a slot takes 5 ms of a processor. */
const lookAtShared = 200;
/** Processes of all kinds at once. */
const mostChildren = 256;

/** What the process starts inherits it. A process that ended meanwhile needs none. */
function lower(pid: number): void {
  try {
    setPriority(pid, constants.priority.PRIORITY_LOW);
  } catch {}
}

/** The one place that runs git: arguments as arrays, an environment built from nothing, each process in a group of its own. */
export class GitProcesses {
  /** Owner of processes that stay between uses. */
  readonly standing = new StandingHolders();
  /** Reads of many objects, each with a `cat-file` of its own. */
  readonly bulkReads = shared(Math.max(16, 4 * availableParallelism()));
  /** Walks through what git clients are not shown, for fetches by id. */
  readonly hiddenWalks = sharedByMany();
  /** Searches for the commits of lines, each of which may take seconds. */
  readonly blames = shared(Math.max(2, availableParallelism()), { most: 100 });
  /** What serves clients that do not read, and has lent its slot. */
  readonly unread: SharedMemory;
  readonly #home: string;
  readonly #onEnd: (command: string, seconds: number) => void;
  readonly #children = new Set<GitChild>();
  readonly #memory: number;
  readonly #outgoing: SharedMemory;
  /** Commands and streams: comparisons, merges and reads, each of which may take as much as one process may. */
  readonly #shared: SharedMemory;
  readonly #commands = sharedByMany();
  /** Merges, each of which may take two minutes: no other command waits for them. */
  readonly #merges = sharedByMany();
  readonly #streams = shared(Math.max(16, 4 * availableParallelism()));
  #closed = false;

  /**
   * @param home an empty directory that stands in for HOME
   * @param onEnd called for every process that has ended: git's name for what it did, and how long it lived, seconds
   * @param memory of one process, bytes; all that connect to other hosts have twice as much together, and so have unread fetches, and
   * commands and streams
   */
  constructor(home: string, onEnd: (command: string, seconds: number) => void = () => {}, memory = defaultMemory) {
    this.#home = home;
    this.#onEnd = onEnd;
    this.#memory = memory;
    this.#outgoing = new SharedMemory({
      most: 2 * memory,
      every: lookAtOutgoing,
      message: 'Other hosts sent more at once than there is memory for; try again shortly',
    });
    this.#shared = new SharedMemory({
      most: 2 * memory,
      every: lookAtShared,
      message: 'Comparisons, merges and reads need more memory at once than there is for them; try again shortly',
    });
    this.unread = new SharedMemory({
      most: 2 * memory,
      every: lookAtUnread,
      message: 'Fetches that are not read hold more memory than there is for them; try again shortly',
    });
  }

  /**
   * Starts a process at once; the caller bounds how many.
   *
   * @throws DomainError `unavailable` when the server stops, or has too many processes of all kinds, or no file descriptor left
   */
  spawn(args: readonly string[], options: SpawnOptions = {}): GitChild {
    if (this.#closed) throw new DomainError('unavailable', 'The server is stopping');
    if (this.#children.size >= mostChildren)
      throw new DomainError('unavailable', 'Too many git processes are running; try again shortly');
    const config = [...baseConfig, ...(options.config ?? [])].flatMap(([key, value]) => ['-c', `${key}=${value}`]);
    if (options.gitDir !== undefined)
      config.push('-c', `safe.directory=${options.gitDir}`, `--git-dir=${options.gitDir}`);
    const wall = options.timeout === undefined ? standingCpu : Math.ceil(options.timeout / 1000);
    const bounds: Bounds = { memory: this.#memory, cpu: options.cpu ?? wall, file: options.mostFile };
    const [program, command] = boundedCommand([...config, ...args], bounds);
    const streams = spawn(program, command, {
      cwd: this.#home,
      env: this.#environment({ ...allocationLimit(bounds), ...options.env }),
      detached: true,
      stdio: ['pipe', 'pipe', 'pipe'],
    });
    // Where no file descriptor is left it has no streams, and an error event, which ends the server without a listener.
    streams.once('error', () => {});
    if (streams.stdin === undefined) throw new DomainError('unavailable', 'git could not be started');
    if (options.lowPriority === true && streams.pid !== undefined) lower(streams.pid);
    const child = watchChild(streams, options, bounds);
    if (options.outgoing === true) this.#outgoing.watch(child, '');
    if (options.shared === true) this.#shared.watch(child, currentCaller());
    const began = performance.now();
    this.#children.add(child);
    void child.exited.then(() => {
      this.#children.delete(child);
      this.#outgoing.leaveOut(child);
      this.#shared.leaveOut(child);
      this.#onEnd(args[0] ?? '', (performance.now() - began) / 1000);
    });
    return child;
  }

  /** Starts a process whose output is streamed, when a slot is free; the slot is released when it has ended. */
  async start(args: readonly string[], options: SpawnOptions = {}): Promise<GitChild> {
    const release = await this.#streams.take(currentCaller(), options.signal);
    try {
      const child = this.spawn(args, { ...options, shared: true });
      void child.exited.then(release);
      return child;
    } catch (error) {
      release();
      throw error;
    }
  }

  /**
   * Runs a command to its end; a bounded number of them at once.
   *
   * @returns the exit code, all of stdout, and stderr for the log
   * @throws DomainError `git_timeout` after the wall time or the processor time; `too_large` when it needs more memory than it may take;
   * `unavailable` when it has to make room for others; the signal's reason after an abort
   */
  run(args: readonly string[], options: RunOptions = {}): Promise<GitOutput> {
    return this.#commands.run(currentCaller(), () => this.runNow(args, { ...options, shared: true }), options.signal);
  }

  /** Like `run`, for merges, which have slots of their own. */
  runMerge(args: readonly string[], options: RunOptions = {}): Promise<GitOutput> {
    return this.#merges.run(currentCaller(), () => this.runNow(args, { ...options, shared: true }), options.signal);
  }

  /** Like `run`, for what takes minutes or waits for other hosts, and must not stand in the way of short commands; the caller bounds it. */
  async runNow(
    args: readonly string[],
    { input = '', mostOutput = mostCollected, onOutput, ...options }: RunOptions = {},
  ): Promise<GitOutput> {
    const child = this.spawn(args, { timeout: wallTime.read, ...options });
    child.streams.stdin.end(input);
    const chunks: Buffer[] = [];
    let left = mostOutput;
    for await (const chunk of child.streams.stdout) {
      left -= chunk.length;
      onOutput?.(chunk);
      if (left < 0) child.kill(new DomainError('too_large', `git answered with more than ${mostOutput} bytes`));
      else chunks.push(chunk);
    }
    const exit = await child.exited;
    if (exit.ended !== null) throw exit.ended;
    if (exit.over !== null) throw exit.over;
    return { ...exit, stdout: Buffer.concat(chunks) };
  }

  /** Like `run`, but anything else than exit code 0 is an error of the repository, with git's words as its cause. */
  async output(args: readonly string[], options: RunOptions = {}): Promise<Buffer> {
    const { code, stdout, stderr } = await this.run(args, options);
    if (code === 0) return stdout;
    const cause = new Error(`git ${args[0]} ended with ${code}: ${stderr}`);
    throw new DomainError('repository_unavailable', 'The repository could not be read', { cause });
  }

  /** Ends every child and waits until none is left. */
  async close(): Promise<void> {
    this.#closed = true;
    const children = [...this.#children];
    for (const child of children) child.kill(new DomainError('unavailable', 'The server is stopping'));
    await Promise.all(children.map((child) => child.exited));
  }

  #environment(extra: Record<string, string> = {}): NodeJS.ProcessEnv {
    return {
      PATH: process.env.PATH ?? '/usr/bin:/bin',
      LC_ALL: 'C',
      HOME: this.#home,
      GIT_CONFIG_NOSYSTEM: '1',
      GIT_CONFIG_GLOBAL: '/dev/null',
      GIT_TERMINAL_PROMPT: '0',
      GIT_LITERAL_PATHSPECS: '1',
      GIT_NO_REPLACE_OBJECTS: '1',
      GIT_PROTOCOL_FROM_USER: '0',
      ...extra,
    };
  }
}
