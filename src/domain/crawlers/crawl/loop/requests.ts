import { setImmediate as nextIteration } from 'node:timers/promises';
import { DomainError } from '../../../../kernel/errors.ts';
import { isAway } from '../../../../kernel/unavailable.ts';
import { type FairSlots, Tally } from '../../../../lib/fair-queue.ts';
import type { Notifier } from '../../../../lib/timing.ts';
import { NotSent } from '../../../../ports/exchange.ts';
import type { Slot } from '../../frontier/batch.ts';
import type { LeasedUrl } from '../../frontier/lease.ts';
import { breakOff, type Outcome, outcomeOf, putBack } from '../../frontier/outcome.ts';
import { takeSlotAgain } from '../../hosts/host-rows.ts';
import type { Crawl } from '../crawling.ts';
import { type BaseEntry, withBase } from '../fetch/base-entries.ts';
import type { FetchContext } from '../fetch/fetch-context.ts';
import { fetchUrl } from '../fetch/fetch-url.ts';
import type { LoopOptions } from './loop-options.ts';
import type { OutcomeBuffer } from './outcome-buffer.ts';
import type { Shutdown } from './shutdown.ts';

/** What a fault of ours comes to while a URL is worked on: a full disk ends the run, anything else only the URL. */
function internalError({ services, open }: LoopOptions, ending: Shutdown, of: LeasedUrl, error: unknown): Outcome {
  if (ending.signal.aborted) return breakOff(of);
  services.log.warn({ err: error, run: open.run.id, url: of.url }, 'a URL of a crawl could not be worked on');
  if (error instanceof DomainError && isAway(error)) {
    ending.endWith({ status: 'stopped', reason: 'server_limit', message: error.message }, 0);
    return breakOff(of);
  }
  const error_message = 'A fault of the server, see its log';
  return outcomeOf(of, { state: 'error', error: 'internal', error_message });
}

/** A leased URL that waits for its slot. */
export interface QueuedUrl extends Slot {
  base: BaseEntry | undefined;
  /** Its connection was there too late for a slot before: it is not given up for that again. */
  wasSlow?: boolean;
}

/** A request later than this has missed its slot: two of one host would come too close together. Milliseconds. */
const lateness = 12;

/** A connection is opened so long before the slot at most, or half the way from the slot before: a server may close one that is not used. */
const earliest = 1_000;

/** Whether a request has missed its slot. @param now milliseconds on the database's clock */
const isLate = ({ start }: Slot, now: number): boolean => start > 0 && now - start > lateness;

/** What is to be done next. */
type Next =
  | { kind: 'fetch'; waiting: QueuedUrl }
  /** Its slot is past: it needs another one. */
  | { kind: 'late'; waiting: QueuedUrl }
  /** Its slot is near: its connection may be opened. */
  | { kind: 'connect'; waiting: QueuedUrl }
  /** Nothing before so many milliseconds. */
  | { kind: 'wait'; for: number };

/** Leased URLs in the order of their requests: none before its slot, and no more of a host at once than its limit. */
export class SlotQueue {
  #waiting: QueuedUrl[] = [];
  /** Those whose connections were to be opened. */
  readonly #near = new WeakSet<QueuedUrl>();
  readonly #busy = new Tally();
  readonly #most: (host: string) => number;

  /** @param most requests to a host at the same time */
  constructor(most: (host: string) => number) {
    this.#most = most;
  }

  get size(): number {
    return this.#waiting.length;
  }

  add(waiting: readonly QueuedUrl[]): void {
    this.#waiting.push(...waiting);
  }

  /** @param now milliseconds on the database's clock */
  next(now: number): Next {
    let soonest = Number.POSITIVE_INFINITY;
    for (const [index, waiting] of this.#waiting.entries()) {
      const { start, of, gap } = waiting;
      const isFull = this.#busy.of(of.host) >= this.#most(of.host);
      if (start > now) {
        const early = isFull || this.#near.has(waiting) ? 0 : Math.min(earliest, gap / 2);
        soonest = Math.min(soonest, start - early - now);
        if (start - early > now) continue;
        this.#near.add(waiting);
        return { kind: 'connect', waiting };
      }
      if (isFull) continue;
      if (index === 0) this.#waiting.shift();
      else this.#waiting.splice(index, 1);
      if (isLate(waiting, now)) return { kind: 'late', waiting };
      this.#busy.add(1, of.host);
      return { kind: 'fetch', waiting };
    }
    return { kind: 'wait', for: soonest };
  }

  /** A request to a host is over. */
  leave(host: string): void {
    this.#busy.add(-1, host);
  }

  /** Takes out what waits for some hosts, or for all. */
  drop(isDropped: (host: string) => boolean): LeasedUrl[] {
    const dropped = this.#waiting.filter(({ of }) => isDropped(of.host));
    if (dropped.length > 0) this.#waiting = this.#waiting.filter(({ of }) => !isDropped(of.host));
    return dropped.map(({ of }) => of);
  }
}

/**
 * A loop's way to slots for its requests, of which its process has a limited number. It waits for one slot at most, in the order of all loops, and
 * keeps it for its next request: the host may allow that only in a while.
 */
class RequestSlots {
  readonly #slots: FairSlots<Crawl>;
  readonly #crawl: Crawl;
  readonly #signal: AbortSignal;
  readonly #onSlot: () => void;
  #kept: (() => void) | null = null;
  #isWaiting = false;

  /** @param signal aborted when no request may begin any more @param onSlot called when there is a slot that was waited for */
  constructor(slots: FairSlots<Crawl>, crawl: Crawl, signal: AbortSignal, onSlot: () => void) {
    this.#slots = slots;
    this.#crawl = crawl;
    this.#signal = signal;
    this.#onSlot = onSlot;
    signal.addEventListener('abort', () => this.rest());
  }

  get isWaiting(): boolean {
    return this.#isWaiting;
  }

  /** Takes a slot for a request that may begin now. @returns gives it back; null: it is waited for */
  take(): (() => void) | null {
    const release = this.#kept ?? this.#slots.takeNow(this.#crawl);
    this.#kept = null;
    if (!release) void this.#wait();
    return release;
  }

  /** Gives back a slot that no request needs soon. */
  rest(): void {
    this.#kept?.();
    this.#kept = null;
  }

  async #wait(): Promise<void> {
    this.#isWaiting = true;
    const release = await this.#slots.take(this.#crawl, this.#signal).catch(() => null);
    this.#isWaiting = false;
    this.#kept = release;
    if (this.#signal.aborted) this.rest();
    else this.#onSlot();
  }
}

interface Parts {
  ending: Shutdown;
  unwritten: OutcomeBuffer;
  notifier: Notifier;
  context: FetchContext;
  /** Called on a response: the next request begins at once, also while a batch waits for the database. */
  answered(): void;
}

/** Fetches leased URLs, each when its slot has come, and no more at once than there are workers. */
export class Requests {
  readonly #options: LoopOptions;
  readonly #parts: Parts;
  readonly #queue: SlotQueue;
  readonly #slots: RequestSlots;
  readonly #crawl: Crawl;
  #inFlight = 0;
  #reading = 0;
  /** Of those whose slots are past. */
  #renewing = 0;
  #preparing = 0;
  /** When the next leased URL may be fetched. */
  #slotAt = Number.POSITIVE_INFINITY;

  constructor(options: LoopOptions, parts: Parts) {
    this.#options = options;
    this.#parts = parts;
    const { crawling, open } = options;
    this.#queue = new SlotQueue((host) => open.limitsOf(host).inFlight);
    this.#crawl = { run_id: open.run.id, organization_id: open.organization_id };
    this.#slots = new RequestSlots(crawling.requests, this.#crawl, parts.ending.signal, () => {
      parts.answered();
      parts.notifier.notify();
    });
  }

  /** Leased URLs that wait for their slots, or for what is known of them. */
  get waiting(): number {
    return this.#queue.size + this.#preparing;
  }

  /** Requests whose answers are not there yet, or not read. */
  get underWay(): number {
    return this.#inFlight + this.#reading;
  }

  /** A worker is free, and no leased URL waits. */
  get isStarved(): boolean {
    return this.waiting === 0 && this.#inFlight < this.#options.open.limits.workers;
  }

  /** When the next may begin, if it is known; milliseconds on this process's clock. */
  get slotAt(): number {
    return this.#slotAt;
  }

  /**
   * Queues leased URLs once their entries in the newest sealed snapshot are looked up; the next batch need not wait for
   * that.
   */
  async prepare(slots: readonly Slot[]): Promise<void> {
    if (slots.length === 0) return;
    const { blobs } = this.#options.services;
    const { outlinks } = this.#parts.context;
    this.#preparing += slots.length;
    // The statements of the next batch are sent first: the database works meanwhile.
    await nextIteration();
    this.#queue.add(await withBase({ blobs, outlinks }, slots));
    this.#preparing -= slots.length;
    this.#parts.answered();
    this.#parts.notifier.notify();
  }

  /** Puts back what waits for some hosts, or for all. */
  putBack(isMeant: (host: string) => boolean = () => true): void {
    for (const of of this.#queue.drop(isMeant)) this.#parts.unwritten.add(putBack(of));
    this.#restWithout();
  }

  /** Keeps no slot while there is nothing to be fetched. */
  #restWithout(): void {
    if (this.waiting + this.#renewing === 0) this.#slots.rest();
  }

  /** Starts what may start. @param room how many results may still come in unwritten */
  pump(room: () => boolean): void {
    const { crawling, open } = this.#options;
    const { context } = this.#parts;
    this.#slotAt = Number.POSITIVE_INFINITY;
    const { workers } = open.limits;
    while (this.#queue.size > 0 && this.#inFlight < workers && !this.#slots.isWaiting && room()) {
      const next = this.#queue.next(crawling.clock.now());
      if (next.kind === 'wait') {
        this.#slotAt = performance.now() + next.for;
        return;
      }
      if (next.kind === 'connect') void context.fetcher.connect({ url: next.waiting.of.url, policy: context.policy });
      else if (next.kind === 'late') void this.#again(next.waiting);
      else this.#begin(next.waiting);
    }
    this.#restWithout();
  }

  /** Begins a request, or waits for a slot of the process. */
  #begin(waiting: QueuedUrl): void {
    const release = this.#slots.take();
    if (release) return void this.#fetch(waiting, release);
    this.#queue.leave(waiting.of.host);
    this.#queue.add([waiting]);
  }

  async #again(waiting: QueuedUrl): Promise<void> {
    const { services, open } = this.#options;
    this.#reading += 1;
    this.#renewing += 1;
    try {
      const em = services.orm.em.fork();
      const start = await takeSlotAgain(em, open.run.project_id, waiting.of.host, waiting.gap);
      if (start === null) this.#parts.unwritten.add(putBack(waiting.of));
      else this.#queue.add([{ ...waiting, start }]);
    } catch (err) {
      services.log.debug({ err, run: open.run.id }, 'a slot could not be taken');
      this.#parts.unwritten.add(putBack(waiting.of));
    }
    this.#reading -= 1;
    this.#renewing -= 1;
    this.#parts.notifier.notify();
  }

  /** @param release gives back its slot of the process */
  async #fetch(waiting: QueuedUrl, release: () => void): Promise<void> {
    const { of, base, start, wasSlow } = waiting;
    const { context, unwritten, notifier, ending } = this.#parts;
    const { crawling } = this.#options;
    const { clock } = crawling;
    const mayStart = start === 0 || wasSlow ? undefined : () => !isLate(waiting, clock.now());
    this.#inFlight += 1;
    let isUnderWay = true;
    let leaveDocument = () => {};
    const leave = () => {
      if (!isUnderWay) return;
      isUnderWay = false;
      this.#inFlight -= 1;
      this.#reading += 1;
      release();
      this.#queue.leave(of.host);
      this.#parts.answered();
      notifier.notify();
    };
    // Until there is room for the document its request counts as under way, so that no more are begun.
    const received = async () => {
      if (!isUnderWay) return;
      leaveDocument = await crawling.documents.take(this.#crawl, ending.signal);
      leave();
    };
    const outcome = await fetchUrl(context, of, base, { received, mayStart }).catch((error: unknown) =>
      error instanceof NotSent ? null : internalError(this.#options, ending, of, error),
    );
    leave();
    leaveDocument();
    this.#reading -= 1;
    if (outcome === null) return this.#again({ ...waiting, wasSlow: true });
    unwritten.add(outcome);
    notifier.notify();
  }
}
