import { expect, it, vi } from 'vitest';
import { CrawlLoop } from '../../../../src/domain/crawlers/crawl/loop/crawl-loop.ts';
import { takeUpAllRuns, takeUpRuns, workOnRun } from '../../../../src/domain/crawlers/crawl/work-on-run.ts';
import { acquireRun, releaseRun, watchRuns } from '../../../../src/domain/crawlers/runs/acquire-run.ts';
import { shared, startTestApp } from '../../../support/app.ts';
import {
  crawl,
  expectCountsOfRows,
  makeCrawler,
  queue,
  quick,
  runOf,
  urlsOf,
  workThrough,
} from '../../../support/crawlers/crawls.ts';
import { hopsSite } from '../../../support/sites/golden.ts';
import { links, page, type Site, serveSite } from '../../../support/sites/site-server.ts';
import { treeSite } from '../../../support/sites/tree.ts';

const site = shared(() => serveSite(hopsSite));
const app = shared(() => startTestApp({ PORTICO_TRUSTED_DOMAINS: site.host }));
const tree = treeSite();

const execute = (sql: string, values: unknown[] = []) => app.services.orm.em.fork().execute(sql, values);
const until = async (test: () => boolean) => {
  while (!test()) await new Promise((resolve) => setTimeout(resolve, 5));
};

/** A start page and pages that answer when they are let. */
function heldSite(pages: number): { site: Site; release(): void } {
  let release = () => {};
  const held = new Promise<void>((resolve) => {
    release = resolve;
  });
  const all = Array.from({ length: pages }, (_, index) => `/p${index}`);
  return {
    release: () => release(),
    site({ path }, response) {
      if (path === '/') return page('Start', links(all));
      if (!all.includes(path)) return undefined;
      void held.then(() => response.writeHead(200, { 'Content-Type': 'text/html' }).end('<p>late</p>'));
      return null;
    },
  };
}

it('goes on in the next slice where the last one ended', async () => {
  site.become(tree.site);
  const id = await queue(app, await makeCrawler(app, site.host));
  const run = await workThrough(app, id, { ...quick, budget: 150 });
  expect(run).toMatchObject({ status: 'completed', takeovers: 0, counts: { html: 781, requests: 1565, retries: 0 } });
  expect(run.epoch).toBeGreaterThan(1);
  expect(site.paths().sort()).toEqual([...tree.pages, ...tree.assets].sort());
  await expectCountsOfRows(app, id);
});

it('writes nothing once another worker has the run', async () => {
  const held = heldSite(20);
  site.become(held.site);
  const id = await queue(app, await makeCrawler(app, site.host));
  const working = workOnRun(app.services, id, quick);
  await until(() => site.paths().length === 9);
  expect(await acquireRun(app.services.orm.em.fork(), id)).toBeNull();
  await execute(`update crawler_run set heartbeat_at = now() - interval '1 minute' where id = ?`, [id]);
  const taken = await acquireRun(app.services.orm.em.fork(), id);
  expect(taken).toMatchObject({ epoch: 2, takeovers: 1, counts: { pending: 20, leased: 0, html: 1 } });
  held.release();
  await working;
  expect(await runOf(app, id)).toMatchObject({ status: 'running', epoch: 2, counts: { html: 1 } });
  await expectCountsOfRows(app, id);
  await execute('update crawler_run set heartbeat_at = null where id = ?', [id]);
  expect(await workThrough(app, id)).toMatchObject({ status: 'completed', counts: { html: 21 } });
});

it('asks no more often than it may, though a worker was lost', async () => {
  const held = heldSite(20);
  site.become(held.site);
  const id = await queue(app, await makeCrawler(app, site.host, { max_hits: 12 }));
  const working = workOnRun(app.services, id, quick);
  await until(() => site.paths().length === 9);
  await execute(`update crawler_run set heartbeat_at = now() - interval '1 minute' where id = ?`, [id]);
  await acquireRun(app.services.orm.em.fork(), id);
  held.release();
  await working;
  await execute('update crawler_run set heartbeat_at = null where id = ?', [id]);
  expect(await workThrough(app, id)).toMatchObject({ status: 'completed', finish_reason: 'max_hits' });
  expect(site.paths().length).toBeLessThanOrEqual(12);
  await expectCountsOfRows(app, id);
});

it('checks once more for other requests when notified during a check', async () => {
  let answer = () => {};
  site.become(({ path }, response) => {
    if (path !== '/') return undefined;
    answer = () => response.writeHead(200, { 'Content-Type': 'text/html' }).end('<p>late</p>');
    return null;
  });
  const id = await queue(app, await makeCrawler(app, site.host));
  const work = vi.spyOn(CrawlLoop.prototype, 'work');
  const turns = vi.spyOn(app.services.metrics, 'crawlBatch');
  turns.mockImplementationOnce(() => (work.mock.contexts[0] as CrawlLoop).look());
  const working = workOnRun(app.services, id, { ...quick, idle: 60_000 });
  await vi.waitFor(() => expect(turns).toHaveBeenCalledTimes(2), { timeout: 30_000 });
  answer();
  await working;
  expect(await runOf(app, id)).toMatchObject({ status: 'completed', counts: { html: 1 } });
  vi.restoreAllMocks();
});

it('gives up a run that is taken over again and again without getting further', async () => {
  const id = await queue(app, await makeCrawler(app, site.host));
  await acquireRun(app.services.orm.em.fork(), id);
  await execute(`update crawler_run set takeovers = 3, heartbeat_at = now() - interval '1 minute' where id = ?`, [id]);
  await watchRuns(app.services);
  expect(await runOf(app, id)).toMatchObject({ status: 'failed', finish_reason: 'stalled' });
});

it('gives up a run that has got no further for half an hour, but not for a time in which no process worked on it', async () => {
  const id = await queue(app, await makeCrawler(app, site.host));
  const at = async (progress: number, sign: number | null) => {
    await execute(
      `update crawler_run set status = 'running', progress_at = now() - ? * interval '1 minute',
         updated_at = now() - ? * interval '1 minute', heartbeat_at = now() - ?::float * interval '1 minute' where id = ?`,
      [progress, sign ?? progress, sign, id],
    );
    await watchRuns(app.services);
    return (await runOf(app, id)).status;
  };
  await acquireRun(app.services.orm.em.fork(), id);
  expect(await at(29, 0)).toBe('running');
  // The server was away, whether it had time to hand the run back or not.
  for (const sign of [59, null]) {
    expect(await at(60, sign)).toBe('running');
    expect(await acquireRun(app.services.orm.em.fork(), id)).not.toBeNull();
    await watchRuns(app.services);
    expect((await runOf(app, id)).status).toBe('running');
  }
  // From slice to slice nothing is forgotten.
  expect(await at(29.9, 0)).toBe('running');
  await releaseRun(app.services.orm.em.fork(), await runOf(app, id));
  await acquireRun(app.services.orm.em.fork(), id);
  await execute(`update crawler_run set progress_at = progress_at - interval '1 minute' where id = ?`, [id]);
  await watchRuns(app.services);
  expect(await runOf(app, id)).toMatchObject({ status: 'failed', finish_reason: 'stalled' });
});

it('takes up at once what an earlier process of its own left', async () => {
  site.become(hopsSite);
  const id = await queue(app, await makeCrawler(app, site.host));
  await acquireRun(app.services.orm.em.fork(), id);
  expect(await workOnRun(app.services, id, quick)).toBe(false);
  await takeUpRuns(app.services);
  expect(app.services.crawlers.crawling.has(id)).toBe(false);
  await takeUpAllRuns(app.services);
  expect(app.services.crawlers.crawling.has(id)).toBe(true);
  expect(await workThrough(app, id)).toMatchObject({ status: 'completed', counts: { html: 101, requests: 301 } });
});

it('fails when the start page cannot be had', async () => {
  site.become(() => undefined);
  expect(await crawl(app, site.host)).toMatchObject({ status: 'failed', finish_reason: 'start_failed' });
  site.become(({ path }) => (path === '/robots.txt' ? { body: 'User-agent: *\nDisallow: /' } : page('Start')));
  await execute('delete from crawl_host');
  expect(await crawl(app, site.host)).toMatchObject({ status: 'failed', finish_reason: 'start_failed' });
  site.become(({ path }) => (path === '/robots.txt' ? { status: 500 } : page('Start')));
  await execute('delete from crawl_host');
  expect(await crawl(app, site.host)).toMatchObject({ status: 'failed', finish_reason: 'robots_unreachable' });
  expect(site.paths()).toEqual([]);
  expect(await crawl(app, site.host, { ignore_robots: true })).toMatchObject({ status: 'completed' });
});

it('leaves out what robots.txt disallows, pages and assets', async () => {
  await execute('delete from crawl_host');
  site.become(({ path }) => {
    if (path === '/robots.txt') return { body: 'User-agent: *\nDisallow: /private' };
    return path === '/' ? page('Start', links(['/private/a', '/b']), '<img src="/private/i.png">') : page('B');
  });
  const run = await crawl(app, site.host);
  expect(run.counts).toMatchObject({ html: 2, skipped_robots: 2, requests: 2 });
});

it('keeps its delay on a host across runs', async () => {
  await execute('delete from crawl_host');
  site.become(({ path }) => (path === '/' ? page('Start', links(['/1', '/2', '/3', '/4'])) : page(path)));
  const ids = [];
  for (let count = 0; count < 2; count += 1)
    ids.push(await queue(app, await makeCrawler(app, site.host, { delay: 0.4, workers: 4 })));
  const began = Date.now();
  await Promise.all(ids.map((id) => workThrough(app, id)));
  const times = site.log.filter(({ path }) => path !== '/robots.txt').map(({ at }) => at);
  expect(times).toHaveLength(10);
  // How late a request comes after its slot is the machine's affair; none comes before it.
  const early = times.map((time, index) => time - began - index * 400).filter((late) => late < -20);
  expect(early).toEqual([]);
});

it('waits as long as a host asks it to', async () => {
  await execute('delete from crawl_host');
  site.become(({ path, before }) => {
    if (path === '/') return page('Start', links(['/busy']));
    return path === '/busy' && before === 0 ? { status: 429, headers: { 'Retry-After': '1' } } : page(path);
  });
  const run = await crawl(app, site.host);
  expect(run.counts).toMatchObject({ html: 2, retries: 1, requests: 3 });
  const [first = 0, second = 0] = site.log.filter(({ path }) => path === '/busy').map(({ at }) => at);
  expect(second - first).toBeGreaterThanOrEqual(995);
  site.become(({ path }) => {
    if (path === '/') return page('Start', links(['/busy']));
    return path === '/busy' ? { status: 503, headers: { 'Retry-After': '601' } } : undefined;
  });
  await execute('delete from crawl_host');
  const other = await crawl(app, site.host);
  const [, busy] = await urlsOf(app, other.id);
  expect(busy).toMatchObject({ state: 'error', error: 'retry_after_too_long', attempts: 1 });
});

it('ends redirects that lead back to where they began', async () => {
  await execute('delete from crawl_host');
  site.become(({ path }) => {
    const to: Record<string, string> = {
      '/self': '/self',
      '/a': '/b',
      '/b': '/a',
      '/out': 'http://other.test/',
      '/no': '',
    };
    if (path === '/') return page('Start', links(['/self', '/a', '/out', '/no', '/h0']));
    const hop = /^\/h(\d+)$/.exec(path);
    if (hop) return { status: 302, headers: { Location: `/h${Number(hop[1]) + 1}` } };
    const target = to[path];
    return target === undefined ? undefined : { status: 302, headers: { Location: target } };
  });
  const run = await crawl(app, site.host);
  const urls = new Map((await urlsOf(app, run.id)).map((row) => [new URL(row.url).pathname, row]));
  for (const path of ['/self', '/a', '/b'])
    expect(urls.get(path)).toMatchObject({ state: 'error', error: 'redirect_loop' });
  expect(urls.get('/out')).toMatchObject({ state: 'done', redirect_to: 'http://other.test/' });
  expect(urls.get('/no')).toMatchObject({ error: 'redirect_invalid' });
  expect(urls.get('/h19')).toMatchObject({ state: 'done' });
  expect(urls.get('/h20')).toMatchObject({ error: 'redirect_too_many' });
});
