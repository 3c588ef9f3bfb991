import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { workOnRun } from '../../../../src/domain/crawlers/crawl/work-on-run.ts';
import { startTestApp, type TestApp } from '../../../support/app.ts';
import { makeCrawler, queue, quick, runOf } from '../../../support/crawlers/crawls.ts';
import { links, page, type SiteServer, serveSite } from '../../../support/sites/site-server.ts';

let app: TestApp;
let site: SiteServer;
let release = () => {};

beforeAll(async () => {
  const held = new Promise<void>((resolve) => {
    release = resolve;
  });
  site = await serveSite(({ path }, response) => {
    if (path === '/') return page('Start', links(['/quick', '/slow']));
    if (path === '/quick') return page('Quick', links(['/next']));
    if (path === '/next') return page('Next', '');
    if (path !== '/slow') return undefined;
    void held.then(() => response.writeHead(200, { 'Content-Type': 'text/html' }).end('<p>late</p>'));
    return null;
  });
  app = await startTestApp({ PORTICO_TRUSTED_DOMAINS: site.host });
});
afterAll(async () => {
  release();
  await app.stop();
  await site.close();
});

it('asks for what a page leads to as soon as workers have nothing else, however long results may wait', async () => {
  const id = await queue(app, await makeCrawler(app, site.host));
  const working = workOnRun(app.services, id, { ...quick, flush: 600_000, idle: 600_000 });
  await vi.waitFor(() => expect(site.paths()).toContain('/next'), { timeout: 30_000 });
  release();
  await working;
  expect(await runOf(app, id)).toMatchObject({ status: 'completed', counts: { html: 4, requests: 4 } });
});
