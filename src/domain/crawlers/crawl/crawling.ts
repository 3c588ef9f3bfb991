import { getHeapStatistics } from 'node:v8';
import { type FairSlots, groupSlots, sharedSlots } from '../../../lib/fair-queue.ts';
import { SlotClock } from '../hosts/host-pace.ts';
import { CookieJar } from './fetch/cookies.ts';

/** Why a crawl loop ends early: the run was canceled, the server stops, or another worker has taken the run over. */
export type StopReason = 'cancel' | 'stopping' | 'lost';

/** Of the heap's limit. */
const watermark = 0.7;
/**
 * What a process does at the same time: runs it works on, requests it has under way for all of them, and documents that it has in memory from when they
 * are decoded until they are read, each of up to 10 MiB.
 */
const usualMost = { runs: 100, requests: 200, documents: 40 };

/** A run, and whose it is. */
export interface Crawl {
  run_id: number;
  organization_id: number;
}

/** The runs this process works on. */
export class Crawling {
  readonly clock = new SlotClock();
  /** For requests under way, shared by run and organisation: a site may take minutes for each answer. */
  readonly requests: FairSlots<Crawl>;
  /** For documents, shared likewise: they come as fast as a site wants, and one takes up to two seconds to read. */
  readonly documents: FairSlots<Crawl>;
  readonly #running = new Map<number, { stop(reason: StopReason): void; done: Promise<unknown> }>();
  readonly #places: FairSlots<string>;
  /** Of each run that has a place. */
  readonly #organizations = new Map<number, number>();
  readonly #cookies = new Map<number, CookieJar>();
  #closing = false;
  #isShort = false;
  #looked = 0;

  constructor(most = usualMost) {
    this.#places = groupSlots(most.runs);
    const keysOf = ({ run_id, organization_id }: Crawl) =>
      [`run ${run_id}`, `organization ${organization_id}`] as const;
    this.requests = sharedSlots(most.requests, keysOf);
    this.documents = sharedSlots(most.documents, keysOf);
  }

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

  /**
   * Takes a place for a run: an organisation has three quarters of them at most, and an eighth is for organisations that have none, because a run may
   * keep its place for days.
   * @returns gives it back; null: the organisation may have no other now
   */
  takePlace({ run_id, organization_id }: Crawl): (() => void) | null {
    const release = this.#places.takeNow(String(organization_id));
    if (!release) return null;
    this.#organizations.set(run_id, organization_id);
    return () => {
      this.#organizations.delete(run_id);
      release();
    };
  }

  /** The organisation of each run that has a place. */
  get organizations(): number[] {
    return [...this.#organizations.values()];
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
    return this.#closing ? 0 : this.#places.free;
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
