import { expect, it } from 'vitest';
import { removeExpiredSnapshots } from '../../../src/domain/crawlers/snapshots/retention.ts';
import { seed, shared, startTestApp } from '../../support/app.ts';
import { crawl, endRun, makeCrawler } from '../../support/crawlers/snapshots.ts';

const crawlers = '/api/v2/organizations/acme/projects/site/crawlers';
const never = new AbortController().signal;
const app = shared(startTestApp);

const execute = (sql: string, given: unknown[]) => app.services.orm.em.fork().execute(sql, given);

/** A crawler with three runs and their snapshots, the last of which is live. */
async function threeRuns() {
  const crawler = await makeCrawler(app);
  const make = async (text: string) => {
    const run = await crawl(app, crawler.id, { '/': text });
    return { id: run.id, snapshot: (await endRun(app, run))?.id ?? 0 };
  };
  const [first, second, third] = [await make('one'), await make('two'), await make('three')];
  const at = `${crawlers}/${crawler.uuid}`;
  const get = async (path = '') => (await app.ask('GET', `${at}${path}`)).body;
  const shown = async () => ({
    runs: (await get('/runs')).map(({ snapshot_id }: { snapshot_id: number | null }) => snapshot_id),
    bases: (await get('/snapshots')).map(({ base_id }: { base_id: number | null }) => base_id),
  });
  const remove = async (snapshot: number) => (await app.ask('DELETE', `${at}/snapshots/${snapshot}`)).status;
  return { crawler, at, first, second, third, get, shown, remove };
}

it('a snapshot that was deleted is named neither by its run nor by what was compared with it', async () => {
  const { first, second, third, get, shown, remove } = await threeRuns();
  expect(await shown()).toEqual({
    runs: [third.snapshot, second.snapshot, first.snapshot],
    bases: [second.snapshot, first.snapshot, null],
  });
  expect(await remove(second.snapshot)).toBe(204);
  const left = { runs: [third.snapshot, null, first.snapshot], bases: [null, null] };
  expect(await shown()).toEqual(left);
  expect(await get(`/runs/${second.id}`)).toMatchObject({ last_status: 'completed', snapshot_id: null });
  expect(await get(`/runs/${first.id}`)).toMatchObject({ snapshot_id: first.snapshot });
  expect(await get(`/snapshots/${third.snapshot}`)).toMatchObject({ base_id: null, published: true });
  expect(await get()).toMatchObject({ last_run: { id: third.id, snapshot_id: third.snapshot } });
  // Nor once its row has gone as well.
  await removeExpiredSnapshots(app.services, never);
  expect(await shown()).toEqual(left);
});

it('one that has expired is named, and found with its state, as long as its run is there', async () => {
  const { first, second, get, shown } = await threeRuns();
  await execute(`update snapshot set state = 'expired' where id = ?`, [first.snapshot]);
  await removeExpiredSnapshots(app.services, never);
  expect((await shown()).runs).toContain(first.snapshot);
  expect(await get(`/snapshots/${second.snapshot}`)).toMatchObject({ base_id: first.snapshot });
  expect(await get(`/snapshots/${first.snapshot}`)).toMatchObject({ state: 'expired', preview: null });
  await execute('delete from crawler_run where id = ?', [first.id]);
  await removeExpiredSnapshots(app.services, never);
  expect(await get(`/snapshots/${second.snapshot}`)).toMatchObject({ base_id: null });
});

it('the last run of a crawler does not name one that was deleted', async () => {
  const { crawler, second, third, get, remove } = await threeRuns();
  await execute('update crawler set published_snapshot_id = ? where id = ?', [second.snapshot, crawler.id]);
  expect(await remove(third.snapshot)).toBe(204);
  expect(await get()).toMatchObject({ last_run: { id: third.id, snapshot_id: null } });
});

it('a snapshot that was deleted is not named by its imports', async () => {
  const { at, first, second, get, remove } = await threeRuns();
  await seed(app, { 'README.md': 'ours' });
  const start = async (snapshot: number) =>
    (await app.ask('POST', `${at}/snapshots/${snapshot}/import`, { body: { branch: 'main' } })).body;
  const [gone, there] = [await start(first.snapshot), await start(second.snapshot)];
  expect(gone).toMatchObject({ state: 'queued', snapshot_id: first.snapshot });
  expect(await remove(first.snapshot)).toBe(204);
  expect(await get(`/imports/${gone.id}`)).toEqual({ ...gone, snapshot_id: null });
  expect(await get(`/imports/${there.id}`)).toEqual(there);
});

it('a run that is under way names what it captures', async () => {
  const crawler = await makeCrawler(app);
  const { id, snapshot_id } = await crawl(app, crawler.id, { '/': 'home' });
  await execute(`update crawler_run set status = 'running' where id = ?`, [id]);
  const { body } = await app.ask('GET', `${crawlers}/${crawler.uuid}/runs/${id}`);
  expect(body).toMatchObject({ last_status: 'running', snapshot_id });
});
