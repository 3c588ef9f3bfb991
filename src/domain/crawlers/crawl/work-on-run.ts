import { setTimeout as sleep } from 'node:timers/promises';
import type { EntityManager } from '@mikro-orm/postgresql';
import { executeBound } from '../../../kernel/sql.ts';
import { asUnavailable, isAway } from '../../../kernel/unavailable.ts';
import type { CrawlerServices } from '../crawlers.ts';
import { LostRun } from '../frontier/run-row.ts';
import { acquireRun, heartbeatTimeout, keepAlive, releaseRun } from '../runs/acquire-run.ts';
import type { CrawlerRun, FinishReason, StopRequest } from '../runs/crawler-run.entity.ts';
import { endRun, limitIdleTransaction, lockCrawlerOf, type RunEnding } from '../runs/end-run.ts';
import { wakeRun } from '../runs/queue-run.ts';
import type { Crawl, StopReason } from './crawling.ts';
import { keepCookies } from './fetch/cookies.ts';
import { type CrawlLoop, createLoop } from './loop/crawl-loop.ts';
import { type CrawlTiming, usualTiming } from './loop/loop-options.ts';
import type { LoopEnd } from './loop/shutdown.ts';
import { openRun } from './open/open-run.ts';
import { openSite, RunHosts } from './open/open-site.ts';
import { startRun } from './open/provision.ts';

interface RunState {
  finish_reason: FinishReason | null;
  stop_requested: StopRequest | null;
  fetched: number;
  max_hits: number;
  max_html: number;
}

const runStateSql = `
  select finish_reason, stop_requested, urls.* from crawler_run, (
    select count(*) filter (where is_entry and state = 'done' and sha256 is not null)::integer as fetched,
      count(*) filter (where rule = 'max_hits' and state = 'skipped')::integer as max_hits,
      count(*) filter (where rule = 'max_html' and state = 'skipped')::integer as max_html
    from crawl_url where run_id = ?) as urls
  where id = ?`;

/** Why none of the URLs a run begins with could be had, by the example of the first. */
async function startFailure(em: EntityManager, run_id: number): Promise<string> {
  const [row] = await em.execute<{ url: string; why: string | null }[]>(
    `select url, coalesce(error_message, 'left out by ' || rule, 'the answer was ' || http_status) as why
     from crawl_url where run_id = ? and is_entry order by id limit 1`,
    [run_id],
  );
  return row
    ? `No URL to begin with could be fetched: ${row.url}: ${row.why ?? 'it led nowhere'}`
    : 'There is no URL to begin with';
}

/**
 * How a run ends, by its rows. A run whose cancellation was acknowledged ends as canceled, whatever else became of it: the caller
 * holds the lock of its crawler, so that no other cancellation is acknowledged until the end is written.
 */
async function finish(em: EntityManager, { id }: Pick<CrawlerRun, 'id'>, ending: RunEnding): Promise<RunEnding> {
  const [row] = await em.execute<RunState[]>(runStateSql, [id, id]);
  if (!row) return ending;
  if (row.stop_requested === 'cancel') {
    const reason = row.finish_reason === 'crawler_deleted' ? 'crawler_deleted' : 'user';
    return { status: 'canceled', reason, message: null };
  }
  if (ending.status !== 'completed') return ending;
  if (row.fetched === 0) return { status: 'failed', reason: 'start_failed', message: await startFailure(em, id) };
  if (row.max_hits > 0) return { ...ending, reason: 'max_hits' };
  return row.max_html > 0 ? { ...ending, reason: 'max_html' } : ending;
}

/** An active run whose heartbeat is missing, or the first queued run of a crawler without an active one. */
const isIdle = `
  (crawler_run.status in ('provisioning', 'running')
    and (crawler_run.heartbeat_at is null or crawler_run.heartbeat_at < now() - interval '${heartbeatTimeout} seconds'))
  or (crawler_run.status = 'queued' and not exists (select 1 from crawler_run as other
    where other.crawler_id = crawler_run.crawler_id
      and (other.status in ('provisioning', 'running') or (other.status = 'queued' and other.id < crawler_run.id))))`;

/** How runs of an organisation get their workers: first runs that are to end, then the run that has waited longest. */
const sequence = 'crawler_run.stop_requested is null, crawler_run.updated_at, crawler_run.id';

const nextSql = `
  select crawler_run.id from crawler_run join project on project.id = project_id
  where organization_id = (select organization_id from crawler_run as run join project on project.id = run.project_id where run.id = ?)
    and (${isIdle})
  order by ${sequence} limit 1`;

/** The run that is next in the organisation of one that is given back: most often that itself. */
async function nextOf(em: EntityManager, { id }: Pick<CrawlerRun, 'id'>): Promise<number> {
  const [next] = await em.execute<{ id: number }[]>(nextSql, [id]);
  return next?.id ?? id;
}

/** Writes the end of a crawl loop: the run's final state, or its release for the next worker. */
async function conclude(services: CrawlerServices, run: CrawlerRun, end: LoopEnd): Promise<void> {
  const { orm, crawlers } = services;
  const { crawling } = crawlers;
  if (end.kind !== 'next') {
    crawling.forget(run.id);
    await services.browser.forget(run.id);
  }
  if (end.kind === 'lost') return;
  await orm.em.fork().transactional(async (em) => {
    await limitIdleTransaction(em);
    if (end.kind === 'ended') {
      await lockCrawlerOf(em, run.id);
      return void (await endRun(em, services, run, await finish(em, run, end.ending)));
    }
    await releaseRun(em, run);
    if (!crawling.closing) await wakeRun(em, services, await nextOf(em, run));
  });
}

const ended = (ending: RunEnding): LoopEnd => ({ kind: 'ended', ending });
const canceled: RunEnding = { status: 'canceled', reason: 'user', message: null };
const internal: RunEnding = { status: 'failed', reason: 'internal', message: 'A fault of the server, see its log' };
const browserUnavailable = (message: string): RunEnding => ({
  status: 'failed',
  reason: 'browser_unavailable',
  message,
});

/** What Chromium would have to do. */
const needsBrowser = ({ settings: { browser_mode, assets } }: CrawlerRun) =>
  browser_mode || assets.network_intercept.enabled;

/** One worker's time with a run. */
class Work {
  readonly #services: CrawlerServices;
  readonly #timing: CrawlTiming;
  readonly #abort = new AbortController();
  #loop: CrawlLoop | undefined;

  constructor(services: CrawlerServices, timing: CrawlTiming) {
    this.#services = services;
    this.#timing = timing;
  }

  stop(reason: StopReason): void {
    if (this.#loop) this.#loop.stop(reason);
    else this.#abort.abort(reason);
  }

  /** Brings the run to its first URLs, when it has not come so far, and works on it for a while. */
  async #work(run: CrawlerRun): Promise<LoopEnd> {
    const { signal } = this.#abort;
    const services = this.#services;
    const timing = this.#timing;
    const open = await openRun(services.orm.em.fork(), services, run, signal);
    if (!open) return ended({ ...canceled, reason: 'crawler_deleted' });
    const browser = needsBrowser(run) ? await services.browser.begin() : null;
    if (browser?.ok === false) return ended(browserUnavailable(browser.message));
    const userAgent = browser?.userAgent ?? null;
    const pause = (attempt: number) => sleep(attempt * timing.robotsRetry, undefined, { signal });
    const parts = { services, open, hosts: new RunHosts(services, run), timing, log: [], signal, pause, userAgent };
    const { site, failure } = await openSite(parts);
    if (run.status === 'provisioning') {
      if (failure) return ended(failure);
      await startRun(services, open, site, parts.log.splice(0));
    }
    const endCookies = await keepCookies(
      services,
      run,
      open.organization_id,
      services.crawlers.crawling.cookiesOf(run.id),
    );
    try {
      this.#loop = await createLoop(parts, site);
      if (signal.aborted) this.#loop.stop(signal.reason);
      return await this.#loop.work();
    } finally {
      await endCookies();
    }
  }

  async #begin(run: CrawlerRun): Promise<LoopEnd> {
    const { signal } = this.#abort;
    try {
      return await this.#work(run);
    } catch (thrown) {
      const error = asUnavailable(thrown);
      if (error instanceof LostRun) return { kind: 'lost' };
      if (signal.aborted) return signal.reason === 'cancel' ? ended(canceled) : { kind: 'next' };
      this.#services.log.error({ err: error, run: run.id }, 'a run could not go on');
      // Nothing can be written while the database is away: a worker that reaches it again continues the run.
      return isAway(error) ? { kind: 'lost' } : ended(internal);
    }
  }

  async on(run_id: number): Promise<boolean> {
    const services = this.#services;
    const run = await acquireRun(services.orm.em.fork(), run_id);
    if (!run) return false;
    if (run.takeovers > 0) services.metrics.crawlTakeover();
    const endBeat = keepAlive(services, run, (signal) => {
      if (signal === 'stop') this.#loop?.look();
      else this.stop(signal);
    });
    services.metrics.crawlRuns(1);
    const end = await this.#begin(run).finally(() => {
      services.metrics.crawlRuns(-1);
      endBeat();
    });
    await conclude(services, run, end);
    return true;
  }
}

const organizationSql = `
  select organization_id from crawler_run join project on project.id = project_id where crawler_run.id = $1`;

/**
 * Takes a place of this process for a run, at once when its organisation is known.
 * @returns gives it back; null: the organisation may have no other now
 */
async function takePlace(
  { orm, crawlers }: CrawlerServices,
  run_id: number,
  known: number | undefined,
): Promise<(() => void) | null> {
  const look = () => executeBound<Pick<Crawl, 'organization_id'>>(orm.em.fork(), organizationSql, [run_id]);
  const organization_id = known ?? (await look())[0]?.organization_id;
  return organization_id === undefined ? null : crawlers.crawling.takePlace({ run_id, organization_id });
}

/**
 * Works on a run for a while, unless another worker has it, or its organisation its share of this process: begins it, continues it, or ends it.
 * @param organization_id when it is known
 * @returns whether it was worked on
 */
export async function workOnRun(
  services: CrawlerServices,
  run_id: number,
  timing: CrawlTiming = usualTiming,
  organization_id?: number,
): Promise<boolean> {
  const { crawling } = services.crawlers;
  if (crawling.closing || crawling.has(run_id)) return false;
  const work = new Work(services, timing);
  return crawling.run(
    run_id,
    (reason) => work.stop(reason),
    async () => {
      const release = await takePlace(services, run_id, organization_id);
      return release ? work.on(run_id).finally(release) : false;
    },
  );
}

/**
 * Runs without a worker: round robin by organisation, first of organisations with the fewest runs here ($1 names the organisation of each).
 */
const idleSql = `
  select id, organization_id from (
    select crawler_run.id, crawler_run.updated_at, organization_id,
      row_number() over (partition by organization_id order by ${sequence})
        + (select count(*) from unnest($1::integer[]) as held where held = organization_id) as place
    from crawler_run join project on project.id = project_id where ${isIdle}) as idle
  order by place, updated_at, id limit $2`;

/** Works on a run beside whatever else happens, when this process has room for it. @param organization_id when it is known */
export function beginWork(services: CrawlerServices, run_id: number, organization_id?: number): void {
  const { log, crawlers } = services;
  const { crawling } = crawlers;
  if (crawling.room === 0) return;
  const begin = () => workOnRun(services, run_id, usualTiming, organization_id);
  // The job for its next loop may arrive before the last loop has ended.
  const begun = crawling.has(run_id) ? crawling.left(run_id).then(begin) : begin();
  begun.catch((err: unknown) => log.error({ err, run: run_id }, 'a run was left to others'));
}

/** Takes up runs without a worker: a process has died, a job was lost, or there was no capacity before. */
export async function takeUpRuns(services: CrawlerServices): Promise<void> {
  const { orm, crawlers } = services;
  const { crawling } = crawlers;
  if (crawling.room === 0) return;
  const values = [crawling.organizations, crawling.room];
  const idle = await executeBound<Pick<Crawl, 'organization_id'> & { id: number }>(orm.em.fork(), idleSql, values);
  for (const { id, organization_id } of idle) if (!crawling.has(id)) beginWork(services, id, organization_id);
}

/** Takes up at once what an earlier process left, when there can be no other one. */
export async function takeUpAllRuns(services: CrawlerServices): Promise<void> {
  await services.orm.em
    .fork()
    .execute(`update crawler_run set heartbeat_at = null where status in ('provisioning', 'running')`);
  await takeUpRuns(services);
}
