import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it, vi } from 'vitest';
import { createCrawlFetcher } from '../../../../src/engines/crawler/fetcher.ts';
import { createGuardedHttp } from '../../../../src/engines/http/guarded-http.ts';
import { shared, startTestApp } from '../../../support/app.ts';
import { crawl } from '../../../support/crawlers/crawls.ts';
import { links, page, serveSite } from '../../../support/sites/site-server.ts';

const site = shared(() => serveSite(() => undefined));
const app = shared(() => startTestApp({ PORTICO_TRUSTED_DOMAINS: site.host }));

const execute = (sql: string) => app.services.orm.em.fork().execute(sql);

/** Holds the rows of all hosts until a transaction has waited for them for three seconds. */
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

/** Milliseconds from a request to the next slot of its host. */
async function distanceFrom(path: string): Promise<number> {
  const [host] = await execute('select extract(epoch from next_at)::float * 1000 as next from crawl_host');
  return host?.next - (site.log.find((requested) => requested.path === path)?.at ?? 0);
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
  // Two seconds less what a busy machine may be late by itself.
  expect(await distanceFrom('/2')).toBeGreaterThan(1_000);
});

/**
 * Crawls two pages of a site that closes its connections and whose name takes so many milliseconds to resolve.
 * @returns the paths whose connections were opened before
 */
async function crawlSlowly(milliseconds: number): Promise<string[]> {
  await execute('delete from crawl_host');
  site.become(({ path }) => {
    if (path === '/robots.txt') return undefined;
    const answer = path === '/' ? page('Start', links(['/2'])) : page('Second');
    return { ...answer, headers: { ...answer.headers, Connection: 'close' } };
  });
  const resolve = async () => {
    await sleep(milliseconds);
    return ['127.0.0.1'];
  };
  const http = createGuardedHttp({ allowedCidrs: ['127.0.0.0/8'], resolve });
  const fetcher = createCrawlFetcher({ http, blobs: app.services.blobs });
  const opened: string[] = [];
  const connect: typeof fetcher.connect = (request) => {
    opened.push(new URL(request.url).pathname);
    return fetcher.connect(request);
  };
  const slow = { ...app, services: { ...app.services, fetcher: { ...fetcher, connect } } };
  expect(await crawl(slow, site.host, { delay: 2 })).toMatchObject({ counts: { requests: 2 } });
  await http.close();
  return opened;
}

it('asks when its slot comes, though a connection takes its time', async () => {
  expect(await crawlSlowly(600)).toContain('/2');
  expect(await distanceFrom('/2')).toBeGreaterThan(1_500);
});

it('takes another slot when its connection takes longer than may be waited for', async () => {
  await crawlSlowly(2_500);
  expect(await distanceFrom('/2')).toBeGreaterThan(1_000);
});
