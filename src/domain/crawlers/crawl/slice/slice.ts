import { Bell } from '../../../bell.ts';
import { DomainError } from '../../../errors.ts';
import type { Services } from '../../../services.ts';
import type { Census } from '../../frontier/census.ts';
import type { ClaimedUrl } from '../../frontier/claim.ts';
import { breakOff, type Outcome, outcomeOf, putBack } from '../../frontier/outcome.ts';
import { LostRun } from '../../frontier/turn/turn.ts';
import type { TurnResult } from '../../frontier/turn/turn-input.ts';
import { takeSlotAgain } from '../../hosts/host-rows.ts';
import type { RunEnding } from '../../runs/end-run.ts';
import type { LogLine } from '../../runs/run-feed.ts';
import type { Crawling, SliceStop } from '../crawling.ts';
import { baseEntries } from '../fetch/base-entries.ts';
import type { FetchContext } from '../fetch/fetch-context.ts';
import { fetchUrl } from '../fetch/fetch-url.ts';
import type { OpenRun } from '../open/open-run.ts';
import type { RunHosts } from '../open/run-hosts.ts';
import type { CrawlTiming } from '../timing.ts';
import { persistTurn } from './persist-turn.ts';
import { RequestRate } from './request-rate.ts';
import { SlotQueue, type Waiting } from './slot-queue.ts';

/** How a slice ends: the run ends, the next slice goes on, or it is another's. */
export type SliceEnd = { kind: 'ended'; ending: RunEnding } | { kind: 'next' } | { kind: 'lost' };

/** Results that wait to be written, and requests under way, together: as many may be repeated after a crash. */
const mostUnwritten = 100;
/** Results that are written without waiting for more. */
const fullBatch = 40;
/** Leased URLs for each worker. */
const perWorker = 8;
/** Milliseconds between claims, at least, and at most when they give nothing though some host may be asked. */
const soonest = 15;
const latest = 1_000;
/** Milliseconds until a process that has all its requests under way is asked for another one. */
const enterAgain = 10;

export interface SliceOptions {
  services: Services;
  crawling: Crawling;
  open: OpenRun;
  snapshot: { id: number; base_id: number | null };
  context: Omit<FetchContext, 'signal'>;
  census: Census;
  timing: CrawlTiming;
  hosts: RunHosts;
  /** What happened beside the URLs, since it was last asked. */
  takeLog(): LogLine[];
  /** The limit of the server that is reached; null: none is. */
  serverLimit(urls: number, bytes: number): Promise<string | null>;
}

/** Works on a run for a while: fetches what is leased, and writes what has become of it with what it leads to. */
export class Slice {
  readonly #options: SliceOptions;
  readonly #queue: SlotQueue;
  readonly #abort = new AbortController();
  readonly #context: FetchContext;
  readonly #began = performance.now();
  #census: Census;
  #outcomes: Outcome[] = [];
  #oldest = 0;
  #inFlight = 0;
  #reading = 0;
  #writing = 0;
  /** Of the database's clock to this process's. */
  #offset = Date.now() - performance.now();
  #lastTurn = 0;
  #claimAt = 0;
  /** Claims in a row that gave nothing, though some host may be asked. */
  #empty = 0;
  /** When the next leased URL may be asked for. */
  #slotAt = Number.POSITIVE_INFINITY;
  /** Somebody wants the run to stop. */
  #isAsked = false;
  #stop: SliceStop | null = null;
  /** When requests under way are broken off; null: they are not. */
  #until: number | null = null;
  #ending: RunEnding | null = null;
  #last: TurnResult | null = null;
  readonly #rate = new RequestRate();
  readonly #bell = new Bell();

  constructor(options: SliceOptions) {
    this.#options = options;
    this.#census = options.census;
    const { context, open } = options;
    this.#context = { ...context, signal: this.#abort.signal };
    this.#queue = new SlotQueue((host) => open.limitsOf(host).inFlight);
  }

  /** Somebody wants the run to stop: the next turn says it. */
  look(): void {
    this.#isAsked = true;
    this.#bell.ring();
  }

  /** Has the slice end. */
  stop(reason: SliceStop): void {
    this.#stop ??= reason;
    if (reason !== 'stopping') this.#abort.abort(reason);
    this.#bell.ring();
  }

  async work(): Promise<SliceEnd> {
    const beat = setInterval(() => this.#bell.ring(), this.#options.timing.idle);
    try {
      for (;;) {
        if (this.#stop === 'lost') return { kind: 'lost' };
        this.#pump();
        const isDue = this.#isDue();
        if (isDue) await this.#turn();
        const end = this.#end();
        if (end) return end;
        if (!isDue) await this.#bell.heard(this.#patience());
      }
    } catch (error) {
      if (error instanceof LostRun) return { kind: 'lost' };
      throw error;
    } finally {
      clearInterval(beat);
      this.#abort.abort('over');
    }
  }

  get #isWindingUp(): boolean {
    return this.#until !== null || this.#ending !== null || this.#stop !== null;
  }

  /** Nothing is under way, and everything is written. */
  get #isQuiet(): boolean {
    return this.#inFlight + this.#reading + this.#writing + this.#outcomes.length + this.#queue.size === 0;
  }

  #end(): SliceEnd | null {
    if (!this.#isQuiet) return null;
    if (this.#stop === 'cancel')
      return { kind: 'ended', ending: { status: 'canceled', reason: 'user', message: null } };
    if (this.#ending) return { kind: 'ended', ending: this.#ending };
    if (this.#isWindingUp) return { kind: 'next' };
    if (!this.#last || !this.#census.isEmpty) return null;
    return { kind: 'ended', ending: { status: 'completed', reason: 'done', message: null } };
  }

  /** Starts what may start. */
  #pump(): void {
    const { crawling, open, timing } = this.#options;
    if (!this.#isWindingUp && performance.now() - this.#began > timing.slice) this.#windUp(timing.stop);
    if (this.#stop === 'stopping' && this.#until === null) this.#windUp(timing.drain);
    if (this.#isWindingUp) {
      for (const of of this.#queue.drop(() => true)) this.#settle(putBack(of));
      if (this.#until !== null && performance.now() > this.#until) this.#abort.abort('over');
      return;
    }
    this.#slotAt = Number.POSITIVE_INFINITY;
    while (this.#queue.size > 0 && this.#inFlight < open.limits.workers && this.#unwritten < mostUnwritten) {
      const next = this.#queue.next(performance.now() + this.#offset);
      if (next.kind === 'wait') {
        this.#slotAt = performance.now() + next.for;
        return;
      }
      if (next.kind === 'late') void this.#again(next.waiting);
      else if (crawling.enter()) void this.#fetch(next.waiting);
      else {
        this.#queue.leave(next.waiting.of.host);
        this.#queue.add([next.waiting]);
        this.#slotAt = performance.now() + enterAgain;
        return;
      }
    }
  }

  get #unwritten(): number {
    return this.#inFlight + this.#reading + this.#writing + this.#outcomes.length;
  }

  /** Lets what is under way come to its end, for so many milliseconds. */
  #windUp(milliseconds: number): void {
    this.#until = performance.now() + milliseconds;
    setTimeout(() => this.#bell.ring(), milliseconds + 1).unref();
  }

  /** Ends the run as soon as what is under way has been written. */
  #endWith(ending: RunEnding, milliseconds: number): void {
    if (this.#ending) return;
    this.#ending = ending;
    this.#windUp(milliseconds);
    if (milliseconds === 0) this.#abort.abort('over');
  }

  async #again(waiting: Waiting): Promise<void> {
    const { services, open } = this.#options;
    this.#reading += 1;
    try {
      const em = services.orm.em.fork();
      const start = await takeSlotAgain(em, open.run.project_id, waiting.of.host, waiting.gap);
      this.#queue.add([{ ...waiting, start }]);
    } catch (err) {
      services.log.debug({ err, run: open.run.id }, 'a slot could not be taken');
      this.#settle(putBack(waiting.of));
    }
    this.#reading -= 1;
    this.#bell.ring();
  }

  async #fetch({ of, base }: Waiting): Promise<void> {
    const { crawling } = this.#options;
    this.#inFlight += 1;
    let isUnderWay = true;
    const answered = () => {
      if (!isUnderWay) return;
      isUnderWay = false;
      this.#inFlight -= 1;
      this.#reading += 1;
      crawling.leave();
      this.#queue.leave(of.host);
      // The next is asked for at once, also while a turn waits for the database.
      this.#pump();
      this.#bell.ring();
    };
    const outcome = await fetchUrl(this.#context, of, base, answered).catch((error: unknown) => this.#fault(of, error));
    answered();
    this.#reading -= 1;
    this.#settle(outcome);
    this.#bell.ring();
  }

  /** A fault of ours while a URL was worked on: a full disk ends the run, anything else only the URL. */
  #fault(of: ClaimedUrl, error: unknown): Outcome {
    const { services, open } = this.#options;
    if (this.#abort.signal.aborted) return breakOff(of);
    services.log.warn({ err: error, run: open.run.id, url: of.url }, 'a URL of a crawl could not be worked on');
    if (error instanceof DomainError && error.code === 'unavailable') {
      this.#endWith({ status: 'stopped', reason: 'server_limit', message: error.message }, 0);
      return breakOff(of);
    }
    const error_message = 'A fault of the server, see its log';
    return outcomeOf(of, { state: 'error', error: 'internal', error_message });
  }

  #settle(outcome: Outcome): void {
    if (this.#outcomes.length === 0) this.#oldest = performance.now();
    this.#outcomes.push(outcome);
  }

  #isDue(): boolean {
    const now = performance.now();
    const { timing } = this.#options;
    const count = this.#outcomes.length;
    if (count >= fullBatch || this.#last === null || this.#isAsked) return true;
    if (count > 0 && (now - this.#oldest >= timing.flush || this.#inFlight + this.#reading === 0)) return true;
    if (now - this.#lastTurn >= timing.idle) return true;
    return this.#isLow && now >= this.#claimAt;
  }

  /** More may be leased. */
  get #isLow(): boolean {
    const { workers } = this.#options.open.limits;
    const isLow = this.#queue.size < workers && this.#census.waiting.size > 0;
    return isLow && !this.#isWindingUp && this.#unwritten < mostUnwritten;
  }

  /** Milliseconds until the next turn is due. */
  #patience(): number {
    const now = performance.now();
    const { timing } = this.#options;
    const flush = this.#outcomes.length > 0 ? this.#oldest + timing.flush - now : timing.idle;
    const claim = this.#isLow ? this.#claimAt - now : timing.idle;
    return Math.max(1, Math.min(flush, claim, this.#slotAt - now, timing.idle));
  }

  async #turn(): Promise<void> {
    const { open, services, snapshot } = this.#options;
    const outcomes = this.#outcomes.splice(0, mostUnwritten);
    this.#oldest = performance.now();
    this.#writing = outcomes.length;
    const log = this.#options.takeLog();
    const stored = this.#last?.counts.bytes_stored ?? 0;
    const limit = await this.#options.serverLimit(this.#census.total, stored).catch(() => null);
    if (limit !== null)
      this.#endWith({ status: 'stopped', reason: 'server_limit', message: limit }, this.#options.timing.stop);
    const room = Math.min(100, open.limits.workers * perWorker) - this.#queue.size;
    const want = this.#isWindingUp || room <= 0 || this.#options.crawling.isShortOfMemory ? 0 : room;
    await this.#keepOutlinks(outcomes);
    const began = performance.now();
    const result = await this.#persist(outcomes, want, log);
    this.#writing = 0;
    this.#report(outcomes, result, performance.now() - began);
    this.#rate.count(outcomes.filter(({ sent }) => sent).length);
    this.#last = result;
    this.#lastTurn = performance.now();
    this.#isAsked = false;
    this.#empty = result.slots.length > 0 || want === 0 ? 0 : this.#empty + 1;
    const again = Math.min(soonest * 2 ** this.#empty, latest);
    this.#claimAt = this.#lastTurn + Math.min(Math.max(result.wait ?? 0, again), this.#options.timing.idle);
    if (result.offset !== null) this.#offset = result.offset;
    for (const host of result.down) await this.#options.hosts.note(host, { is_down: true });
    for (const of of this.#queue.drop((host) => result.held.has(host) || this.#options.hosts.isDown(host)))
      this.#settle(putBack(of));
    await this.#take(result, snapshot.base_id, services);
    this.#decide(result);
  }

  #report(outcomes: readonly Outcome[], { held }: TurnResult, milliseconds: number): void {
    const counts: Record<string, number> = {};
    for (const { state } of outcomes) counts[state] = (counts[state] ?? 0) + 1;
    this.#options.services.metrics.crawlTurn({
      seconds: milliseconds / 1_000,
      outcomes: counts,
      captured: outcomes.filter(({ state, sha256 }) => state === 'done' && sha256 !== null).length,
      bytes: outcomes.reduce((sum, { bytes_wire }) => sum + bytes_wire, 0),
      slowed: held.size,
    });
  }

  async #take({ slots }: TurnResult, base_id: number | null, { orm, blobs }: Services): Promise<void> {
    const claimed = slots.map(({ of }) => of);
    const base =
      base_id === null || claimed.length === 0
        ? new Map()
        : await baseEntries(orm.em.fork(), blobs, base_id, claimed).catch(() => new Map());
    this.#queue.add(slots.map((slot) => ({ ...slot, base: base.get(slot.of.url) })));
  }

  /** What the counters and the wishes of others mean for the run. */
  #decide({ stop, counts }: TurnResult): void {
    const { open, timing } = this.#options;
    if (stop === 'cancel') this.stop('cancel');
    else if (stop === 'stop') this.#endWith({ status: 'stopped', reason: 'user', message: null }, timing.stop);
    const { max_errors } = open.limits.budget;
    if (counts.errors > max_errors) {
      const message = `${counts.errors} errors, more than the ${max_errors} of max_errors`;
      this.#endWith({ status: 'failed', reason: 'max_errors', message }, 0);
    }
  }

  /** One blob for all pages that are completed together. */
  async #keepOutlinks(outcomes: readonly Outcome[]): Promise<void> {
    const all = outcomes.flatMap((outcome) => [outcome, ...(outcome.beside?.outcomes ?? [])]);
    const pages = all.flatMap(({ of, outlinks, entry }) =>
      outlinks && entry && outlinks.links.length + outlinks.assets.length > 0 ? [{ url: of.url, outlinks, entry }] : [],
    );
    if (pages.length === 0) return;
    try {
      const sha256 = await this.#context.outlinks.put(pages);
      for (const { entry } of pages) entry.outlinks_sha256 = sha256;
    } catch (error) {
      // Without it these pages are only fetched whole the next time.
      this.#options.services.log.debug({ err: error }, 'links of pages were not kept');
    }
  }

  async #persist(outcomes: readonly Outcome[], want: number, log: readonly LogLine[]): Promise<TurnResult> {
    const { services, open, snapshot } = this.#options;
    const { run, limits } = open;
    const handle = { id: run.id, project_id: run.project_id, epoch: run.epoch, snapshot_id: snapshot.id };
    const site = this.#context.discovery.site;
    const delayOf = (host: string) => Math.max(open.limitsOf(host).delay, site.crawlDelay(host));
    const { result, census, wasInterrupted } = await persistTurn(
      services,
      {
        run: handle,
        census: this.#census,
        budget: limits.budget,
        outcomes,
        want,
        delayOf,
        isDown: (name) => this.#options.hosts.isDown(name),
        log,
        rate: this.#rate.perSecond(),
      },
      () => this.#stop === 'stopping',
    );
    this.#census = census;
    // What was leased by a turn nobody heard the end of goes back with the next slice.
    if (wasInterrupted && !this.#isWindingUp) this.#windUp(this.#options.timing.drain);
    return result;
  }
}
