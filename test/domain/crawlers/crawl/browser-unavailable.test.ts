import { expect, it } from 'vitest';
import { shared, startTestApp } from '../../../support/app.ts';
import { crawl } from '../../../support/crawlers/crawls.ts';
import { page, serveSite } from '../../../support/sites/site-server.ts';

const site = shared(() => serveSite(() => page('Start')));
const app = shared(() =>
  startTestApp({ PORTICO_TRUSTED_DOMAINS: site.host, PORTICO_CHROMIUM_PATH: '/nowhere/chromium' }),
);

it.each([{ browser_mode: true }, { assets: { network_intercept: { enabled: true } } }])(
  'fails at once without Chromium, naming the setting: %j',
  async (settings) => {
    site.become(() => page('Start'));
    expect(await crawl(app, site.host, settings)).toMatchObject({
      status: 'failed',
      finish_reason: 'browser_unavailable',
      finish_message: expect.stringContaining('PORTICO_CHROMIUM_PATH is /nowhere/chromium'),
      counts: { requests: 0 },
    });
    expect(site.log).toEqual([]);
  },
);

it('needs no Chromium for other crawls', async () => {
  expect(await crawl(app, site.host)).toMatchObject({ status: 'completed', counts: { html: 1 } });
});
