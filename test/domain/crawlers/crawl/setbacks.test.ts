/** What crawls wait for and are held by, when the clock of the database is set back by an hour: times that were worked out before lie ahead. */
import { describe, expect, it } from 'vitest';
import { acquireRun, watchRuns } from '../../../../src/domain/crawlers/runs/acquire-run.ts';
import { Setting } from '../../../../src/domain/setting.entity.ts';
import { outliveSetbacks } from '../../../../src/jobs/upkeep.ts';
import { shared, startTestApp } from '../../../support/app.ts';
import { crawl } from '../../../support/crawlers/crawls.ts';
import { links, page, serveSite } from '../../../support/sites/site-server.ts';

const site = shared(() => serveSite(() => undefined));
const app = shared(() => startTestApp({ PORTICO_TRUSTED_DOMAINS: site.host }));

const execute = (sql: string, values: unknown[] = []) => app.services.orm.em.fork().execute(sql, values);

/** Upkeep looks at the clock, which an hour ago was at this time for the first time. */
async function look(): Promise<void> {
  const value = new Date(Date.now() + 3_600_000).toISOString();
  await app.services.orm.em.fork().upsert(Setting, { name: 'upkeep clock', value });
  await outliveSetbacks(app.services);
}

describe('after the clock was set back by an hour', () => {
  it('a crawl goes on with its next URL', async () => {
    site.become(({ path }, response) => {
      if (path === '/robots.txt') return undefined;
      if (path !== '/') return page('Second');
      void execute(
        `update crawl_host set next_at = next_at + interval '1 hour', paused_until = now() + interval '1 hour'`,
      )
        .then(look)
        .then(() => response.writeHead(200, { 'Content-Type': 'text/html' }).end(page('Start', links(['/2'])).body));
      return null;
    });
    expect(await crawl(app, site.host, { delay: 0.5 })).toMatchObject({ status: 'completed', counts: { requests: 2 } });
  }, 60_000);

  it('a URL is tried again, and a run whose worker died is taken over', async () => {
    site.become(({ path }) => (path === '/robots.txt' ? undefined : page('Start')));
    const { id } = await crawl(app, site.host);
    await execute(
      `update crawler_run set status = 'running', completed_at = null, heartbeat_at = now() + interval '3590 seconds' where id = ?`,
      [id],
    );
    await execute(`update crawl_url set state = 'pending', not_before = now() + interval '1 hour' where run_id = ?`, [
      id,
    ]);
    expect(await acquireRun(app.services.orm.em.fork(), id)).toBeNull();
    await look();
    expect(await execute('select 1 from crawl_url where run_id = ? and not_before > now()', [id])).toEqual([]);
    expect(await acquireRun(app.services.orm.em.fork(), id)).not.toBeNull();
  });

  it('a run that has stalled is ended', async () => {
    site.become(({ path }) => (path === '/robots.txt' ? undefined : page('Start')));
    const { id } = await crawl(app, site.host);
    await execute(
      `update crawler_run set status = 'running', completed_at = null, heartbeat_at = now(), progress_at = now() + interval '29 minutes'
       where id = ?`,
      [id],
    );
    await execute('update crawl_host set paused_until = null');
    await execute(`update snapshot set state = 'building', sealed_at = null where run_id = ?`, [id]);
    await look();
    await watchRuns(app.services);
    expect(await execute('select status from crawler_run where id = ?', [id])).toEqual([{ status: 'failed' }]);
  });
});
