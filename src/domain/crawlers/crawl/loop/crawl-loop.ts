import { setImmediate as nextIteration } from 'node:timers/promises';
import type { EntityManager } from '@mikro-orm/postgresql';
import type { Services } from '../../../../kernel/services.ts';
import { executeBound } from '../../../../kernel/sql.ts';
import { settleAll } from '../../../../lib/concurrency.ts';
import { Notifier } from '../../../../lib/timing.ts';
import type { CrawlerServices } from '../../crawlers.ts';
import { LostRun } from '../../frontier/run-row.ts';
import { FrontierStatistics } from '../../frontier/statistics.ts';
import type { LogLine } from '../../runs/run-feed.ts';
import { RequestBudget } from '../browser-session.ts';
import type { StopReason } from '../crawling.ts';
import { QueryTraps, SeenUrls } from '../discover.ts';
import type { FetchContext } from '../fetch/fetch-context.ts';
import { hasOutlinks, OutlinkStore } from '../fetch/outlinks.ts';
import { type OpenRun, requestHash } from '../open/open-run.ts';
import type { RunHosts } from '../open/open-site.ts';
import type { RunSite } from '../open/run-site.ts';
import { RunBrowser } from '../run-browser.ts';
import { BatchWriter } from './batches.ts';
import type { CrawlTiming, LoopOptions } from './loop-options.ts';
import { OutcomeBuffer } from './outcome-buffer.ts';
import { Requests } from './requests.ts';
import { type LoopEnd, Shutdown } from './shutdown.ts';

/** Works on a run for a while: fetches what is leased, and writes what has become of it with what it leads to. */
export class CrawlLoop {
  readonly #options: LoopOptions;
  readonly #requests: Requests;
  readonly #batches: BatchWriter;
  readonly #notifier = new Notifier();
  readonly #ending = new Shutdown(this.#notifier);
  readonly #began = performance.now();

  constructor(options: LoopOptions) {
    this.#options = options;
    const { context: given, services } = options;
    const unwritten = new OutcomeBuffer({
      needs: hasOutlinks,
      keep: (outcomes) => given.outlinks.keep(outcomes, services.log),
    });
    const parts = { ending: this.#ending, notifier: this.#notifier, unwritten };
    const context = { ...given, signal: this.#ending.signal };
    this.#requests = new Requests(options, { ...parts, context, answered: () => this.#pump() });
    this.#batches = new BatchWriter(options, { ...parts, requests: this.#requests });
  }

  /** Reads with the next batch whether the run is to stop. */
  look(): void {
    this.#batches.look();
    this.#notifier.notify();
  }

  /** Ends the loop. */
  stop(reason: StopReason): void {
    this.#ending.stop(reason);
  }

  async work(): Promise<LoopEnd> {
    const beat = setInterval(() => this.#notifier.notify(), this.#options.timing.idle);
    try {
      for (;;) {
        if (this.#ending.isLost) return { kind: 'lost' };
        if (!this.#batches.isDue) this.#pump();
        const { isDue } = this.#batches;
        // The batch's statements are sent before requests begin, so that database and network work at the same time.
        if (isDue) await settleAll([this.#batches.take(), nextIteration().then(() => this.#pump())]);
        const end = this.#isQuiet ? this.#ending.end(this.#batches.isDone) : null;
        if (end) return end;
        if (!isDue) await this.#notifier.wait(this.#batches.patience);
      }
    } catch (error) {
      if (error instanceof LostRun) return { kind: 'lost' };
      throw error;
    } finally {
      clearInterval(beat);
      this.#ending.breakOff();
    }
  }

  /** Nothing is under way, and everything is written. */
  get #isQuiet(): boolean {
    return this.#batches.unwritten + this.#requests.waiting === 0;
  }

  /** Starts what may start. */
  #pump(): void {
    const { timing } = this.#options;
    const ending = this.#ending;
    if (!ending.isNear && performance.now() - this.#began > timing.budget) ending.windUp(timing.stop);
    if (ending.isStopping) ending.windUpOnce(timing.drain);
    if (ending.isNear) {
      this.#requests.putBack();
      ending.breakOffLate();
    } else this.#requests.pump(() => this.#batches.hasRoom);
  }
}

/** What the snapshots of an organisation took when they were added up, and what its runs had stored by then. */
interface SpaceTaken {
  /** Of all contents, each counted once however many snapshots hold it. */
  bytes: number;
  /** Other runs that had not ended. */
  open: number[];
  /** What these had stored; all of it is among `bytes`. */
  stored: number;
  /** The last run there was: later ones had stored nothing. */
  newest: number;
}

const spaceSql = `
  with open as (
    select crawler_run.id, (counts ->> 'bytes_stored')::bigint as stored from crawler_run join project on project.id = project_id
    where organization_id = $1 and crawler_run.id <> $2 and status in ('queued', 'provisioning', 'running')),
  entry as materialized (
    select sha256, snapshot_entry.bytes, octet_length(headers::text) as header_bytes from snapshot_entry
      join snapshot on snapshot.id = snapshot_id join crawler on crawler.id = crawler_id join project on project.id = project_id
    where organization_id = $1 and run_id <> $2)
  select (select coalesce(sum(header_bytes), 0) from entry)
      + (select coalesce(sum(bytes), 0) from (select distinct on (sha256) bytes from entry where sha256 is not null) as once) as bytes,
    array(select id from open) as open, (select coalesce(sum(stored), 0) from open) as stored,
    (select coalesce(max(id), 0) from crawler_run) as newest`;

/**
 * What the snapshots of an organisation take, each content once and all headers: what its quota is about. Reads every entry, so it is read once for a crawl loop, not for each batch.
 *
 * @param run_id a run whose own snapshot does not count, because it counts itself what it adds
 */
export async function spaceTaken(em: EntityManager, organization_id: number, run_id: number): Promise<SpaceTaken> {
  const [row] = await executeBound<Record<keyof SpaceTaken, unknown>>(em, spaceSql, [organization_id, run_id]);
  if (!row) throw new Error('a statement of sums has answered no row');
  return {
    bytes: Number(row.bytes),
    open: row.open as number[],
    stored: Number(row.stored),
    newest: Number(row.newest),
  };
}

/**
 * What other runs have stored that had not ended when the space was added up, or came later. One that was being queued at that moment is in neither
 * set, and found by its status.
 */
const storedSql = `
  select coalesce(sum((counts ->> 'bytes_stored')::bigint), 0) as bytes from crawler_run join project on project.id = project_id
  where organization_id = $1 and crawler_run.id <> $2
    and (crawler_run.id = any($3::integer[]) or crawler_run.id > $4 or status in ('provisioning', 'running'))`;

/** What one run may take of the server, whatever its crawler says. */
export const serverCaps = { milliseconds: 72 * 3600_000, bytes: 20 * 2 ** 30, urls: 2_000_000 };

/** Looks whether a run has reached a limit of the server. */
export class ServerLimits {
  readonly #services: Pick<Services, 'orm' | 'clock'>;
  readonly #open: OpenRun;
  #taken: SpaceTaken | null = null;

  constructor(services: Pick<Services, 'orm' | 'clock'>, open: OpenRun) {
    this.#services = services;
    this.#open = open;
  }

  /**
   * The limit that is reached, in words; null: none is.
   * @param urls of the run, in any state
   * @param bytes it has stored
   */
  async reached(urls: number, bytes: number): Promise<string | null> {
    const { run, quota } = this.#open;
    const age = this.#services.clock.now().getTime() - (run.started_at?.getTime() ?? Number.POSITIVE_INFINITY);
    if (age > serverCaps.milliseconds) return 'The run takes longer than 72 hours';
    if (urls > serverCaps.urls) return `The run has more than ${serverCaps.urls} URLs`;
    if (bytes > serverCaps.bytes) return 'The run has stored more than 20 GiB';
    if (quota === null || (await this.#storedByOthers()) + bytes <= quota) return null;
    return 'The organisation has no room left for snapshots';
  }

  /**
   * Bytes of the organisation's snapshots but this run's own. They are added up once for a loop; what other runs, of any server, have stored since
   * is on their rows, where each batch counts what it stores.
   */
  async #storedByOthers(): Promise<number> {
    const { organization_id, run } = this.#open;
    const em = this.#services.orm.em.fork();
    if (!this.#taken) {
      this.#taken = await spaceTaken(em, organization_id, run.id);
      return this.#taken.bytes;
    }
    const { bytes, open, stored, newest } = this.#taken;
    const [now] = await executeBound<{ bytes: string }>(em, storedSql, [organization_id, run.id, open, newest]);
    return bytes + Number(now?.bytes ?? 0) - stored;
  }
}

/** What a crawl loop is made of. */
interface CreateLoopOptions {
  services: CrawlerServices;
  open: OpenRun;
  hosts: RunHosts;
  timing: CrawlTiming;
  log: LogLine[];
  /** What Chromium calls itself; null: the run needs none. */
  userAgent: string | null;
}

/** Headers of a run's requests. @param userAgent of the browser that shows its pages; its crawler's own does not count then */
function headersIn({ headers, run }: OpenRun, site: RunSite, userAgent: string | null): FetchContext['headersFor'] {
  const { use_rendered_html } = run.settings.browser_config;
  const forms = [false, true].map((isOwn) => {
    const given = headers(isOwn);
    if (userAgent === null) return given;
    const hash = requestHash({ given: given.hash, stores: use_rendered_html ? 'dom' : 'body' });
    return { headers: { ...given.headers, 'user-agent': userAgent }, hash };
  });
  const [others, own] = forms as [(typeof forms)[number], (typeof forms)[number]];
  return (url) => (site.isTrusted(url) ? own : others);
}

/** The loop of a run that has begun, with the URLs it has found before. */
export async function createLoop(
  { services, open, hosts, timing, log, userAgent }: CreateLoopOptions,
  site: RunSite,
): Promise<CrawlLoop> {
  const { run, organization_id, limits } = open;
  const em = services.orm.em.fork();
  const [snapshot] = await em.execute<{ id: number; base_id: number | null; sitemaps: number }[]>(
    `select id, base_id, (select count(*)::integer from crawl_url where run_id = ? and kind = 'sitemap') as sitemaps
     from snapshot where id = ?`,
    [run.id, run.snapshot_id],
  );
  if (!snapshot) throw new Error(`run ${run.id} has no snapshot`);
  const traps = new QueryTraps();
  await traps.recall(em, run.id);
  const serverLimits = new ServerLimits(services, open);
  const budget = new RequestBudget(services, run, limits.budget.max_hits);
  const outlinks = new OutlinkStore(services.blobs);
  const browser =
    userAgent === null
      ? null
      : new RunBrowser({ services, run, organization_id, snapshot, budget, outlinks, atOnce: limits.workers });
  const cookies = services.crawlers.crawling.cookiesOf(run.id);
  return new CrawlLoop({
    services,
    crawling: services.crawlers.crawling,
    open,
    snapshot,
    hosts,
    timing,
    statistics: await FrontierStatistics.take(em, run.id),
    takeLog: () => log.splice(0),
    serverLimit: (urls, bytes) => serverLimits.reached(urls, bytes),
    context: {
      services,
      fetcher: services.fetcher,
      reader: { read: (page) => services.pages.read(page, String(organization_id)) },
      run,
      settings: run.settings,
      discovery: {
        site,
        seen: new SeenUrls(),
        traps,
        depth: limits.budget.depth < 0 ? services.crawlers.limits.max_depth : limits.budget.depth,
        say: (line) => log.push(line),
      },
      outlinks,
      policy: open.policy,
      headersFor: headersIn(open, site, browser?.isMode ? userAgent : null),
      browser,
      cookies,
      sitemaps: { known: snapshot.sitemaps },
      maxBody: services.crawlers.limits.max_body_bytes,
      firstRetry: timing.firstRetry,
      async adopt(host) {
        if (await site.adopt(host)) await hosts.note(host, { is_sibling: true });
      },
      throttled: new Map(),
    },
  });
}
