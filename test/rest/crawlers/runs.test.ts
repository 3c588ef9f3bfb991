import { afterAll, beforeEach, expect, it } from 'vitest';
import { workOnRun } from '../../../src/domain/crawlers/crawl/work-on-run.ts';
import { shared, startTestApp } from '../../support/app.ts';
import {
  crawlersPath,
  expectCountsOfRows,
  makeCrawler,
  quick,
  runOf,
  workThrough,
} from '../../support/crawlers/crawls.ts';
import { links, page, type Site, serveSite } from '../../support/sites/site-server.ts';

const site = shared(() => serveSite(heldSite));
const app = shared(() => startTestApp({ PORTICO_TRUSTED_DOMAINS: site.host }));
let crawler: number;
let at: string;

/** Answers the start page; what it links to only on request. */
let release = () => {};
let held: Promise<void> = Promise.resolve();

const heldSite: Site = ({ path }, response) => {
  if (path === '/') return page('Start', links(['/a', '/b', '/gone', '/c?x=1', 'http://other.test/']));
  if (path === '/robots.txt' || path === '/gone') return undefined;
  void held.then(() => response.writeHead(200, { 'Content-Type': 'text/html' }).end('<p>late</p>'));
  return null;
};

const hold = () => {
  held = new Promise((resolve) => {
    release = resolve;
  });
};

afterAll(async () => {
  release();
});
beforeEach(async () => {
  release();
  held = Promise.resolve();
  site.become(heldSite);
  crawler = await makeCrawler(app, site.host);
  at = `${crawlersPath}/${crawler}`;
});

const start = async (body?: object) => {
  const answer = await app.ask('POST', `${at}/run`, body ? { body } : {});
  expect(answer).toMatchObject({ status: 200, body: { run_id: expect.stringMatching(/^\d+$/) } });
  return Number(answer.body.run_id);
};
const get = async (path: string) => (await app.ask('GET', `${at}${path}`)).body;
const until = async (test: () => Promise<boolean>) => {
  while (!(await test())) await new Promise((resolve) => setTimeout(resolve, 10));
};

it('shows a run from its queue to its end', async () => {
  const id = await start();
  expect(await get(`/runs/${id}`)).toMatchObject({
    id,
    crawler_config_id: crawler,
    last_status: 'queued',
    trigger: 'api',
    started_at: null,
  });
  await workThrough(app, id);
  const run = await get(`/runs/${id}`);
  expect(run).toMatchObject({
    last_status: 'completed',
    finish_reason: 'done',
    mode: 'full',
    origin: site.origin,
    stop_requested: null,
    eta_seconds: null,
  });
  expect(run.counts).toMatchObject({ html: 4, broken: 1, skipped_scope: 1 });
  expect(Number.isInteger(run.started_at) && Number.isInteger(run.completed_at)).toBe(true);
  expect((await get('/runs')).map((one: { id: number }) => one.id)).toEqual([id]);
  expect(await get('/runs?status=failed')).toEqual([]);
});

it('lists what a run found', async () => {
  const id = await start();
  await workThrough(app, id);
  const all = await get(`/runs/${id}/pages`);
  expect(all.map(({ url }: { url: string }) => url)).toEqual([
    `${site.origin}/`,
    `${site.origin}/a`,
    `${site.origin}/b`,
    `${site.origin}/gone`,
    `${site.origin}/c?x=1`,
    'http://other.test/',
  ]);
  expect(all[3]).toMatchObject({
    state: 'done',
    http_status: 404,
    parent_url: `${site.origin}/`,
    depth: 1,
    kind: 'page',
  });
  const urls = async (query: string) =>
    (await get(`/runs/${id}/pages?${query}`)).map(({ url }: { url: string }) => url);
  expect(await urls('http_status=404')).toEqual([`${site.origin}/gone`]);
  expect(await urls('state=skipped')).toEqual(['http://other.test/']);
  expect(await urls('q=c%3Fx')).toEqual([`${site.origin}/c?x=1`]);
  expect(await urls('q=C%3FX')).toEqual([`${site.origin}/c?x=1`]);
  expect(await urls('q=%25')).toEqual([]);
  expect(await urls('q=_')).toEqual([]);
  const nul = await app.ask('GET', `${at}/runs/${id}/pages?q=%00`);
  expect([nul.status, nul.body.message]).toEqual([400, 'q: must be text without NUL']);
  expect(await urls('per_page=2&page=2')).toEqual([`${site.origin}/b`, `${site.origin}/gone`]);
  expect((await app.ask('GET', `${at}/runs/${id}/pages?state=odd`)).status).toBe(400);
  const long = await app.ask('GET', `${at}/runs/${id}/pages?q=${'x'.repeat(2_049)}`);
  expect(long.body.message).toBe('q: must be at most 2048 characters');
});

it('keeps a log', async () => {
  const id = await start();
  await workThrough(app, id);
  const log = await get(`/runs/${id}/log`);
  expect(log.map(({ event }: { event: string }) => event)).toEqual(['run.started', 'run.completed']);
  expect(await get(`/runs/${id}/log?after=${log[0].seq}`)).toEqual([log[1]]);
  expect(await get(`/runs/${id}/log?level=warn`)).toEqual([]);
});

it('crawls only the requested pages', async () => {
  const id = await start({ urls: ['/a'] });
  expect(await workThrough(app, id)).toMatchObject({ mode: 'partial', counts: { html: 1, requests: 1 } });
  const refused = await app.ask('POST', `${at}/run`, { body: { urls: ['/a', 'http://other.test/'] } });
  expect(refused).toMatchObject({
    status: 400,
    body: { message: 'urls: [1] must be a path or an http(s) URL of an allowed domain' },
  });
});

it('stops a run, and keeps what it has', async () => {
  hold();
  const id = await start();
  const working = workOnRun(app.services, id, quick);
  await until(async () => site.log.some(({ path }) => path === '/a'));
  expect((await app.ask('POST', `${at}/runs/${id}/stop`)).body).toMatchObject({ stop_requested: 'stop' });
  expect((await app.ask('POST', `${at}/runs/${id}/stop`)).status).toBe(200);
  await until(async () => (await runOf(app, id)).stop_requested === 'stop');
  release();
  await working;
  const run = await get(`/runs/${id}`);
  expect(run).toMatchObject({ last_status: 'stopped', finish_reason: 'user' });
  expect(run.snapshot_id).not.toBeNull();
  await expectCountsOfRows(app, id);
  expect((await app.ask('POST', `${at}/runs/${id}/stop`)).status).toBe(409);
});

it('cancels a run at once, and keeps nothing', async () => {
  hold();
  const id = await start();
  const working = workOnRun(app.services, id, quick);
  await until(async () => site.log.some(({ path }) => path === '/a'));
  await app.ask('POST', `${at}/runs/${id}/stop`);
  expect((await app.ask('POST', `${at}/runs/${id}/cancel`)).body).toMatchObject({ stop_requested: 'cancel' });
  await working;
  expect(await get(`/runs/${id}`)).toMatchObject({ last_status: 'canceled', finish_reason: 'user', snapshot_id: null });
  await expectCountsOfRows(app, id);
  expect((await app.ask('POST', `${at}/runs/${id}/cancel`)).status).toBe(409);
});

it('cancels a run whose project is deleted', async () => {
  hold();
  const id = await start();
  const working = workOnRun(app.services, id, quick);
  await until(async () => site.log.some(({ path }) => path === '/a'));
  const setDeleted = (value: string) =>
    app.services.orm.em
      .fork()
      .execute(
        `update project set deleted_at = ${value} where id = (select project_id from crawler_run where id = ?)`,
        [id],
      );
  await setDeleted('now()');
  try {
    await working;
  } finally {
    await setDeleted('null');
  }
  expect(await runOf(app, id)).toMatchObject({ status: 'canceled', finish_reason: 'crawler_deleted' });
});

it('lets runs wait, one after another, and no more than ten', async () => {
  const ids = [];
  for (let count = 0; count < 10; count += 1) ids.push(await start());
  const [first = 0, second = 0] = ids;
  expect(await app.ask('POST', `${at}/run`)).toMatchObject({ status: 409, body: { code: 'limit_reached' } });
  expect(await workOnRun(app.services, second, quick)).toBe(false);
  expect((await app.ask('POST', `${at}/runs/${first}/stop`)).body).toMatchObject({ last_status: 'canceled' });
  expect(await workThrough(app, second)).toMatchObject({ status: 'completed' });
  expect((await app.ask('DELETE', at)).status).toBe(204);
  expect(await runOf(app, ids[5] ?? 0)).toMatchObject({ status: 'canceled', finish_reason: 'crawler_deleted' });
});

it('finds only runs of the crawler', async () => {
  const id = await start();
  await app.ask('POST', `${at}/runs/${id}/cancel`);
  const other = await makeCrawler(app, site.host);
  expect((await app.ask('GET', `${crawlersPath}/${other}/runs/${id}`)).body).toMatchObject({
    message: 'Run not found',
  });
  for (const path of ['abc', '0', '99999999999', '999999/pages?state=none'])
    expect(await app.ask('GET', `${at}/runs/${path}`)).toMatchObject({
      status: 404,
      body: { message: 'Run not found' },
    });
  const token = await app.makeToken(['browse_crawlers']);
  expect((await app.ask('POST', `${at}/run`, { token })).status).toBe(403);
  expect((await app.ask('GET', `${at}/runs`, { token })).status).toBe(200);
});
