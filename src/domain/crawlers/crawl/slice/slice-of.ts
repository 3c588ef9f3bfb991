import type { Services } from '../../../services.ts';
import { Census } from '../../frontier/census.ts';
import type { LogLine } from '../../runs/run-feed.ts';
import { RequestBudget } from '../browser/request-budget.ts';
import { RunBrowser } from '../browser/run-browser.ts';
import { QueryTraps } from '../discover/query-traps.ts';
import { SeenUrls } from '../discover/seen-urls.ts';
import type { FetchContext } from '../fetch/fetch-context.ts';
import { OutlinkStore } from '../fetch/outlink-store.ts';
import type { OpenRun } from '../open/open-run.ts';
import { requestHash } from '../open/request-headers.ts';
import type { RunHosts } from '../open/run-hosts.ts';
import type { RunSite } from '../open/run-site.ts';
import type { CrawlTiming } from '../timing.ts';
import { ServerLimits } from './server-limits.ts';
import { Slice } from './slice.ts';

/** What a slice is put together from. */
export interface SliceParts {
  services: Services;
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
  return (host) => (site.isOwn(host) ? own : others);
}

/** A slice of a run that has begun, with what the run has come across before. */
export async function sliceOf(
  { services, open, hosts, timing, log, userAgent }: SliceParts,
  site: RunSite,
): Promise<Slice> {
  const { run, limits } = open;
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
    userAgent === null ? null : new RunBrowser({ services, run, snapshot, budget, outlinks, atOnce: limits.workers });
  const cookies = services.crawling.cookiesOf(run.id);
  return new Slice({
    services,
    crawling: services.crawling,
    open,
    snapshot,
    hosts,
    timing,
    census: await Census.take(em, run.id),
    takeLog: () => log.splice(0),
    serverLimit: (urls, bytes) => serverLimits.reached(urls, bytes),
    context: {
      services,
      fetcher: services.fetcher,
      reader: services.pages,
      run,
      settings: run.settings,
      discovery: {
        site,
        seen: new SeenUrls(),
        traps,
        depth: limits.budget.depth < 0 ? services.settings.crawl.max_depth : limits.budget.depth,
        say: (line) => log.push(line),
      },
      outlinks,
      policy: open.policy,
      headersFor: headersIn(open, site, browser?.isMode ? userAgent : null),
      browser,
      cookies,
      sitemaps: { known: snapshot.sitemaps },
      maxBody: services.settings.crawl.max_body_bytes,
      firstRetry: timing.firstRetry,
      async adopt(host) {
        if (await site.adopt(host)) await hosts.note(host, { is_sibling: true });
      },
      throttled: new Map(),
    },
  });
}
