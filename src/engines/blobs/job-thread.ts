import path from 'node:path';
import { parentPort, Worker } from 'node:worker_threads';

/** How a job went; `code` as Node gives it to a fault of the system. */
type JobOutcome<Result> = { value: Result } | { message: string; code?: string };

function outcomeOf<Job, Result>(work: (job: Job) => Result, job: Job): JobOutcome<Result> {
  try {
    return { value: work(job) };
  } catch (error) {
    const { message, code } = error as NodeJS.ErrnoException;
    return { message, ...(code !== undefined && { code }) };
  }
}

/** Answers the jobs of this thread (`JobThread`) in the order they come. */
export function answerJobs<Job, Result>(work: (job: Job) => Result): void {
  parentPort?.on('message', (job: Job) => parentPort?.postMessage(outcomeOf(work, job)));
}

interface JobThreadOptions {
  /** Answers jobs (`answerJobs`). */
  module: URL;
  heapMegabytes: number;
  /** Milliseconds without work after which the thread gives its memory back. */
  idle: number;
}

/** Does jobs one after another in a thread, which is started when there is work, and keeps no process alive without. */
export class JobThread<Job, Result> {
  readonly #options: JobThreadOptions;
  #worker: Worker | null = null;
  #jobs: PromiseWithResolvers<Result>[] = [];
  #idle: NodeJS.Timeout | undefined;

  constructor(options: JobThreadOptions) {
    this.#options = options;
  }

  /** @throws NodeJS.ErrnoException as the job does; Error when the thread cannot be started, or ends meanwhile */
  async run(job: Job): Promise<Result> {
    const outcome = Promise.withResolvers<Result>();
    this.#worker ??= this.#start();
    this.#jobs.push(outcome);
    clearTimeout(this.#idle);
    this.#worker.ref();
    this.#worker.postMessage(job);
    return outcome.promise;
  }

  #start(): Worker {
    const { module, heapMegabytes } = this.#options;
    const worker = new Worker(module, { resourceLimits: { maxOldGenerationSizeMb: heapMegabytes } });
    worker.on('message', (outcome: JobOutcome<Result>) => this.#onMessage(outcome));
    worker.on('error', (error) => this.#broke(worker, error));
    worker.on('exit', () => this.#broke(worker, new Error('A thread of the blob store has ended')));
    return worker;
  }

  #onMessage(outcome: JobOutcome<Result>): void {
    const job = this.#jobs.shift();
    if ('value' in outcome) job?.resolve(outcome.value);
    else job?.reject(Object.assign(new Error(outcome.message), { code: outcome.code }));
    if (this.#jobs.length > 0) return;
    const worker = this.#worker;
    worker?.unref();
    this.#idle = setTimeout(() => {
      this.#worker = null;
      void worker?.terminate();
    }, this.#options.idle).unref();
  }

  #broke(worker: Worker, error: unknown): void {
    if (this.#worker !== worker) return;
    this.#worker = null;
    for (const job of this.#jobs.splice(0)) job.reject(error);
  }
}

/**
 * A thread of the store.
 * @param name of the module it runs, as compiled or as it stands, relative to the one at `from` (`import.meta.url`)
 */
export const storeThread = <Job, Result>(from: string, name: string): JobThread<Job, Result> =>
  new JobThread({ module: new URL(`${name}${path.extname(from)}`, from), heapMegabytes: 64, idle: 10_000 });
