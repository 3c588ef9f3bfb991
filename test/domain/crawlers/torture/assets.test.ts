import { expect, it, onTestFinished } from 'vitest';
import { startTestApp } from '../../../support/app.ts';
import { crawl, urlsOf } from '../../../support/crawlers/crawls.ts';
import { assetsPages, assetsPaths, assetsSite } from '../../../support/sites/assets.ts';
import { serveSite } from '../../../support/sites/site-server.ts';

it('takes everything a page needs, and nothing it only seems to', async () => {
  const site = await serveSite(assetsSite);
  const app = await startTestApp({ PORTICO_TRUSTED_DOMAINS: site.host, PORTICO_LOG_LEVEL: 'info' });
  onTestFinished(async () => {
    await app.stop();
    await site.close();
  });
  const run = await crawl(app, site.host);
  expect(site.paths().sort()).toEqual(assetsPaths);
  expect(run.counts).toMatchObject({
    html: assetsPages.length,
    assets: assetsPaths.length - assetsPages.length,
    broken: 0,
  });
  const pages = (await urlsOf(app, run.id))
    .filter(({ kind }) => kind === 'page')
    .map(({ url }) => new URL(url).pathname);
  expect(pages.sort()).toEqual([...assetsPages].sort());

  site.become(assetsSite);
  await crawl(app, site.host, { assets: { parser: { enabled: false } } });
  expect(site.paths().sort()).toEqual(['/', '/area', '/frame', '/search'].sort());
});
