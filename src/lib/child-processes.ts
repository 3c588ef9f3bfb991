import { type ChildProcess, fork } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { currentCaller } from './concurrency.ts';
import { FairQueue } from './fair-queue.ts';
import { countdown } from './timing.ts';

/**
 * Why a task has no result: its time is over, its process died (of its memory limit, mostly), none came up, it cannot be written for one (it is
 * nested too deeply), or the pool is closed.
 */
export type ChildFault = 'deadline' | 'died' | 'not_started' | 'not_sent' | 'closed';

export class ChildError extends Error {
  override name = 'ChildError';
  readonly fault: ChildFault;

  constructor(fault: ChildFault, message: string) {
    super(message);
    this.fault = fault;
  }
}

interface ChildOptions {
  /** The module a process runs; it sends a message when it is ready. */
  module: URL;
  /** Heap of a process, MiB. */
  heap: number;
}

/** A process of a pool sends one message for each it gets. */
interface ChildPoolOptions extends ChildOptions {
  /** Most processes; each is started when a task finds the others busy. */
  size: number;
}

interface TaskOptions {
  /** Milliseconds from the moment a process takes the task, as `countdown` counts them; the process is ended and replaced then. */
  deadline: number;
  signal?: AbortSignal | undefined;
}

/** What a process gets to start, milliseconds. */
const startTime = 10_000;

interface Queued<Task, Answer> extends TaskOptions {
  task: Task;
  resolve: (answer: Answer) => void;
  reject: (error: unknown) => void;
}

/**
 * A process of its own, since one allocation beyond the heap of a worker thread aborts the whole process. It may read files, to load its
 * modules, and nothing else; it has no environment, and ends when its parent does.
 */
export function startChild({ module, heap }: ChildOptions): ChildProcess {
  const child = fork(module, {
    execArgv: ['--permission', '--allow-fs-read=*', `--max-old-space-size=${heap}`, '--max-semi-space-size=4'],
    env: {},
    serialization: 'advanced',
    stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
  });
  child.unref();
  return child;
}

/**
 * Processes for work that may never end or need any amount of memory. One task a process at a time; callers alternate. A process
 * that misses a deadline or dies takes only its own task with it.
 */
export class ChildPool<Task extends object, Answer> {
  readonly #options: ChildPoolOptions;
  readonly #idle: ChildProcess[] = [];
  readonly #all = new Set<ChildProcess>();
  readonly #starting = new Set<ChildProcess>();
  readonly #waiting = new FairQueue<Queued<Task, Answer>>();
  #isClosed = false;

  constructor(options: ChildPoolOptions) {
    this.#options = options;
  }

  /** @throws ChildError; the signal's reason once it is aborted */
  run(task: Task, options: TaskOptions): Promise<Answer> {
    return new Promise((resolve, reject) => {
      if (this.#isClosed) return reject(new ChildError('closed', 'the server is stopping'));
      this.#waiting.add(currentCaller(), { ...options, task, resolve, reject });
      this.#next();
    });
  }

  /** Ends every process; tasks under way and waiting are refused. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#refuse(new ChildError('closed', 'the server is stopping'));
    // A failed start is an error event, not an exit.
    const ended = [...this.#all].map(
      (child) => new Promise((resolve) => child.once('exit', resolve).once('error', resolve)),
    );
    for (const child of this.#all) child.kill('SIGKILL');
    await Promise.all(ended);
  }

  #refuse(error: ChildError): void {
    for (let queued = this.#waiting.take(); queued; queued = this.#waiting.take()) queued.reject(error);
  }

  #next(): void {
    while (this.#waiting.size > 0 && !this.#isClosed) {
      const child = this.#idle.pop();
      if (child === undefined) break;
      const queued = this.#waiting.take();
      if (queued !== undefined && !queued.signal?.aborted) this.#give(child, queued);
      else {
        queued?.reject(queued.signal?.reason);
        this.#idle.push(child);
      }
    }
    const isShort = this.#starting.size < this.#waiting.size && this.#all.size < this.#options.size;
    if (isShort && !this.#isClosed) this.#start();
  }

  #start(): void {
    const child = startChild(this.#options);
    this.#all.add(child);
    this.#starting.add(child);
    const late = setTimeout(() => child.kill('SIGKILL'), startTime);
    const forget = () => {
      clearTimeout(late);
      this.#all.delete(child);
      const at = this.#idle.indexOf(child);
      if (at !== -1) this.#idle.splice(at, 1);
      // A process that never came up would be restarted without end, so the waiting calls fail.
      if (this.#starting.delete(child) && !this.#isClosed)
        this.#refuse(new ChildError('not_started', 'its process did not start'));
      this.#next();
    };
    child.once('exit', forget).once('error', forget);
    child.once('message', () => {
      clearTimeout(late);
      this.#starting.delete(child);
      this.#idle.push(child);
      this.#next();
    });
  }

  #give(child: ChildProcess, { task, resolve, reject, deadline, signal }: Queued<Task, Answer>): void {
    const end = (settle: () => void, isReusable: boolean) => {
      stop();
      signal?.removeEventListener('abort', onAbort);
      child.off('message', onMessage).off('exit', onExit).off('error', onExit);
      child.channel?.unref();
      settle();
      if (isReusable) this.#idle.push(child);
      else child.kill('SIGKILL');
      this.#next();
    };
    const onMessage = (answer: unknown) => end(() => resolve(answer as Answer), true);
    const onExit = () => {
      const error = this.#isClosed
        ? new ChildError('closed', 'the server is stopping')
        : new ChildError('died', 'its process died');
      end(() => reject(error), false);
    };
    const onAbort = () => end(() => reject(signal?.reason), false);
    const stop = countdown(deadline, () => end(() => reject(new ChildError('deadline', 'took too long')), false));
    child.channel?.ref();
    child.on('message', onMessage).on('exit', onExit).on('error', onExit);
    signal?.addEventListener('abort', onAbort, { once: true });
    try {
      // A process that has just died is reported by its exit.
      child.send(task, () => {});
    } catch (cause) {
      end(() => reject(new ChildError('not_sent', `the task cannot be sent: ${(cause as Error).message}`)), true);
    }
  }
}

const pageSize = 4096;

/** Pages of memory of a process, resident and of these shared ones (proc_pid_statm(5)); zeros where the system does not report them. */
async function pagesOf(pid: number): Promise<[resident: number, shared: number]> {
  const text = await readFile(`/proc/${pid}/statm`, 'utf8').catch(() => '');
  const [, resident = 0, shared = 0] = text.split(' ').map(Number);
  return [resident, shared];
}

/** Bytes a process has in memory. */
export async function residentBytes(pid: number): Promise<number> {
  const [resident] = await pagesOf(pid);
  return resident * pageSize;
}

/** Bytes a process has for itself. */
export async function ownBytes(pid: number): Promise<number> {
  const [resident, shared] = await pagesOf(pid);
  return Math.max(0, resident - shared) * pageSize;
}
