import { expect, it, onTestFinished } from 'vitest';
import { ServerLimits, serverCaps, spaceTaken } from '../../../../src/domain/crawlers/crawl/loop/crawl-loop.ts';
import { mostUnwritten } from '../../../../src/domain/crawlers/crawl/loop/outcome-buffer.ts';
import type { OpenRun } from '../../../../src/domain/crawlers/crawl/open/open-run.ts';
import { shared, startTestApp } from '../../../support/app.ts';
import { crawl, crawlersPath, makeCrawler, queue, workThrough } from '../../../support/crawlers/crawls.ts';
import { links, page, type Site, serveSite } from '../../../support/sites/site-server.ts';

const usual: Site = ({ path }) =>
  path === '/' ? page('Start', links(paths)) : paths.includes(path) ? page(path, path.repeat(500)) : undefined;
const site = shared(() => serveSite(usual));
const app = shared(() => startTestApp({ PORTICO_TRUSTED_DOMAINS: site.host }));
const paths = Array.from({ length: 400 }, (_, at) => `/p${at}`);

async function organizationId(): Promise<number> {
  const rows = await app.services.orm.em.fork().execute<{ id: number }[]>('select organization_id as id from project');
  return rows[0]?.id ?? 0;
}

const limitTo = (bytes: number | null) =>
  app.services.orm.em
    .fork()
    .execute('update organization set limits = ?::json', [
      JSON.stringify(bytes === null ? {} : { crawl_bytes: bytes }),
    ]);

it('stops a run whose organisation has no room left, and leaves the live copy alone', async () => {
  const crawler = await makeCrawler(app, site.host, { urls: paths.slice(0, 3), start_urls: ['/p0'] });
  const sound = await workThrough(app, await queue(app, crawler, { urls: ['/p0'] }));
  expect(sound).toMatchObject({ status: 'completed', finish_reason: 'done' });
  const live = async () => (await app.ask('GET', `${crawlersPath}/${crawler}`)).body.published_snapshot_id;
  const before = await live();
  expect(before).not.toBeNull();
  await limitTo(100_000);
  try {
    await app.ask('PATCH', `${crawlersPath}/${crawler}`, {
      body: { domain: `http://${site.host}`, urls: [], start_urls: ['/'] },
    });
    const run = await workThrough(app, await queue(app, crawler));
    expect(run).toMatchObject({ status: 'stopped', finish_reason: 'server_limit', counts: { leased: 0 } });
    expect(run.finish_message).toBe('The organisation has no room left for snapshots');
    expect(run.counts.bytes_stored).toBeGreaterThan(50_000);
    expect(run.counts.captured).toBeLessThan(400);
    expect(await live()).toBe(before);
    const [snapshot] = (await app.ask('GET', `${crawlersPath}/${crawler}/snapshots`)).body;
    expect(snapshot).toMatchObject({ run_id: run.id, state: 'partial', published: false });
  } finally {
    await limitTo(null);
  }
  expect(await crawl(app, site.host)).toMatchObject({ status: 'completed', counts: { html: 401 } });
});

it('leaves runs side by side one room', async () => {
  onTestFinished(() => site.become(usual));
  let answer = () => {};
  const requested = new Promise<void>((resolve) => {
    site.become(({ path }, response) => {
      const [, name = '', at] = path.split('/');
      if (at === '') return page(name, links([`/${name}/list`]));
      if (at !== 'list') return page(path, path.repeat(300));
      const list = page(name, links(paths.map((each) => `/${name}${each}`)));
      if (name !== 'held') return list;
      answer = () => void response.writeHead(200, list.headers).end(list.body);
      resolve();
      return null;
    });
  });
  const workers = 4;
  const make = (name: string) => makeCrawler(app, site.host, { workers, urls: [], start_urls: [`/${name}/`] });
  const [held, free] = [await make('held'), await make('free')];
  const organization_id = await organizationId();
  const taken = async () => (await spaceTaken(app.services.orm.em.fork(), organization_id, 0)).bytes;
  const room = 1_500_000;
  await limitTo((await taken()) + room);
  const before = await taken();
  try {
    const first = queue(app, held).then((run) => workThrough(app, run));
    await requested;
    // The other one begins behind the first, and has ended when that goes on.
    const other = await workThrough(app, await queue(app, free));
    expect(other).toMatchObject({ status: 'completed', counts: { html: 402 } });
    answer();
    expect(await first).toMatchObject({ status: 'stopped', finish_reason: 'server_limit' });
    const most = Math.max(
      ...paths.map((each) => Buffer.byteLength(page('', `/held${each}`.repeat(302)).body as string)),
    );
    expect((await taken()) - before).toBeLessThanOrEqual(room + (mostUnwritten + workers) * most);
  } finally {
    await limitTo(null);
  }
});

it('counts the headers that are kept of answers, and keeps no more of them than is worth it', async () => {
  const long = (length: number) => 'x'.repeat(length);
  const names = Array.from({ length: 50 }, (_, at) => `/headers${at}`);
  onTestFinished(() => site.become(usual));
  site.become(({ path }) => {
    if (path === '/headers') return page('Headers', links(names));
    if (!names.includes(path)) return undefined;
    const headers = {
      ...{ 'content-type': `text/html; x=${long(2_000)}`, etag: `"${long(path === '/headers0' ? 1_022 : 1_023)}"` },
      ...{ 'cache-control': long(8_000), 'content-language': long(192), expires: long(1) },
    };
    return { ...page('Same', 'same'), headers };
  });
  const em = app.services.orm.em.fork();
  const organization_id = await organizationId();
  const before = await spaceTaken(em, organization_id, 0);
  const crawler = await makeCrawler(app, site.host, { urls: [], start_urls: ['/headers'] });
  const run = await workThrough(app, await queue(app, crawler));
  const [kept] = await em.execute<{ content_type: string; headers: object; etag: string | null }[]>(
    `select content_type, headers, etag from snapshot_entry where url like '%/headers0' and http_status = 200`,
  );
  expect(kept).toMatchObject({ etag: `"${long(1_022)}"`, content_type: expect.stringMatching(/^text\/html; x=x+$/) });
  expect(kept?.content_type).toHaveLength(1_024);
  expect(kept?.headers).toEqual({ 'cache-control': long(8_000), 'content-language': long(192) });
  const [other] = await em.execute<{ etag: string | null }[]>(
    `select etag from snapshot_entry where url like '%/headers1'`,
  );
  expect(other).toEqual({ etag: null });
  const ofHeaders = 50 * JSON.stringify(kept?.headers).length;
  expect(run.counts.bytes_stored).toBeGreaterThanOrEqual(ofHeaders);
  expect((await spaceTaken(em, organization_id, 0)).bytes - before.bytes).toBeGreaterThanOrEqual(ofHeaders);
  await limitTo((await spaceTaken(em, organization_id, 0)).bytes + 100_000);
  try {
    const next = await workThrough(app, await queue(app, crawler, { urls: names }));
    expect(next).toMatchObject({ status: 'stopped', finish_reason: 'server_limit' });
  } finally {
    await limitTo(null);
  }
});

it('counts what other runs store, by one small statement for a batch, and by none without a quota', async () => {
  const em = app.services.orm.em.fork();
  const crawler = await makeCrawler(app, site.host, { urls: ['/p0'], start_urls: [] });
  const own = await queue(app, crawler);
  const known = await queue(app, await makeCrawler(app, site.host, { urls: ['/p0'], start_urls: [] }));
  const organization_id = await organizationId();
  const stores = (run: number, bytes: number) =>
    em.execute(
      `update crawler_run set status = 'completed', counts = jsonb_set(counts::jsonb, '{bytes_stored}', ?::jsonb)::json where id = ?`,
      [String(bytes), run],
    );
  let statements = 0;
  const services = {
    clock: app.services.clock,
    orm: {
      em: {
        fork() {
          statements += 1;
          return em.fork();
        },
      },
    } as never,
  };
  const limits = (quota: number | null) =>
    new ServerLimits(services, { organization_id, quota, run: { id: own, started_at: new Date() } } as OpenRun);
  const { bytes } = await spaceTaken(em, organization_id, own);
  const some = limits(bytes + 1_000);
  expect([await some.reached(0, 1_000), statements]).toEqual([null, 1]);
  await stores(known, 600);
  // One that came later, and has ended already.
  const later = await queue(app, await makeCrawler(app, site.host, { urls: ['/p0'], start_urls: [] }));
  await stores(later, 300);
  const full = 'The organisation has no room left for snapshots';
  expect([await some.reached(0, 100), await some.reached(0, 101), statements]).toEqual([null, full, 3]);
  expect([await limits(null).reached(0, 2_000), statements]).toEqual([null, 3]);
});

it.each([
  ['72 hours', { hours: 72 }, { hours: 72.001 }, 'The run takes longer than 72 hours'],
  ['2,000,000 URLs', { urls: 2_000_000 }, { urls: 2_000_001 }, 'The run has more than 2000000 URLs'],
  ['20 GiB', { bytes: 20 * 2 ** 30 }, { bytes: 20 * 2 ** 30 + 1 }, 'The run has stored more than 20 GiB'],
])('a run may take %s, and no more', async (_what, most, more, message) => {
  expect(serverCaps).toEqual({ milliseconds: 72 * 3_600_000, urls: 2_000_000, bytes: 20 * 2 ** 30 });
  const now = new Date('2026-03-10T00:00:00Z');
  const reached = ({ hours = 0, urls = 0, bytes = 0 }: { hours?: number; urls?: number; bytes?: number }) => {
    const run = { id: 0, started_at: new Date(now.getTime() - hours * 3_600_000) };
    const open = { run, quota: null, organization_id: 0 } as unknown as OpenRun;
    const services = { orm: app.services.orm, clock: { now: () => now } };
    return new ServerLimits(services, open).reached(urls, bytes);
  };
  expect([await reached(most), await reached(more)]).toEqual([null, message]);
});
