import { Worker } from 'node:worker_threads';
import type { ReadMessage, ThreadMessage, ThreadSettings } from './messages.ts';
import type { Reading } from './reading.ts';

/** Small documents that wait inside a thread, so that it never waits for the event loop. */
const maxWaiting = 8;
/** Of the limit: a thread that has not ended a document by itself is ended. */
const patience = 1.25;
const heapMegabytes = 512;

/** What a thread tells its pool. */
export interface ThreadWatcher {
  /** It can take more. */
  onRoom(): void;
  /** It is no more; `rest` has to be read elsewhere. */
  onEnd(thread: ReaderThread, rest: Reading[]): void;
}

/** One thread and the documents it was given, which it reads in their order. */
export class ReaderThread {
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
    this.#worker.on('message', (message: ThreadMessage) => this.#heard(message));
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

  #heard(message: ThreadMessage): void {
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
    // What was heard while the event loop was busy comes before a verdict.
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
