import type { EntityManager } from '@mikro-orm/postgresql';
import { beforeAll, expect, it } from 'vitest';
import { RunHosts } from '../../../src/domain/crawlers/crawl/open/open-site.ts';
import { watchRuns } from '../../../src/domain/crawlers/runs/acquire-run.ts';
import { retainCrawls } from '../../../src/domain/crawlers/snapshots/retention.ts';
import { makeLive } from '../../../src/domain/crawlers/snapshots/seal-snapshot.ts';
import { settleDelivery } from '../../../src/domain/notifications/deliver.ts';
import { notify } from '../../../src/domain/notifications/notify.ts';
import { shared, startTestApp } from '../../support/app.ts';
import { crawlersPath, queue, runOf } from '../../support/crawlers/crawls.ts';
import { makeCrawler, makeSnapshot } from '../../support/crawlers/snapshots.ts';
import { overtake } from '../../support/overtake.ts';

const app = shared(startTestApp);
beforeAll(async () => {
  app.services.jobs.send = async () => {};
  app.services.jobs.sendMany = async () => {};
});

const em = () => app.services.orm.em.fork();
const stateOf = async (id: number) =>
  (await em().execute<{ state: string }[]>('select state from snapshot where id = ?', [id]))[0]?.state;

it('two notes of hosts that are written in another order than they were made are both kept', async () => {
  const run = await runOf(app, await queue(app, (await makeCrawler(app)).id));
  const { promise: isWritten, resolve: written } = Promise.withResolvers<void>();
  let isFirst = true;
  const fork = () => ({
    async execute(...args: Parameters<EntityManager['execute']>) {
      if (isFirst) {
        isFirst = false;
        await isWritten;
      }
      return em().execute(...args);
    },
  });
  const hosts = new RunHosts({ orm: { em: { fork } } as never }, run);
  const late = hosts.note('a.test', { is_sibling: true });
  await hosts.note('b.test', { is_down: true });
  await hosts.note('a.test', { is_down: true });
  written();
  await late;
  expect((await runOf(app, run.id)).hosts).toEqual({
    'a.test': { is_sibling: true, is_down: true },
    'b.test': { is_down: true },
  });
});

it('a run that gets further while it is looked at is not given up', async () => {
  const id = await queue(app, (await makeCrawler(app)).id);
  await em().execute(`update crawler_run set status = 'running', takeovers = 3 where id = ?`, [id]);
  const progress = (within: EntityManager) =>
    within.execute('update crawler_run set takeovers = 0, progress_at = now() where id = ?', [id]);
  await overtake(app, progress, () => watchRuns(app.services));
  expect(await runOf(app, id)).toMatchObject({ status: 'running', epoch: 0 });
});

/** A crawler with one more sealed snapshot than are kept whatever their age. @returns the oldest, and how to ask for it */
async function oldSnapshot() {
  const crawler = await makeCrawler(app);
  const ids: number[] = [];
  app.clock.now = new Date(Date.now() - 200 * 24 * 3600_000);
  for (let at = 0; at < 21; at += 1) ids.push((await makeSnapshot(app, crawler.id, { '/': 'home' }))?.id ?? 0);
  app.clock.now = null;
  const [id = 0] = ids;
  return { crawler, id, path: `${crawlersPath}/${crawler.id}/snapshots/${id}` };
}

it('a snapshot that is published while old ones expire stays whole', async () => {
  const { crawler, id } = await oldSnapshot();
  const publish = (within: EntityManager) => makeLive(within, crawler.id, id, new Date());
  await overtake(app, publish, () => retainCrawls(app.services, new AbortController().signal));
  expect(await stateOf(id)).toBe('ready');
});

it.each([
  ['pinned', 'PATCH', '', { pinned: true }],
  ['published', 'POST', '/publish', {}],
])('a snapshot that expires at that moment cannot be %s', async (_what, method, place, body) => {
  const { id, path } = await oldSnapshot();
  const expire = (within: EntityManager) => within.execute(`update snapshot set state = 'expired' where id = ?`, [id]);
  const answer = await overtake(app, expire, () => app.ask(method, `${path}${place}`, { body }));
  expect(answer).toMatchObject({ status: 409, body: { code: 'protected' } });
  expect(await stateOf(id)).toBe('expired');
});

it('a notification whose last attempt fails while it is requested again is tried again', async () => {
  const crawler = await makeCrawler(app, { webhook_url: 'https://receiver.test/' });
  const row = { id: crawler.id, uuid: crawler.uuid };
  const id = (await em().transactional((within) => notify(within, app.services, row as never, 'crawler.test'))) ?? 0;
  const fail = (within: EntityManager) => settleDelivery(within, id, 0, { status: 'failed', next_attempt_at: null });
  const path = `${crawlersPath}/${crawler.id}/webhook/deliveries/${id}`;
  expect((await overtake(app, fail, () => app.ask('POST', `${path}/resend`))).status).toBe(202);
  expect((await app.ask('GET', path)).body).toMatchObject({ status: 'pending', next_attempt_at: expect.anything() });
});
