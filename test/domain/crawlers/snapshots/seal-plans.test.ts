import { afterAll, beforeAll, expect, it } from 'vitest';
import { sealSnapshot } from '../../../../src/domain/crawlers/snapshots/seal/seal-snapshot.ts';
import { startTestApp, type TestApp } from '../../../support/app.ts';
import { crawl, type MadeRun, makeCrawler, makeSnapshot, type Page } from '../../../support/crawlers/snapshots.ts';

const count = 400;
const pages = (from: number): Record<string, Page> =>
  Object.fromEntries(Array.from({ length: count }, (_, at) => [at === 0 ? '/' : `/${from + at}/`, 'text']));

let app: TestApp;
let crawler: { id: number };
/** The statistics know of one small snapshot, as they do when the next is sealed before they are made anew. */
beforeAll(async () => {
  app = await startTestApp();
  const em = app.services.orm.em.fork();
  for (const table of ['snapshot_entry', 'crawl_url'])
    await em.execute(`alter table ${table} set (autovacuum_enabled = off)`);
  crawler = await makeCrawler(app);
  await makeSnapshot(app, crawler.id, { '/': 'home', '/about/': 'about' });
  for (const table of ['snapshot_entry', 'crawl_url']) await em.execute(`analyze ${table}`);
  await makeSnapshot(app, crawler.id, pages(0));
});
afterAll(() => app.stop());

/** Seals a run. @returns also how many rows of a table that has read */
async function sealed(made: Record<string, Page>, run: MadeRun = {}) {
  const ended = await crawl(app, crawler.id, made, run);
  return app.services.orm.em.fork().transactional(async (em) => {
    const snapshot = await sealSnapshot(em, app.services, ended);
    const rows = await em.execute<{ relname: string; reads: string }[]>(
      'select relname, seq_tup_read + coalesce(idx_tup_fetch, 0) as reads from pg_stat_xact_user_tables',
    );
    const reads = (table: string) => Number(rows.find(({ relname }) => relname === table)?.reads);
    return { snapshot, entries: reads('snapshot_entry'), urls: reads('crawl_url') };
  });
}

it('reads the entries of a site and of its live copy a few times each, whatever the statistics say of them', async () => {
  const { snapshot, entries } = await sealed(pages(10));
  expect(snapshot).toMatchObject({ state: 'ready', removed: 10 });
  expect(entries).toBeLessThan(count * 2 * 20);
});

it('takes over what a run of some pages did not ask for as cheaply', async () => {
  const failed = Object.fromEntries(Array.from({ length: count / 2 }, (_, at) => [`/${11 + at}/`, 404]));
  const { snapshot, entries, urls } = await sealed({ '/new/': 'new' }, { mode: 'partial', failed });
  expect(snapshot).toMatchObject({ removed: count / 2 });
  expect(entries + urls).toBeLessThan(count * 2 * 20);
});
