import type { Census } from '../../frontier/census.ts';
import type { Outcome } from '../../frontier/outcome.ts';
import type { TurnResult } from '../../frontier/turn/turn-input.ts';
import type { Ending } from './ending.ts';
import { heed } from './heed.ts';
import { persistTurn } from './persist-turn.ts';
import { reportTurn } from './report-turn.ts';
import { RequestRate } from './request-rate.ts';
import type { Requests } from './requests.ts';
import type { SliceOptions } from './slice-options.ts';
import { TurnClock } from './turn-clock.ts';
import { turnInput } from './turn-input-of.ts';
import { mostUnwritten, type Unwritten } from './unwritten.ts';

/** Leased URLs for each worker, and those leased at a time. */
const perWorker = 8;
const mostLeased = 100;

interface Parts {
  ending: Ending;
  unwritten: Unwritten;
  requests: Requests;
}

/** The turns of a slice: each writes what requests have come to, and leases the next URLs. */
export class Turns {
  readonly #options: SliceOptions;
  readonly #parts: Parts;
  readonly #clock: TurnClock;
  readonly #rate = new RequestRate();
  #census: Census;
  #writing = 0;
  #last: TurnResult | null = null;
  #prepared = Promise.resolve();
  /** Somebody wants the run to stop. */
  #isAsked = false;

  constructor(options: SliceOptions, parts: Parts) {
    this.#options = options;
    this.#parts = parts;
    this.#census = options.census;
    this.#clock = new TurnClock(options.timing);
  }

  /** The next turn is to look what others want of the run. */
  look(): void {
    this.#isAsked = true;
  }

  /** Nothing of the run is left to be done. */
  get isDone(): boolean {
    return this.#last !== null && this.#census.isEmpty;
  }

  /** Another request may begin: a crash repeats no more than a batch of results and what is in flight. */
  get hasRoom(): boolean {
    return this.unwritten < mostUnwritten + this.#options.open.limits.workers;
  }

  /** Results that are not written yet, and requests under way. */
  get unwritten(): number {
    return this.#parts.requests.underWay + this.#writing + this.#parts.unwritten.size;
  }

  get isDue(): boolean {
    const { unwritten, requests } = this.#parts;
    const count = unwritten.size;
    if (unwritten.isFull || this.#isAsked) return true;
    const isOld = performance.now() - unwritten.since >= this.#options.timing.flush;
    // With nothing to ask for, what the results lead to is worth more than a large batch.
    if (count > 0 && (isOld || requests.isStarved)) return true;
    return this.#clock.isOverdue || (this.#isLow && this.#clock.mayClaim);
  }

  /** More may be leased. */
  get #isLow(): boolean {
    const { workers } = this.#options.open.limits;
    const isLow = this.#parts.requests.waiting < workers && this.#census.waiting.size > 0;
    return isLow && !this.#parts.ending.isNear && this.hasRoom;
  }

  /** Milliseconds until the next turn is due. */
  get patience(): number {
    const now = performance.now();
    const { timing } = this.#options;
    const { unwritten, requests } = this.#parts;
    const flush = unwritten.size > 0 ? unwritten.since + timing.flush - now : timing.idle;
    const claim = this.#isLow ? this.#clock.claimAt - now : timing.idle;
    return Math.max(1, Math.min(flush, claim, requests.slotAt - now, timing.idle));
  }

  async take(): Promise<void> {
    const { unwritten, requests } = this.#parts;
    const { outcomes, kept } = unwritten.take();
    this.#writing = outcomes.length;
    this.#isAsked = false;
    await this.#checkServer();
    const want = this.#wanted;
    await kept;
    const began = performance.now();
    const result = await this.#persist(outcomes, want);
    this.#writing = 0;
    reportTurn(this.#options.services.metrics, outcomes, result, performance.now() - began);
    this.#rate.count(outcomes.filter(({ sent }) => sent).length);
    this.#last = result;
    this.#clock.took(result, want);
    for (const host of result.down) await this.#options.hosts.note(host, { is_down: true });
    // What the last turn leased waits in the queue by now, so that nothing is asked of a host that is held.
    await this.#prepared;
    requests.putBack((host) => result.held.has(host) || this.#options.hosts.isDown(host));
    this.#prepared = requests.prepare(result.slots);
    heed(this.#parts.ending, this.#options, result);
  }

  /** A limit of the server that is reached ends the run. */
  async #checkServer(): Promise<void> {
    const { serverLimit, timing } = this.#options;
    const stored = this.#last?.counts.bytes_stored ?? 0;
    const message = await serverLimit(this.#census.total, stored).catch(() => null);
    if (message !== null)
      this.#parts.ending.endWith({ status: 'stopped', reason: 'server_limit', message }, timing.stop);
  }

  /** URLs that may be leased. */
  get #wanted(): number {
    const { open, crawling } = this.#options;
    const room = Math.min(mostLeased, open.limits.workers * perWorker - this.#parts.requests.waiting);
    return this.#parts.ending.isNear || room <= 0 || crawling.isShortOfMemory ? 0 : room;
  }

  async #persist(outcomes: readonly Outcome[], want: number): Promise<TurnResult> {
    const { services, timing } = this.#options;
    const { ending } = this.#parts;
    const known = { census: this.#census, rate: this.#rate.perSecond() };
    const input = turnInput(this.#options, { outcomes, want, ...known });
    const { result, census, wasInterrupted } = await persistTurn(services, input, () => ending.isStopping);
    this.#census = census;
    // What was leased by a turn nobody heard the end of goes back with the next slice.
    if (wasInterrupted && !ending.isNear) ending.windUp(timing.drain);
    return result;
  }
}
