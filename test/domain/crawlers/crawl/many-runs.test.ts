import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { takeUpRuns } from '../../../../src/domain/crawlers/crawl/work-on-run.ts';
import { startTestApp, type TestApp } from '../../../support/app.ts';
import { expectCountsOfRows, makeCrawler, queue, runOf } from '../../../support/crawlers/crawls.ts';
import { links, page, type SiteServer, serveSite } from '../../../support/sites/site-server.ts';

let app: TestApp;
let sites: SiteServer[];
/** What one organisation may have of the hundred of a process. */
const runs = 75;
const paths = ['/a', '/b', '/c'];

beforeAll(async () => {
  sites = await Promise.all(
    Array.from({ length: runs + 1 }, () =>
      serveSite(({ path }) =>
        path === '/' ? page('Start', links(paths)) : paths.includes(path) ? page(path, '') : undefined,
      ),
    ),
  );
  app = await startTestApp({
    PORTICO_TRUSTED_DOMAINS: sites.map(({ host }) => host).join(','),
    PORTICO_LOG_LEVEL: 'warn',
  });
  app.services.jobs.send = async () => {};
  app.services.jobs.sendMany = async () => {};
});
afterAll(async () => {
  await app?.stop();
  await Promise.all((sites ?? []).map((site) => site.close()));
});

it('a process works on 75 runs of an organisation at once, each whole, and on one more when there is room', async () => {
  const ids: number[] = [];
  for (const { host } of sites) ids.push(await queue(app, await makeCrawler(app, host, { workers: 2 })));
  await takeUpRuns(app.services);
  await vi.waitFor(() => expect(app.services.crawlers.crawling.active).toBe(runs));
  expect((await runOf(app, ids.at(-1) ?? 0)).status).toBe('queued');
  // As the process looks every few seconds: a machine that is busy may lose the lease of a run meanwhile.
  const ended = async (some: readonly number[]) => {
    await takeUpRuns(app.services);
    for (const id of some) expect((await runOf(app, id)).completed_at).not.toBeNull();
  };
  await vi.waitFor(() => ended(ids.slice(0, runs)), { timeout: 400_000, interval: 500 });
  await vi.waitFor(() => ended(ids.slice(runs)), { timeout: 60_000, interval: 500 });
  for (const id of ids) {
    expect(await runOf(app, id)).toMatchObject({ status: 'completed', counts: { html: 4, requests: 4, errors: 0 } });
    await expectCountsOfRows(app, id);
  }
  for (const site of sites) expect(site.paths().toSorted()).toEqual(['/', ...paths]);
});
