import { expect, it } from 'vitest';
import { ServerLimits, serverCaps } from '../../../../src/domain/crawlers/crawl/loop/crawl-loop.ts';
import type { OpenRun } from '../../../../src/domain/crawlers/crawl/open/open-run.ts';
import { shared, startTestApp } from '../../../support/app.ts';
import { crawl, crawlersPath, makeCrawler, queue, workThrough } from '../../../support/crawlers/crawls.ts';
import { links, page, serveSite } from '../../../support/sites/site-server.ts';

const site = shared(() =>
  serveSite(({ path }) =>
    path === '/' ? page('Start', links(paths)) : paths.includes(path) ? page(path, path.repeat(500)) : undefined,
  ),
);
const app = shared(() => startTestApp({ PORTICO_TRUSTED_DOMAINS: site.host }));
const paths = Array.from({ length: 400 }, (_, at) => `/p${at}`);

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
