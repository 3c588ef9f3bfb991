import { afterAll, beforeAll, expect, it } from 'vitest';
import { workOnRun } from '../../src/domain/crawlers/crawl/work-on-run.ts';
import { shared, startTestApp } from '../support/app.ts';
import { makeCrawler, quick, workThrough } from '../support/crawlers/crawls.ts';
import { type EventStream, openStream } from '../support/event-stream.ts';
import { links, page, serveSite } from '../support/sites/site-server.ts';

const site = shared(() =>
  serveSite(({ path }, response) => {
    if (path === '/') return page('Start', links(['/a', '/gone']));
    if (path !== '/a') return undefined;
    void held.then(() => response.writeHead(200, { 'Content-Type': 'text/html' }).end('<p>a</p>'));
    return null;
  }),
);
const app = shared(() => startTestApp({ PORTICO_TRUSTED_DOMAINS: site.host }));
let crawler: number;
let release = () => {};
const held = new Promise<void>((resolve) => {
  release = resolve;
});

beforeAll(async () => {
  crawler = await makeCrawler(app, site.host);
});
afterAll(async () => {
  release();
});

const place = 'organization: "acme", project: "site"';
const query = async (document: string) => {
  const { body } = await app.ask('POST', '/graphql', { body: { query: document } });
  expect(body.errors).toBeUndefined();
  return body.data;
};
const start = async () => {
  const data = await query(`mutation { runCrawler(${place}, input: { crawler: "${crawler}" }) { run_id run { id } } }`);
  expect(data.runCrawler.run.id).toBe(Number(data.runCrawler.run_id));
  return data.runCrawler.run.id;
};
const inProject = async (fields: string) => (await query(`{ project(${place}) { ${fields} } }`)).project;

it('follows a run live, from its beginning to its end', async () => {
  const id = await start();
  const stream: EventStream = await openStream(
    app.url,
    app.token,
    `subscription { crawlerRunProgress(${place}, run_id: ${id}) {
      seq run { last_status counts { html pending leased } } recent_pages { url } log { seq event } } }`,
  );
  const first = (await stream.next())?.data.data.crawlerRunProgress;
  expect(first).toMatchObject({ seq: 0, run: { last_status: 'queued' }, recent_pages: [], log: [] });
  const working = workOnRun(app.services, id, quick);
  const seen: { status: string; events: string[]; html: number }[] = [];
  for (let event = await stream.next(); event?.event === 'next'; event = await stream.next()) {
    const { run, log } = event.data.data.crawlerRunProgress;
    const events = log.map(({ event: name }: { event: string }) => name);
    seen.push({ status: run.last_status, events, html: run.counts.html });
    if (run.counts.html > 0) release();
  }
  await working;
  expect(seen.at(-1)).toMatchObject({ status: 'completed', html: 2 });
  expect(seen.flatMap(({ events }) => events)).toEqual(['run.started', 'run.completed']);
  expect(seen.some(({ status, html }) => status === 'running' && html === 1)).toBe(true);
  stream.close();
});

it('shows runs with their pages and their log', async () => {
  const id = await start();
  await workThrough(app, id);
  const fields = `crawler(crawler: "${crawler}") {
    last_run { id }
    runs(status: completed, first: 1) { total_count nodes { id } }
    run(run_id: ${id}) {
      last_status finish_reason started_at counts { html broken }
      pages(http_status: 404) { nodes { url parent_url } }
      log(level: info) { total_count nodes { event } }
      first: log(level: info, first: 1) { total_count nodes { event } page_info { has_next_page } }
    } }`;
  expect((await inProject(fields)).crawler).toMatchObject({
    last_run: { id },
    runs: { total_count: 2, nodes: [{ id }] },
    run: {
      last_status: 'completed',
      finish_reason: 'done',
      started_at: expect.stringMatching(/^20.*Z$/),
      counts: { html: 2, broken: 1 },
      pages: { nodes: [{ url: `${site.origin}/gone`, parent_url: `${site.origin}/` }] },
      log: { total_count: 2, nodes: [{ event: 'run.started' }, { event: 'run.completed' }] },
      first: { total_count: 2, nodes: [{ event: 'run.started' }], page_info: { has_next_page: true } },
    },
  });
});

it('stops and cancels', async () => {
  const [first, second] = [await start(), await start()];
  const stop = await query(
    `mutation { stopRun(${place}, input: { crawler: "${crawler}", run_id: ${first} }) { last_status } }`,
  );
  expect(stop.stopRun).toEqual({ last_status: 'canceled' });
  const cancel = `mutation { cancelRun(${place}, input: { crawler: "${crawler}", run_id: ${second} }) { last_status } }`;
  expect((await query(cancel)).cancelRun).toEqual({ last_status: 'canceled' });
  const { body } = await app.ask('POST', '/graphql', { body: { query: cancel } });
  expect(body.errors).toMatchObject([
    { message: `Run ${second} is canceled: it cannot be ended any more`, extensions: { reason: 'conflict' } },
  ]);
});
