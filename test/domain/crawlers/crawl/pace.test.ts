import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { startTestApp, type TestApp } from '../../../support/app.ts';
import { crawl } from '../../../support/crawlers/crawls.ts';
import { links, page, type SiteServer, serveSite } from '../../../support/sites/site-server.ts';

let app: TestApp;
let site: SiteServer;

beforeAll(async () => {
  site = await serveSite(() => undefined);
  app = await startTestApp({ PORTICO_TRUSTED_DOMAINS: site.host });
});
afterAll(async () => {
  await app.stop();
  await site.close();
});

const execute = (sql: string) => app.services.orm.em.fork().execute(sql);

/** Holds the rows of all hosts until somebody has waited for them for three seconds. */
function holdHosts(begun: () => void): Promise<void> {
  const hasWaited = async () => {
    const waiting = await execute(
      `select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'
         and clock_timestamp() - query_start > interval '3 s'`,
    );
    expect(waiting).toHaveLength(1);
  };
  return app.services.orm.em.fork().transactional(async (em) => {
    await em.execute('select host from crawl_host for update');
    begun();
    await vi.waitFor(hasWaited, { timeout: 60_000 });
  });
}

it('leaves the next slot of a host its distance from a request, though the host’s row had to be waited for', async () => {
  let holding: Promise<void> | null = null;
  site.become(({ path }, response) => {
    if (path === '/robots.txt') return undefined;
    if (path !== '/') return page('Second');
    const answer = () =>
      response.writeHead(200, { 'Content-Type': 'text/html' }).end(page('Start', links(['/2'])).body);
    holding = holdHosts(answer);
    return null;
  });
  const run = await crawl(app, site.host, { delay: 2 });
  expect(run).toMatchObject({ status: 'completed', counts: { requests: 2 } });
  await holding;
  const [host] = await execute('select extract(epoch from next_at)::float * 1000 as next from crawl_host');
  const asked = site.log.find(({ path }) => path === '/2')?.at ?? 0;
  // Two seconds less what a busy machine may be late by itself.
  expect(host?.next - asked).toBeGreaterThan(1_000);
});
