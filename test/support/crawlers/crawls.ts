import { expect } from 'vitest';
import { Crawler } from '../../../src/domain/crawlers/config/crawler.entity.ts';
import { type CrawlTiming, usualTiming } from '../../../src/domain/crawlers/crawl/loop/loop-options.ts';
import { workOnRun } from '../../../src/domain/crawlers/crawl/work-on-run.ts';
import { CrawlUrl } from '../../../src/domain/crawlers/frontier/crawl-url.entity.ts';
import { skipCounter } from '../../../src/domain/crawlers/frontier/ledger.ts';
import { CrawlerRun } from '../../../src/domain/crawlers/runs/crawler-run.entity.ts';
import { queueRun, type RunRequest } from '../../../src/domain/crawlers/runs/queue-run.ts';
import type { TestApp } from '../app.ts';

export const crawlersPath = '/api/v2/organizations/acme/projects/site/crawlers';

/** A try again comes at once, near enough. */
export const quick: CrawlTiming = { ...usualTiming, firstRetry: 5, robotsRetry: 5 };

/**
 * Makes a crawler that asks as fast as it may. @param organization with a project `site`; `token` is one of its own
 * @returns its number
 */
export async function makeCrawler(
  app: TestApp,
  host: string,
  settings: object = {},
  { organization = 'acme', token = app.token } = {},
): Promise<number> {
  const body = { domain: `http://${host}`, delay: 0, workers: 8, max_html: 0, ...settings };
  const at = crawlersPath.replace('acme', organization);
  const created = await app.ask('POST', at, { body, token });
  if (created.status !== 200) throw new Error(JSON.stringify(created.body));
  return created.body.id;
}

/** Queues a run as a caller of the API would. @returns its number */
export async function queue(app: TestApp, crawler_id: number, request: Partial<RunRequest> = {}): Promise<number> {
  const em = app.services.orm.em.fork();
  const crawler = await em.findOneOrFail(Crawler, { id: crawler_id });
  const run = await em.transactional((within) =>
    queueRun(within, app.services, crawler, { trigger: 'api', ...request }),
  );
  if (!run) throw new Error('ten runs wait already');
  return run.id;
}

export const runOf = (app: TestApp, id: number) => app.services.orm.em.fork().findOneOrFail(CrawlerRun, { id });

export const urlsOf = (app: TestApp, run_id: number) =>
  app.services.orm.em.fork().find(CrawlUrl, { run_id }, { orderBy: { id: 'asc' } });

/** Works on a run until it has ended. */
export async function workThrough(app: TestApp, run_id: number, timing: CrawlTiming = quick): Promise<CrawlerRun> {
  for (;;) {
    await workOnRun(app.services, run_id, timing);
    const run = await runOf(app, run_id);
    if (run.completed_at) return run;
  }
}

/** Runs a crawler with these settings to its end. */
export async function crawl(app: TestApp, host: string, settings: object = {}): Promise<CrawlerRun> {
  const run = await workThrough(app, await queue(app, await makeCrawler(app, host, settings)));
  await expectCountsOfRows(app, run.id);
  return run;
}

/** The counters of a run are exactly what its rows say. */
export async function expectCountsOfRows(app: TestApp, run_id: number): Promise<void> {
  const [{ counts }, rows] = await Promise.all([runOf(app, run_id), urlsOf(app, run_id)]);
  const of = (test: (row: CrawlUrl) => boolean) => rows.filter(test).length;
  const isCaptured = (row: CrawlUrl) => row.state === 'done' && row.sha256 != null;
  const isHtml = (row: CrawlUrl) => row.kind === 'page' && /^text\/html/.test(row.content_type ?? '');
  const skipped = (counter: string) =>
    of(({ state, rule }) => state === 'skipped' && skipCounter(rule ?? '') === counter);
  expect(counts).toMatchObject({
    pending: of(({ state }) => state === 'pending'),
    leased: of(({ state }) => state === 'leased'),
    errors: of(({ state }) => state === 'error'),
    captured: of(isCaptured),
    html: of((row) => isCaptured(row) && isHtml(row)),
    assets: of((row) => isCaptured(row) && !isHtml(row) && row.kind !== 'sitemap'),
    redirects: of(({ state, redirect_to }) => state === 'done' && redirect_to != null),
    broken: of(
      ({ state, http_status, sha256 }) => state === 'done' && sha256 == null && [404, 410].includes(http_status ?? 0),
    ),
    requests: rows.reduce((sum, { attempts }) => sum + attempts, 0),
    new: of(({ change }) => change === 'new'),
    changed: of(({ change }) => change === 'changed'),
    unchanged_304: of(({ change }) => change === 'unchanged_304'),
    unchanged_hash: of(({ change }) => change === 'unchanged_hash'),
    skipped_robots: skipped('skipped_robots'),
    skipped_filter: skipped('skipped_filter'),
    skipped_scope: skipped('skipped_scope'),
    skipped_trap: skipped('skipped_trap'),
    skipped_limit: skipped('skipped_limit'),
  });
}
