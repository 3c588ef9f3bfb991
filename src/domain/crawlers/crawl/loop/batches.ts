import { setTimeout as sleep } from 'node:timers/promises';
import type { Services } from '../../../../kernel/services.ts';
import { asUnavailable, isAway } from '../../../../kernel/unavailable.ts';
import { settleAll } from '../../../../lib/concurrency.ts';
import type { CrawlerServices } from '../../crawlers.ts';
import type { BatchInput, BatchResult } from '../../frontier/batch.ts';
import { commitBatch } from '../../frontier/commit-batch.ts';
import type { Outcome } from '../../frontier/outcome.ts';
import { LostRun } from '../../frontier/run-row.ts';
import { FrontierStatistics } from '../../frontier/statistics.ts';
import type { CrawlTiming, LoopOptions } from './loop-options.ts';
import { mostUnwritten, type OutcomeBuffer } from './outcome-buffer.ts';
import type { Requests } from './requests.ts';
import type { Shutdown } from './shutdown.ts';

/** Ends the run by its counters and by requests to stop it. */
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

/** Attempts at a batch that fails for another reason than an unreachable database. */
const mostFaults = 3;
/** Milliseconds between attempts. */
const retryDelay = 500;

/**
 * Commits a batch. A database that is away for a moment must cost nothing: the same results are written when it is back.
 * @param isOver whether there is no time to wait for it
 * @returns also the statistics, read again when an attempt was interrupted and may or may not have committed
 */
async function commitWithRetry(
  services: CrawlerServices,
  input: BatchInput,
  isOver: () => boolean,
): Promise<{ result: BatchResult; statistics: FrontierStatistics; wasInterrupted: boolean }> {
  let { statistics } = input;
  let wasInterrupted = false;
  for (let faults = 0; ; ) {
    try {
      const result = await commitBatch(services.orm.em.fork(), services, { ...input, statistics });
      return { result, statistics, wasInterrupted };
    } catch (thrown) {
      if (thrown instanceof LostRun) throw thrown;
      const error = asUnavailable(thrown);
      if (!isAway(error)) faults += 1;
      if (faults >= mostFaults || isOver()) throw thrown;
      services.log.warn({ err: error, run: input.run.id }, 'results of a crawl could not be written; trying again');
      wasInterrupted = true;
      await sleep(retryDelay);
      statistics = await FrontierStatistics.take(services.orm.em.fork(), input.run.id).catch(() => statistics);
    }
  }
}

/** Metrics of a committed batch. @param milliseconds it took */
function reportBatch(
  metrics: Services['metrics'],
  outcomes: readonly Outcome[],
  { held }: BatchResult,
  milliseconds: number,
): void {
  const counts: Record<string, number> = {};
  for (const { state } of outcomes) counts[state] = (counts[state] ?? 0) + 1;
  metrics.crawlBatch({
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
  readonly #began = performance.now();

  count(requests: number): void {
    if (requests > 0) this.#samples.push({ at: performance.now(), count: requests });
  }

  perSecond(): number {
    const now = performance.now();
    const old = this.#samples.findIndex(({ at }) => at > now - span);
    this.#samples = old === -1 ? [] : this.#samples.slice(old);
    const all = this.#samples.reduce((sum, { count }) => sum + count, 0);
    const seconds = Math.max(1_000, Math.min(span, now - this.#began)) / 1_000;
    return Math.round((all / seconds) * 10) / 10;
  }
}

/** Milliseconds between claims: the least, and the most when claims return nothing though some host is free. */
const soonest = 15;
const latest = 1_000;

/** When the next batch is due, and when it may claim URLs again. */
class BatchTimer {
  readonly #timing: CrawlTiming;
  #last: number | null = null;
  #claimAt = 0;
  /** Consecutive claims that returned nothing though some host was free. */
  #empty = 0;

  constructor(timing: CrawlTiming) {
    this.#timing = timing;
  }

  /** No batch was committed yet, or none for long. */
  get isOverdue(): boolean {
    return this.#last === null || performance.now() - this.#last >= this.#timing.idle;
  }

  get mayClaim(): boolean {
    return performance.now() >= this.#claimAt;
  }

  get claimAt(): number {
    return this.#claimAt;
  }

  /** Records a committed batch. @param wanted URLs it was to claim */
  took({ slots, wait }: Pick<BatchResult, 'slots' | 'wait'>, wanted: number): void {
    this.#last = performance.now();
    this.#empty = slots.length > 0 || wanted === 0 ? 0 : this.#empty + 1;
    const retryDelay = Math.min(soonest * 2 ** this.#empty, latest);
    this.#claimAt = this.#last + Math.min(Math.max(wait ?? 0, retryDelay), this.#timing.idle);
  }
}

/** The input of one batch. */
function batchInput(
  { open, snapshot, hosts, context, takeLog }: LoopOptions,
  given: Pick<BatchInput, 'statistics' | 'outcomes' | 'want' | 'rate'>,
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

/** The batches of a crawl loop: each writes outcomes of requests and leases the next URLs. */
export class BatchWriter {
  readonly #options: LoopOptions;
  readonly #parts: Parts;
  readonly #clock: BatchTimer;
  readonly #rate = new RequestRate();
  #statistics: FrontierStatistics;
  #writing = 0;
  #last: BatchResult | null = null;
  #prepared = Promise.resolve();
  /** A request to stop the run may have been stored. */
  #checksStop = false;

  constructor(options: LoopOptions, parts: Parts) {
    this.#options = options;
    this.#parts = parts;
    this.#statistics = options.statistics;
    this.#clock = new BatchTimer(options.timing);
  }

  /** Makes a batch due, which reads whether the run is to stop. */
  look(): void {
    this.#checksStop = true;
  }

  /** Nothing of the run is left to be done. */
  get isDone(): boolean {
    return this.#last !== null && this.#statistics.isEmpty;
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
    if (unwritten.isFull || this.#checksStop) return true;
    const isOld = performance.now() - unwritten.since >= this.#options.timing.flush;
    // With nothing to ask for, what the results lead to is worth more than a large batch.
    if (count > 0 && (isOld || requests.isStarved)) return true;
    return this.#clock.isOverdue || (this.#isLow && this.#clock.mayClaim);
  }

  /** More may be leased. */
  get #isLow(): boolean {
    const { workers } = this.#options.open.limits;
    const isLow = this.#parts.requests.waiting < workers && this.#statistics.waiting.size > 0;
    return isLow && !this.#parts.ending.isNear && this.hasRoom;
  }

  /** Milliseconds until the next batch is due. */
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
    this.#checksStop = false;
    // While blobs are kept, so that what other runs have stored costs no wait of its own.
    await settleAll([this.#checkServer(), kept]);
    const want = this.#wanted;
    const began = performance.now();
    const result = await this.#persist(outcomes, want);
    this.#writing = 0;
    reportBatch(this.#options.services.metrics, outcomes, result, performance.now() - began);
    this.#rate.count(outcomes.filter(({ sent }) => sent).length);
    this.#last = result;
    this.#clock.took(result, want);
    for (const host of result.down) await this.#options.hosts.note(host, { is_down: true });
    // URLs leased by the last batch are in the queue by now, so those of a held host can be put back before a request is sent.
    await this.#prepared;
    requests.putBack((host) => result.held.has(host) || this.#options.hosts.isDown(host));
    this.#prepared = requests.prepare(result.slots);
    applyStopConditions(this.#parts.ending, this.#options, result);
  }

  /** A limit of the server that is reached ends the run. */
  async #checkServer(): Promise<void> {
    const { serverLimit, timing, open } = this.#options;
    const { bytes_stored } = this.#last?.counts ?? open.run.counts;
    const message = await serverLimit(this.#statistics.total, bytes_stored).catch(() => null);
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
    const known = { statistics: this.#statistics, rate: this.#rate.perSecond() };
    const input = batchInput(this.#options, { outcomes, want, ...known });
    const { result, statistics, wasInterrupted } = await commitWithRetry(services, input, () => ending.isStopping);
    this.#statistics = statistics;
    // Leases of a batch whose commit was not confirmed are put back when the next loop begins.
    if (wasInterrupted && !ending.isNear) ending.windUp(timing.drain);
    return result;
  }
}
