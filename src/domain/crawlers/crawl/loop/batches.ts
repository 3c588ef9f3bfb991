import { setTimeout as sleep } from 'node:timers/promises';
import type { Services } from '../../../../kernel/services.ts';
import { asUnavailable, isAway } from '../../../../kernel/unavailable.ts';
import type { BatchInput, BatchResult } from '../../frontier/batch.ts';
import { commitBatch } from '../../frontier/commit-batch.ts';
import type { Outcome } from '../../frontier/outcome.ts';
import { LostRun } from '../../frontier/run-row.ts';
import { FrontierStatistics } from '../../frontier/statistics.ts';
import type { CrawlTiming, LoopOptions } from './loop-options.ts';
import { mostUnwritten, type OutcomeBuffer } from './outcome-buffer.ts';
import type { Requests } from './requests.ts';
import type { Shutdown } from './shutdown.ts';

/** What the counters and the wishes of others mean for the run. */
function applyStopConditions(
  ending: Shutdown,
  { open, timing }: Pick<LoopOptions, 'open' | 'timing'>,
  { stop, counts }: BatchResult,
): void {
  if (stop === 'cancel') ending.stop('cancel');
  else if (stop === 'stop') ending.endWith({ status: 'stopped', reason: 'user', message: null }, timing.stop);
  const { max_errors } = open.limits.budget;
  if (counts.errors <= max_errors) return;
  const message = `${counts.errors} errors, more than the ${max_errors} of max_errors`;
  ending.endWith({ status: 'failed', reason: 'max_errors', message }, 0);
}

/** Tries of a turn that fails for another reason than a database that is away. */
const mostFaults = 3;
/** Milliseconds between two tries. */
const retryDelay = 500;

/**
 * Takes a turn. A database that is away for a moment must cost nothing: the same results are written when it is back.
 * @param isOver whether there is no time to wait for it
 * @returns also the census, which was taken anew when a try was interrupted and nobody knew what had been written
 */
async function commitWithRetry(
  services: Services,
  input: BatchInput,
  isOver: () => boolean,
): Promise<{ result: BatchResult; census: FrontierStatistics; wasInterrupted: boolean }> {
  let { census } = input;
  let wasInterrupted = false;
  for (let faults = 0; ; ) {
    try {
      const result = await commitBatch(services.orm.em.fork(), services, { ...input, census });
      return { result, census, wasInterrupted };
    } catch (thrown) {
      if (thrown instanceof LostRun) throw thrown;
      const error = asUnavailable(thrown);
      if (!isAway(error)) faults += 1;
      if (faults >= mostFaults || isOver()) throw thrown;
      services.log.warn({ err: error, run: input.run.id }, 'results of a crawl could not be written; trying again');
      wasInterrupted = true;
      await sleep(retryDelay);
      census = await FrontierStatistics.take(services.orm.em.fork(), input.run.id).catch(() => census);
    }
  }
}

/** Counts what a turn has written. @param milliseconds it took */
function reportBatch(
  metrics: Services['metrics'],
  outcomes: readonly Outcome[],
  { held }: BatchResult,
  milliseconds: number,
): void {
  const counts: Record<string, number> = {};
  for (const { state } of outcomes) counts[state] = (counts[state] ?? 0) + 1;
  metrics.crawlTurn({
    seconds: milliseconds / 1_000,
    outcomes: counts,
    captured: outcomes.filter(({ state, sha256 }) => state === 'done' && sha256 !== null).length,
    bytes: outcomes.reduce((sum, { bytes_wire }) => sum + bytes_wire, 0),
    slowed: held.size,
  });
}

/** Milliseconds that are looked back on. */
const span = 30_000;

/** How many requests a second a run makes, over the last half minute. */
class RequestRate {
  #samples: { at: number; count: number }[] = [];
  readonly #began: number;
  readonly #now: () => number;

  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
    this.#began = now();
  }

  count(requests: number): void {
    if (requests > 0) this.#samples.push({ at: this.#now(), count: requests });
  }

  perSecond(): number {
    const now = this.#now();
    const old = this.#samples.findIndex(({ at }) => at > now - span);
    this.#samples = old === -1 ? [] : this.#samples.slice(old);
    const all = this.#samples.reduce((sum, { count }) => sum + count, 0);
    const seconds = Math.max(1_000, Math.min(span, now - this.#began)) / 1_000;
    return Math.round((all / seconds) * 10) / 10;
  }
}

/** Milliseconds between claims, at least, and at most when they give nothing though some host may be asked. */
const soonest = 15;
const latest = 1_000;

/** When the next turn of a slice has to be taken, and when it may claim again. */
class BatchTimer {
  readonly #timing: CrawlTiming;
  #last: number | null = null;
  #claimAt = 0;
  /** Claims in a row that gave nothing, though some host may be asked. */
  #empty = 0;

  constructor(timing: CrawlTiming) {
    this.#timing = timing;
  }

  /** No turn was taken yet, or none for long. */
  get isOverdue(): boolean {
    return this.#last === null || performance.now() - this.#last >= this.#timing.idle;
  }

  get mayClaim(): boolean {
    return performance.now() >= this.#claimAt;
  }

  get claimAt(): number {
    return this.#claimAt;
  }

  /** A turn is over. @param wanted URLs it was to claim */
  took({ slots, wait }: Pick<BatchResult, 'slots' | 'wait'>, wanted: number): void {
    this.#last = performance.now();
    this.#empty = slots.length > 0 || wanted === 0 ? 0 : this.#empty + 1;
    const retryDelay = Math.min(soonest * 2 ** this.#empty, latest);
    this.#claimAt = this.#last + Math.min(Math.max(wait ?? 0, retryDelay), this.#timing.idle);
  }
}

/** What a turn of a slice is given. */
function batchInput(
  { open, snapshot, hosts, context, takeLog }: LoopOptions,
  given: Pick<BatchInput, 'census' | 'outcomes' | 'want' | 'rate'>,
): BatchInput {
  const { id, project_id, epoch } = open.run;
  const { site } = context.discovery;
  return {
    ...given,
    run: { id, project_id, epoch, snapshot_id: snapshot.id, base_id: snapshot.base_id },
    budget: open.limits.budget,
    delayOf: (host) => Math.max(open.limitsOf(host).delay, site.crawlDelay(host)),
    isDown: (host) => hosts.isDown(host),
    log: takeLog(),
  };
}

/** Leased URLs for each worker, and those leased at a time. */
const perWorker = 8;
const mostLeased = 100;

interface Parts {
  ending: Shutdown;
  unwritten: OutcomeBuffer;
  requests: Requests;
}

/** The turns of a slice: each writes what requests have come to, and leases the next URLs. */
export class BatchWriter {
  readonly #options: LoopOptions;
  readonly #parts: Parts;
  readonly #clock: BatchTimer;
  readonly #rate = new RequestRate();
  #census: FrontierStatistics;
  #writing = 0;
  #last: BatchResult | null = null;
  #prepared = Promise.resolve();
  /** Somebody wants the run to stop. */
  #isAsked = false;

  constructor(options: LoopOptions, parts: Parts) {
    this.#options = options;
    this.#parts = parts;
    this.#census = options.census;
    this.#clock = new BatchTimer(options.timing);
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
    reportBatch(this.#options.services.metrics, outcomes, result, performance.now() - began);
    this.#rate.count(outcomes.filter(({ sent }) => sent).length);
    this.#last = result;
    this.#clock.took(result, want);
    for (const host of result.down) await this.#options.hosts.note(host, { is_down: true });
    // What the last turn leased waits in the queue by now, so that nothing is asked of a host that is held.
    await this.#prepared;
    requests.putBack((host) => result.held.has(host) || this.#options.hosts.isDown(host));
    this.#prepared = requests.prepare(result.slots);
    applyStopConditions(this.#parts.ending, this.#options, result);
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

  async #persist(outcomes: readonly Outcome[], want: number): Promise<BatchResult> {
    const { services, timing } = this.#options;
    const { ending } = this.#parts;
    const known = { census: this.#census, rate: this.#rate.perSecond() };
    const input = batchInput(this.#options, { outcomes, want, ...known });
    const { result, census, wasInterrupted } = await commitWithRetry(services, input, () => ending.isStopping);
    this.#census = census;
    // What was leased by a turn nobody heard the end of goes back with the next slice.
    if (wasInterrupted && !ending.isNear) ending.windUp(timing.drain);
    return result;
  }
}
