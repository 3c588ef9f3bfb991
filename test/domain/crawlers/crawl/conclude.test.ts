import { expect, it, vi } from 'vitest';
import { workOnRun } from '../../../../src/domain/crawlers/crawl/work-on-run.ts';
import { requestEnd } from '../../../../src/domain/crawlers/runs/change-runs.operations.ts';
import { crawlJob } from '../../../../src/domain/crawlers/runs/queue-run.ts';
import { shared, startTestApp } from '../../../support/app.ts';
import { makeCrawler, queue, quick, runOf, workThrough } from '../../../support/crawlers/crawls.ts';
import { page, serveSite } from '../../../support/sites/site-server.ts';

const site = shared(() => serveSite(({ path }) => (path === '/' ? page('Start') : undefined)));
const app = shared(() => startTestApp({ PORTICO_TRUSTED_DOMAINS: site.host }));

/** Asks for the end of a run once its last slice has decided how it ends, and before that is written. */
function askAtTheLast(id: number, request: 'stop' | 'cancel') {
  return vi.spyOn(app.services.browser, 'forget').mockImplementationOnce(async () => {
    const run = await runOf(app, id);
    await app.services.orm.em.fork().transactional((em) => requestEnd(em, app.services, run, request));
  });
}

it('is canceled when that was requested before its end was written, and discards what it captured', async () => {
  const id = await queue(app, await makeCrawler(app, site.host));
  const requested = askAtTheLast(id, 'cancel');
  const run = await workThrough(app, id);
  expect(requested).toHaveBeenCalledOnce();
  expect(run).toMatchObject({ status: 'canceled', finish_reason: 'user', snapshot_id: null });
  expect(run.counts).toMatchObject({ html: 1, captured: 1 });
});

it('has failed no more once it is canceled', async () => {
  const id = await queue(app, await makeCrawler(app, site.host, { start_urls: ['/gone'] }));
  askAtTheLast(id, 'cancel');
  expect(await workThrough(app, id)).toMatchObject({ status: 'canceled', finish_reason: 'user', finish_message: null });
});

it('is completed when a stop comes after all was done', async () => {
  const id = await queue(app, await makeCrawler(app, site.host));
  askAtTheLast(id, 'stop');
  expect(await workThrough(app, id)).toMatchObject({ status: 'completed', finish_reason: 'done' });
});

it('wakes the run of its organisation that is to end or has waited longest, when it goes on later', async () => {
  const others = [await makeCrawler(app, site.host), await makeCrawler(app, site.host)];
  const [first, second] = [await queue(app, others[0] ?? 0), await queue(app, others[1] ?? 0)];
  const id = await queue(app, await makeCrawler(app, site.host));
  const woken = vi.spyOn(app.services.jobs, 'sendMany');
  await workOnRun(app.services, id, { ...quick, budget: -1 });
  await workOnRun(app.services, first, { ...quick, budget: -1 });
  const run = await runOf(app, id);
  expect(run.status).toBe('running');
  await app.services.orm.em.fork().transactional((em) => requestEnd(em, app.services, run, 'cancel'));
  await workOnRun(app.services, second, { ...quick, budget: -1 });
  const ids = woken.mock.calls.flatMap(([kind, payloads]) => (kind === crawlJob ? payloads : []));
  expect(ids).toEqual([{ run_id: first }, { run_id: second }, { run_id: id }]);
});
