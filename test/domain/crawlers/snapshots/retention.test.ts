import { beforeEach, describe, expect, it } from 'vitest';
import { spaceTaken } from '../../../../src/domain/crawlers/crawl/loop/crawl-loop.ts';
import { tickImports } from '../../../../src/domain/crawlers/snapshots/import/import-snapshot.operations.ts';
import { removeExpiredSnapshots, retainCrawls } from '../../../../src/domain/crawlers/snapshots/retention.ts';
import { createProject } from '../../../../src/domain/projects/projects.operations.ts';
import { shared, startTestApp } from '../../../support/app.ts';
import { crawl, endRun, makeCrawler, makeSnapshot } from '../../../support/crawlers/snapshots.ts';

const day = 24 * 3600_000;
const never = new AbortController().signal;
const app = shared(startTestApp);
let crawler: { id: number };
beforeEach(async () => {
  crawler = await makeCrawler(app);
});

const em = () => app.services.orm.em.fork();
const ask = <T extends object>(sql: string, parameters: unknown[] = []) => em().execute<T[]>(sql, parameters);
const counted = async (table: string, column: string, id: number) =>
  Number((await ask<{ count: string }>(`select count(*) from ${table} where ${column} = ?`, [id]))[0]?.count);

const snapshotAt = async (daysAgo: number, pages: Record<string, string> = { '/': 'home' }) => {
  app.clock.now = new Date(Date.now() - daysAgo * day);
  const made = await makeSnapshot(app, crawler.id, pages);
  app.clock.now = null;
  return made?.id ?? 0;
};

const states = async () =>
  Object.fromEntries(
    (
      await ask<{ id: number; state: string }>('select id, state from snapshot where crawler_id = ? order by id', [
        crawler.id,
      ])
    ).map(({ id, state }) => [id, state]),
  );

describe('snapshots', () => {
  it('the last twenty and all of 90 days stay, with those that are pinned or live', async () => {
    const ids: number[] = [];
    for (let at = 0; at < 25; at += 1) ids.push(await snapshotAt(200 - at));
    const [pinned = 0, live = 0, old = 0, , fifth = 0, sixth = 0] = ids;
    await ask('update snapshot set pinned = true where id = ?', [pinned]);
    await ask('update crawler set published_snapshot_id = ? where id = ?', [live, crawler.id]);
    await retainCrawls(app.services, never);
    const after = await states();
    expect([pinned, live, old, fifth, sixth].map((id) => after[id])).toEqual([
      'ready',
      'ready',
      'expired',
      'expired',
      'ready',
    ]);
    expect(Object.values(after).filter((state) => state === 'ready').length).toBe(22);
    expect(await counted('snapshot_entry', 'snapshot_id', old)).toBe(0);
    expect(await counted('snapshot_entry', 'snapshot_id', sixth)).toBe(1);
  });

  it('young ones stay however many there are: 90 days, and one beyond', async () => {
    const older = await snapshotAt(90.01);
    const younger = await snapshotAt(89.99);
    for (let at = 0; at < 21; at += 1) await snapshotAt(10);
    await retainCrawls(app.services, never);
    expect(await states()).toMatchObject({ [older]: 'expired', [younger]: 'ready' });
  });

  it('the newest sealed one stays, and one that is being captured is left alone', async () => {
    const only = await snapshotAt(1000);
    await ask('update crawler set published_snapshot_id = null where id = ?', [crawler.id]);
    const { snapshot_id } = await crawl(app, crawler.id, { '/': 'home' });
    await retainCrawls(app.services, never);
    expect(await states()).toEqual({ [only]: 'ready', [snapshot_id ?? 0]: 'building' });
  });

  it('what was discarded goes with its rows, what has expired stays as a line while its run does', async () => {
    const run = await crawl(app, crawler.id, { '/': 'home', '/a': 'a' }, { status: 'canceled' });
    await endRun(app, run);
    const expired = await snapshotAt(5);
    await ask(`update snapshot set state = 'expired' where id = ?`, [expired]);
    await removeExpiredSnapshots(app.services, never);
    expect(await states()).toEqual({ [expired]: 'expired' });
    expect(await counted('snapshot_entry', 'snapshot_id', run.snapshot_id ?? 0)).toBe(0);
    await ask('delete from crawler_run where crawler_id = ?', [crawler.id]);
    await ask('update crawler set published_snapshot_id = null where id = ?', [crawler.id]);
    await removeExpiredSnapshots(app.services, never);
    expect(await states()).toEqual({});
  });
});

describe('runs', () => {
  it('lose their frontier 30 days after their end and go after 365, but for those of a kept snapshot', async () => {
    const ended = async (daysAgo: number, status: 'completed' | 'canceled' = 'canceled') => {
      const run = await crawl(app, crawler.id, { '/': 'home' }, { status });
      await endRun(app, run);
      await ask('insert into crawl_link (run_id, from_id, to_keys) values (?, 1, array[2])', [run.id]);
      await ask('update crawler_run set completed_at = ? where id = ?', [new Date(Date.now() - daysAgo * day), run.id]);
      return run.id;
    };
    const [young, month, year, kept] = [
      await ended(29.9),
      await ended(30.1),
      await ended(365.1),
      await ended(400, 'completed'),
    ];
    await retainCrawls(app.services, never);
    const left = async (id: number) => [
      await counted('crawler_run', 'id', id),
      await counted('crawl_url', 'run_id', id),
      await counted('crawl_link', 'run_id', id),
    ];
    expect(await Promise.all([young, month, year, kept].map(left))).toEqual([
      [1, 1, 1],
      [1, 0, 0],
      [0, 0, 0],
      [1, 0, 0],
    ]);
  });
});

it('deleted crawlers go after 30 days with all they had', async () => {
  await snapshotAt(1);
  const other = await makeCrawler(app);
  await ask('update crawler set deleted_at = ? where id = ?', [new Date(Date.now() - 30.1 * day), crawler.id]);
  await ask('update crawler set deleted_at = ? where id = ?', [new Date(Date.now() - 29.9 * day), other.id]);
  await retainCrawls(app.services, never);
  expect([await counted('crawler', 'id', crawler.id), await counted('crawler', 'id', other.id)]).toEqual([0, 1]);
  expect(await counted('snapshot', 'crawler_id', crawler.id)).toBe(0);
});

it('rows of frontiers, links and snapshots go with their crawler at once', async () => {
  const { id, snapshot_id } = await crawl(app, crawler.id, { '/': 'home' });
  await ask('insert into crawl_link (run_id, from_id, to_keys) values (?, 1, array[2])', [id]);
  const left = async () => [
    await counted('crawl_url', 'run_id', id),
    await counted('crawl_link', 'run_id', id),
    await counted('snapshot_entry', 'snapshot_id', snapshot_id ?? 0),
  ];
  expect(await left()).toEqual([1, 1, 1]);
  await ask('delete from crawler where id = ?', [crawler.id]);
  expect(await left()).toEqual([0, 0, 0]);
});

it('contents count once for an organisation, and a run’s own not at all', async () => {
  await app.run(createProject, { organization: 'acme', name: 'Second', machine_name: 'second' });
  const [{ id: organization = 0 } = {}] = await ask<{ id: number }>(
    `select id from organization where machine_name = 'acme'`,
  );
  const used = async (run: number) => (await spaceTaken(em(), organization, run)).bytes;
  const before = await used(0);
  const second = await makeCrawler(app, { project: 'second' });
  for (const { id } of [crawler, second])
    await makeSnapshot(app, id, { '/': 'quota: shared', '/own': `quota: of ${id}` });
  const [one, two] = [crawler, second].map(({ id }) => `quota: of ${id}`.length);
  expect(await used(0)).toBe(before + 'quota: shared'.length + (one ?? 0) + (two ?? 0));
  const [{ run_id = 0 } = {}] = await ask<{ run_id: number }>('select run_id from snapshot where crawler_id = ?', [
    second.id,
  ]);
  expect(await used(run_id)).toBe(before + 'quota: shared'.length + (one ?? 0));
  expect((await spaceTaken(em(), organization + 1, 0)).bytes).toBe(0);
});

it.each([
  ['that wait for longer than a minute', 61_000],
  ['from before the clock was set back', -3_600_000],
])('imports %s are woken', async (_which, passed) => {
  const id = await snapshotAt(1);
  const path = `/api/v2/organizations/acme/projects/site/crawlers/${crawler.id}/snapshots/${id}/import`;
  const sent: unknown[] = [];
  const services = {
    ...app.services,
    jobs: {
      ...app.services.jobs,
      send: async (_kind: unknown, payload: unknown, { group = '' } = {}) => void sent.push([payload, group]),
    },
  };
  const { body } = await app.ask('POST', path, { body: { branch: 'main' } });
  await tickImports(services);
  const [{ group = '' } = {}] = await ask<{ group: string }>(
    `select id::text as group from organization where machine_name = 'acme'`,
    [],
  );
  const job = [{ import_id: body.id }, group];
  expect(sent).not.toContainEqual(job);
  app.clock.now = new Date(Date.now() + passed);
  await tickImports(services);
  app.clock.now = null;
  expect(sent).toContainEqual(job);
});
