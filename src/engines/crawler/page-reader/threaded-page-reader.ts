import { availableParallelism } from 'node:os';
import path from 'node:path';
import type { PageFacts } from '../../../domain/crawlers/pages/page-facts.ts';
import type { PageReader, PageToRead } from '../../../domain/ports/page-reader.ts';
import { ReaderThread } from './reader-thread.ts';
import { Reading } from './reading.ts';

/** The event loop keeps a core for itself. */
const usualThreads = Math.max(1, Math.min(4, availableParallelism() - 1));

export interface PageReaderOptions {
  /** Most threads; each is started when there is work for it. */
  threads?: number;
  /** Milliseconds for one document; 2 s. */
  limit?: number;
  /** Milliseconds without work after which threads are given back; a minute. */
  idle?: number;
  /** What runs in a thread. */
  module?: URL;
}

/** As compiled, or as it stands. */
const usualModule = () => new URL(`./page-thread${path.extname(import.meta.url)}`, import.meta.url);

/** Reads documents in threads of this process. */
export class ThreadedPageReader implements PageReader {
  readonly #options: Required<PageReaderOptions>;
  readonly #threads = new Set<ReaderThread>();
  readonly #queue: Reading[] = [];
  #next = 0;
  #isClosed = false;
  #idleTimer: NodeJS.Timeout | null = null;

  constructor({
    threads = usualThreads,
    limit = 2_000,
    idle = 60_000,
    module = usualModule(),
  }: PageReaderOptions = {}) {
    this.#options = { threads, limit, idle, module };
  }

  prepare(): void {
    if (this.#isClosed || this.#threads.size > 0) return;
    this.#start();
    this.#waitForWork();
  }

  read(page: PageToRead): Promise<PageFacts> {
    if (this.#isClosed) return Promise.reject(new Error('The page reader is closed'));
    const reading = new Reading(this.#next, page);
    this.#next += 1;
    this.#queue.push(reading);
    this.#pump();
    return reading.facts;
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#idleTimer ?? undefined);
    for (const reading of this.#queue.splice(0)) reading.cut();
    const threads = [...this.#threads];
    this.#threads.clear();
    await Promise.all(threads.map((thread) => thread.end()));
  }

  #pump(): void {
    for (let [reading] = this.#queue; reading; [reading] = this.#queue) {
      const thread = this.#threadFor(reading);
      if (!thread) break;
      this.#queue.shift();
      thread.send(reading);
    }
    this.#waitForWork();
  }

  /** An idle thread, a new one, or one with room, in this order. */
  #threadFor(reading: Reading): ReaderThread | undefined {
    const able = [...this.#threads].filter((thread) => thread.accepts(reading));
    const idle = able.find((thread) => thread.isIdle);
    if (idle || this.#threads.size >= this.#options.threads) return idle ?? able[0];
    return this.#start();
  }

  #start(): ReaderThread {
    const thread = new ReaderThread(this.#options.module, this.#options.limit, {
      onRoom: () => this.#pump(),
      onEnd: (ended, rest) => {
        this.#threads.delete(ended);
        this.#queue.unshift(...rest);
        this.#pump();
      },
    });
    this.#threads.add(thread);
    return thread;
  }

  /** Threads that have had nothing to do for a while give their memory back. */
  #waitForWork(): void {
    clearTimeout(this.#idleTimer ?? undefined);
    if (this.#threads.size === 0 || [...this.#threads].some((thread) => !thread.isIdle)) return;
    this.#idleTimer = setTimeout(() => {
      for (const thread of this.#threads) void thread.end();
      this.#threads.clear();
    }, this.#options.idle).unref();
  }
}
