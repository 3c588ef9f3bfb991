import { expect, it, vi } from 'vitest';
import { workOnRun } from '../../../../../src/domain/crawlers/crawl/work-on-run.ts';
import { lockCrawlerOf } from '../../../../../src/domain/crawlers/runs/end-run.ts';
import { shared, startTestApp } from '../../../../support/app.ts';
import { makeCrawler, queue, quick, runOf } from '../../../../support/crawlers/crawls.ts';
import { page, serveSite } from '../../../../support/sites/site-server.ts';

const site = shared(() =>
  serveSite(({ path }, response) => {
    if (path !== '/robots.txt') return page('Start', '');
    void beforeRobots().then(() => response.writeHead(404).end());
    return null;
  }),
);
const app = shared(() => startTestApp({ PORTICO_TRUSTED_DOMAINS: site.host }));
let beforeRobots = async () => {};

const waitingSql = `
  select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock' and pid <> pg_backend_pid()`;

it('a run begins only when its crawler is free: ending it locks the crawler first, then the run', async () => {
  const id = await queue(app, await makeCrawler(app, site.host));
  const ending = app.services.orm.em.fork();
  beforeRobots = async () => {
    await ending.begin();
    await lockCrawlerOf(ending, id);
  };
  const working = workOnRun(app.services, id, quick);
  const look = app.services.orm.em.fork();
  await vi.waitUntil(async () => (await look.execute<unknown[]>(waitingSql)).length > 0, { timeout: 30_000 });
  await ending.execute(`set local lock_timeout = '10s'`);
  await ending.execute('update crawler_run set updated_at = now() where id = ?', [id]);
  await ending.commit();
  await working;
  expect(await runOf(app, id)).toMatchObject({ status: 'completed', finish_reason: 'done' });
});
