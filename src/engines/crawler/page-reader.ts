import { availableParallelism } from 'node:os';
import path from 'node:path';
import { Worker } from 'node:worker_threads';
import type { PageFacts } from '../../ports/page-facts.ts';
import type { PageReader, PageToRead } from '../../ports/page-reader.ts';

/** What a reading thread is started with. */
export interface ThreadSettings {
  /** Milliseconds for one document. */
  limit: number;
}

/** To a thread, which reads documents one after another in the order they come. */
export interface ReadMessage {
  id: number;
  page: PageToRead;
}

/** From a thread. */
export type ThreadMessage =
  | { type: 'ready' }
  /** What is known of a document that takes long. */
  | { type: 'partial'; id: number; facts: PageFacts }
  | { type: 'done'; id: number; facts: PageFacts }
  /** A defect of the reader. */
  | { type: 'failed'; id: number; message: string };

/** Larger documents are moved to a thread instead of copied, bytes. */
const largestCopy = 64 * 1024;

/** One call of `read`, from its queue to its end. */
class Reading {
  readonly id: number;
  readonly page: PageToRead;
  /** Copied to its thread, and so can be sent to another one when that ends. */
  readonly isSmall: boolean;
  readonly facts: Promise<PageFacts>;
  readonly #settle: PromiseWithResolvers<PageFacts>;
  #partial: PageFacts | null = null;

  constructor(id: number, page: PageToRead) {
    this.id = id;
    this.page = page;
    this.isSmall = page.bytes.byteLength <= largestCopy;
    this.#settle = Promise.withResolvers();
    this.facts = this.#settle.promise;
  }

  /** What a message may take with it. Bytes that share their memory with others stay, and are copied. */
  get transferred(): ArrayBuffer[] {
    const { buffer, byteLength } = this.page.bytes;
    if (this.isSmall || !(buffer instanceof ArrayBuffer) || buffer.byteLength !== byteLength) return [];
    return [buffer];
  }

  partial(facts: PageFacts): void {
    this.#partial = facts;
  }

  done(facts: PageFacts): void {
    this.#settle.resolve(facts);
  }

  failed(error: Error): void {
    this.#settle.reject(error);
  }

  /** Its thread had to be ended. */
  cut(): void {
    const facts = this.#partial ?? nothing();
    this.#settle.resolve({ ...facts, faults: [...facts.faults, 'time'] });
  }
}

const nothing = (): PageFacts => ({
  charset: '',
  links: [],
  assets: [],
  canonical: null,
  robots: { noindex: false, nofollow: false, noarchive: false },
  linksCut: 0,
  faults: [],
});

/** Small documents that wait inside a thread, so that it never waits for the event loop. */
const maxWaiting = 8;
/** Of the limit: a thread that has not ended a document by itself is ended. */
const patience = 1.25;
const heapMegabytes = 512;

/** Message of a thread to its pool. */
interface ThreadWatcher {
  /** It can take more. */
  onRoom(): void;
  /** It is no more; `rest` has to be read elsewhere. */
  onEnd(thread: ReaderThread, rest: Reading[]): void;
}

/** One thread and the documents it was given, which it reads in their order. */
class ReaderThread {
  readonly #worker: Worker;
  readonly #watcher: ThreadWatcher;
  readonly #limit: number;
  #readings: Reading[] = [];
  #isReady = false;
  #isEnded = false;
  #timer: NodeJS.Timeout | null = null;

  constructor(module: URL, limit: number, watcher: ThreadWatcher) {
    const workerData: ThreadSettings = { limit };
    this.#limit = limit;
    this.#watcher = watcher;
    this.#worker = new Worker(module, { workerData, resourceLimits: { maxOldGenerationSizeMb: heapMegabytes } });
    // One that waits for its first document keeps no process alive.
    this.#worker.unref();
    this.#worker.on('message', (message: ThreadMessage) => this.#onMessage(message));
    this.#worker.on('error', (error) => this.#broke(error));
    this.#worker.on('exit', () => this.#broke(new Error('A reading thread ended')));
  }

  get isIdle(): boolean {
    return this.#readings.length === 0;
  }

  /** A large document is read alone: its bytes are gone when the thread is. */
  accepts(reading: Reading): boolean {
    if (this.#isEnded) return false;
    const isShareable = reading.isSmall && this.#readings.every(({ isSmall }) => isSmall);
    return this.isIdle || (isShareable && this.#readings.length < maxWaiting);
  }

  send(reading: Reading): void {
    const message: ReadMessage = { id: reading.id, page: reading.page };
    if (this.isIdle) this.#worker.ref();
    this.#readings.push(reading);
    this.#worker.postMessage(message, reading.transferred);
    if (this.#readings.length === 1) this.#watch();
  }

  /** Ends the thread; what it was reading is cut. */
  async end(): Promise<void> {
    const readings = this.#stop();
    for (const reading of readings) reading.cut();
    await this.#worker.terminate();
  }

  #onMessage(message: ThreadMessage): void {
    if (this.#isEnded) return;
    if (message.type === 'ready') {
      this.#isReady = true;
      this.#watch();
      return;
    }
    const [reading] = this.#readings;
    if (reading?.id !== message.id) return;
    if (message.type === 'partial') {
      reading.partial(message.facts);
      return;
    }
    this.#readings.shift();
    if (this.isIdle) this.#worker.unref();
    this.#watch();
    if (message.type === 'done') reading.done(message.facts);
    else reading.failed(new Error(`Reading ${reading.page.url}: ${message.message}`));
    this.#watcher.onRoom();
  }

  /** The time of the first document begins. */
  #watch(): void {
    clearTimeout(this.#timer ?? undefined);
    const [reading] = this.#readings;
    if (!reading || !this.#isReady) return;
    // Messages that arrived while the event loop was busy are handled before a verdict.
    this.#timer = setTimeout(() => setImmediate(() => this.#judge(reading)), this.#limit * patience);
  }

  #judge(reading: Reading): void {
    if (this.#isEnded || this.#readings[0] !== reading) return;
    const rest = this.#stop();
    rest.shift()?.cut();
    void this.#worker.terminate();
    this.#watcher.onEnd(this, rest);
  }

  /** A document of too much memory has ended it, or it never began. */
  #broke(error: Error): void {
    if (this.#isEnded) return;
    const rest = this.#stop();
    const first = rest.shift();
    if (this.#isReady) first?.cut();
    else for (const reading of [...(first ? [first] : []), ...rest.splice(0)]) reading.failed(error);
    this.#watcher.onEnd(this, rest);
  }

  #stop(): Reading[] {
    this.#isEnded = true;
    clearTimeout(this.#timer ?? undefined);
    const readings = this.#readings;
    this.#readings = [];
    return readings;
  }
}

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

  /** An idle thread, a new one, or one with capacity left, in this order. */
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
