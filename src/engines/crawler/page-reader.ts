import type { ChildProcess } from 'node:child_process';
import { availableParallelism } from 'node:os';
import path from 'node:path';
import { startChild } from '../../lib/child-processes.ts';
import { FairQueue } from '../../lib/fair-queue.ts';
import type { PageFacts } from '../../ports/page-facts.ts';
import type { PageReader, PageToRead } from '../../ports/page-reader.ts';

/** To a process, which reads documents one after another in the order they come. */
export interface ReadMessage {
  id: number;
  page: PageToRead;
  /** Milliseconds for this document. */
  limit: number;
}

/** From a process. */
export type ReaderMessage =
  | { type: 'ready' }
  /** What is known of a document that takes long. */
  | { type: 'partial'; id: number; facts: PageFacts }
  | { type: 'done'; id: number; facts: PageFacts }
  /** A defect of the reader. */
  | { type: 'failed'; id: number; message: string };

/** Larger documents wait for an idle process, bytes. */
const largestShared = 64 * 1024;

/** One call of `read`, from its queue to its end. */
class Reading {
  readonly id: number;
  readonly page: PageToRead;
  readonly caller: string;
  readonly isSmall: boolean;
  readonly facts: Promise<PageFacts>;
  readonly #settle: PromiseWithResolvers<PageFacts>;
  #partial: PageFacts | null = null;

  constructor(id: number, page: PageToRead, caller: string) {
    this.id = id;
    this.page = page;
    this.caller = caller;
    this.isSmall = page.bytes.byteLength <= largestShared;
    this.#settle = Promise.withResolvers();
    this.facts = this.#settle.promise;
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

  /** Its process had to be ended. */
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

/** Small documents that wait inside a process, so that it never waits for the event loop. */
const maxWaiting = 8;
/** Of the limit: a process that has not ended a document by itself is ended. */
const patience = 1.25;
const heapMegabytes = 512;

/** What a process reports to its pool. */
interface ProcessWatcher {
  /** It can take more. */
  onRoom(): void;
  /** It is no more; `rest` has to be read elsewhere. */
  onEnd(ended: ReaderProcess, rest: Reading[]): void;
}

/**
 * One process and the documents it was given, which it reads in their order. A document can take any amount of memory, and a thread that
 * has no more of it ends the whole process.
 */
class ReaderProcess {
  readonly #child: ChildProcess;
  readonly #watcher: ProcessWatcher;
  readonly #limit: number;
  #readings: Reading[] = [];
  #isReady = false;
  #isEnded = false;
  #timer: NodeJS.Timeout | null = null;

  constructor(module: URL, limit: number, watcher: ProcessWatcher) {
    this.#limit = limit;
    this.#watcher = watcher;
    // One that waits for its first document does not keep this one alive.
    this.#child = startChild({ module, heap: heapMegabytes });
    this.#child.on('message', (message: ReaderMessage) => this.#onMessage(message));
    this.#child.on('error', (error) => this.#broke(error));
    // Comes after its last message, unlike its exit.
    this.#child.on('disconnect', () => this.#broke(new Error('A reading process ended')));
  }

  get isIdle(): boolean {
    return this.#readings.length === 0;
  }

  /** A large document is read alone: small ones would wait for it while others are idle. */
  accepts(reading: Reading): boolean {
    if (this.#isEnded) return false;
    const isShareable = reading.isSmall && this.#readings.every(({ isSmall }) => isSmall);
    return this.isIdle || (isShareable && this.#readings.length < maxWaiting);
  }

  send(reading: Reading): void {
    const message: ReadMessage = { id: reading.id, page: reading.page, limit: this.#limit };
    if (this.isIdle) this.#child.channel?.ref();
    this.#readings.push(reading);
    // A process that has just died is reported by its channel.
    this.#child.send(message, () => {});
    if (this.#readings.length === 1) this.#watch();
  }

  /** Ends the process; what it was reading is cut. */
  async end(): Promise<void> {
    const readings = this.#stop();
    for (const reading of readings) reading.cut();
    await this.#kill();
  }

  #onMessage(message: ReaderMessage): void {
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
    if (this.isIdle) this.#child.channel?.unref();
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
    void this.#kill();
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

  async #kill(): Promise<void> {
    const { exitCode, signalCode, pid } = this.#child;
    if (pid === undefined || exitCode !== null || signalCode !== null) return;
    const ended = new Promise((resolve) => this.#child.once('exit', resolve));
    this.#child.ref();
    this.#child.kill('SIGKILL');
    await ended;
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
const usualProcesses = Math.max(1, Math.min(4, availableParallelism() - 1));

export interface PageReaderOptions {
  /** Most processes; each is started when there is work for it. */
  processes?: number;
  /** Milliseconds for one document; 2 s. */
  limit?: number;
  /** Milliseconds without work after which processes are given back; a minute. */
  idle?: number;
  /** What runs in a process. */
  module?: URL;
}

/** As compiled, or as it stands. */
const usualModule = () => new URL(`./page-process${path.extname(import.meta.url)}`, import.meta.url);

/** Reads documents in processes of their own. */
export class SeparatePageReader implements PageReader {
  readonly #options: Required<PageReaderOptions>;
  readonly #processes = new Set<ReaderProcess>();
  readonly #queue = new FairQueue<Reading>();
  #next = 0;
  #isClosed = false;
  #idleTimer: NodeJS.Timeout | null = null;

  constructor({
    processes = usualProcesses,
    limit = 2_000,
    idle = 60_000,
    module = usualModule(),
  }: PageReaderOptions = {}) {
    this.#options = { processes, limit, idle, module };
  }

  prepare(): void {
    if (this.#isClosed || this.#processes.size > 0) return;
    this.#start();
    this.#waitForWork();
  }

  read(page: PageToRead, caller = ''): Promise<PageFacts> {
    if (this.#isClosed) return Promise.reject(new Error('The page reader is closed'));
    const reading = new Reading(this.#next, page, caller);
    this.#next += 1;
    this.#queue.add(caller, reading);
    this.#pump();
    return reading.facts;
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#idleTimer ?? undefined);
    for (const reading of this.#queue.takeAll()) reading.cut();
    const processes = [...this.#processes];
    this.#processes.clear();
    await Promise.all(processes.map((reader) => reader.end()));
  }

  #pump(): void {
    let reader: ReaderProcess | undefined;
    // None passes one that has to wait: small documents would keep a large one from an idle process without end.
    let isBlocked = false;
    const next = (reading: Reading) => {
      if (!isBlocked) reader = this.#processFor(reading);
      isBlocked ||= reader === undefined;
      return !isBlocked;
    };
    for (const reading of this.#queue.takeAll(next)) reader?.send(reading);
    this.#waitForWork();
  }

  /** An idle process, a new one, or one with capacity left, in this order. */
  #processFor(reading: Reading): ReaderProcess | undefined {
    const able = [...this.#processes].filter((reader) => reader.accepts(reading));
    const idle = able.find((reader) => reader.isIdle);
    if (idle || this.#processes.size >= this.#options.processes) return idle ?? able[0];
    return this.#start();
  }

  #start(): ReaderProcess {
    const reader = new ReaderProcess(this.#options.module, this.#options.limit, {
      onRoom: () => this.#pump(),
      onEnd: (ended, rest) => {
        this.#processes.delete(ended);
        this.#queue.putBack(rest.map((reading) => [reading.caller, reading]));
        this.#pump();
      },
    });
    this.#processes.add(reader);
    return reader;
  }

  /** Processes that have had nothing to do for a while give their memory back. */
  #waitForWork(): void {
    clearTimeout(this.#idleTimer ?? undefined);
    if (this.#processes.size === 0 || [...this.#processes].some((reader) => !reader.isIdle)) return;
    this.#idleTimer = setTimeout(() => {
      for (const reader of this.#processes) void reader.end();
      this.#processes.clear();
    }, this.#options.idle).unref();
  }
}
