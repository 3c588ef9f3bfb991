import { getHeapStatistics } from 'node:v8';
import { SlotClock } from '../hosts/host-pace.ts';
import { CookieJar } from './fetch/cookies.ts';

/** Why a crawl loop ends early: the run was canceled, the server stops, or another worker has taken the run over. */
export type StopReason = 'cancel' | 'stopping' | 'lost';

/** Runs a process works on at the same time. */
const mostRuns = 100;
/** Of the heap's limit. */
const watermark = 0.7;
/** Requests a process has under way at the same time, for all its runs. */
const mostInFlight = 200;

/** The runs this process works on. */
export class Crawling {
  readonly clock = new SlotClock();
  readonly #running = new Map<number, { stop(reason: StopReason): void; done: Promise<unknown> }>();
  readonly #cookies = new Map<number, CookieJar>();
  #inFlight = 0;
  #closing = false;
  #isShort = false;
  #looked = 0;

  get closing(): boolean {
    return this.#closing;
  }

  /** Whether the run is worked on here. */
  has(run_id: number): boolean {
    return this.#running.has(run_id);
  }

  /** When a run is worked on no more here. */
  async left(run_id: number): Promise<void> {
    await this.#running.get(run_id)?.done;
  }

  /** Works on a run. @param stop ends the work early */
  async run<T>(run_id: number, stop: (reason: StopReason) => void, work: () => Promise<T>): Promise<T> {
    const done = work();
    this.#running.set(run_id, { stop, done: done.catch(() => {}) });
    return done.finally(() => this.#running.delete(run_id));
  }

  /** The cookies of a run, as long as this process works on it. */
  cookiesOf(run_id: number): CookieJar {
    const jar = this.#cookies.get(run_id) ?? new CookieJar();
    this.#cookies.set(run_id, jar);
    return jar;
  }

  /** Drops what is kept of a run that has ended, or is another's now. */
  forget(run_id: number): void {
    this.#cookies.delete(run_id);
  }

  /** Takes one of the requests the process may have under way. @returns false when all are taken */
  enter(): boolean {
    if (this.#inFlight >= mostInFlight) return false;
    this.#inFlight += 1;
    return true;
  }

  leave(): void {
    this.#inFlight -= 1;
  }

  get inFlight(): number {
    return this.#inFlight;
  }

  get active(): number {
    return this.#running.size;
  }

  /** Nothing more is taken up while the heap is nearly as large as it may become. */
  get isShortOfMemory(): boolean {
    const now = performance.now();
    if (now - this.#looked > 1_000) {
      this.#looked = now;
      this.#isShort = process.memoryUsage().heapUsed > getHeapStatistics().heap_size_limit * watermark;
    }
    return this.#isShort;
  }

  /** Runs it can take on; none while it stops. */
  get room(): number {
    return this.#closing ? 0 : mostRuns - this.#running.size;
  }

  /** Ends a run that is cancelled, if it is worked on here; a worker in another process notices within a second. */
  cancel(run_id: number): void {
    this.#running.get(run_id)?.stop('cancel');
  }

  /** Has every run handed back, to go on where another process, or the next start, takes it up. */
  async close(): Promise<void> {
    this.#closing = true;
    for (const { stop } of this.#running.values()) stop('stopping');
    await Promise.all([...this.#running.values()].map(({ done }) => done));
  }
}
