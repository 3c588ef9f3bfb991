import path from 'node:path';
import { Worker } from 'node:worker_threads';
import type { CodingJob, CodingOutcome } from './coding-job.ts';

/** Milliseconds without work after which the thread gives its memory back. */
const idleTime = 10_000;
const heapMegabytes = 64;

/** As compiled, or as it stands. */
const module = new URL(`./encode-thread${path.extname(import.meta.url)}`, import.meta.url);

/**
 * Makes codings one after another, in a thread that has the lowest priority: compression takes whatever the machine has left, and nothing
 * that somebody waits for. It is started when there is work, and keeps no process alive without.
 */
export class CodingThread {
  #worker: Worker | null = null;
  #jobs: PromiseWithResolvers<boolean>[] = [];
  #idle: NodeJS.Timeout | undefined;

  /**
   * Makes the codings of a blob, unless they are there.
   * @returns false when there is no such blob. @throws NodeJS.ErrnoException when they cannot be written
   */
  write(job: CodingJob): Promise<boolean> {
    const outcome = Promise.withResolvers<boolean>();
    this.#worker ??= this.#start();
    this.#jobs.push(outcome);
    clearTimeout(this.#idle);
    this.#worker.ref();
    this.#worker.postMessage(job);
    return outcome.promise;
  }

  #start(): Worker {
    const worker = new Worker(module, { resourceLimits: { maxOldGenerationSizeMb: heapMegabytes } });
    worker.on('message', (outcome: CodingOutcome) => this.#heard(outcome));
    worker.on('error', (error) => this.#broke(worker, error));
    worker.on('exit', () => this.#broke(worker, new Error('The thread that compresses has ended')));
    return worker;
  }

  #heard(outcome: CodingOutcome): void {
    const job = this.#jobs.shift();
    if (outcome.done !== null) job?.resolve(outcome.done);
    else job?.reject(Object.assign(new Error(outcome.message), { code: outcome.code }));
    if (this.#jobs.length > 0) return;
    const worker = this.#worker;
    worker?.unref();
    this.#idle = setTimeout(() => {
      this.#worker = null;
      void worker?.terminate();
    }, idleTime).unref();
  }

  #broke(worker: Worker, error: unknown): void {
    if (this.#worker !== worker) return;
    this.#worker = null;
    for (const job of this.#jobs.splice(0)) job.reject(error);
  }
}
