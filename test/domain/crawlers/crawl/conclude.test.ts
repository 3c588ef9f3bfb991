import { expect, it, vi } from 'vitest';
import { requestEnd } from '../../../../src/domain/crawlers/runs/change-runs.operations.ts';
import { shared, startTestApp } from '../../../support/app.ts';
import { makeCrawler, queue, runOf, workThrough } from '../../../support/crawlers/crawls.ts';
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
