import type { EntityManager } from '@mikro-orm/postgresql';
import { beforeAll, expect, it } from 'vitest';
import { completeUrls } from '../../../../src/domain/crawlers/frontier/complete.ts';
import { insertUrls } from '../../../../src/domain/crawlers/frontier/insert-urls.ts';
import { leaseUrls } from '../../../../src/domain/crawlers/frontier/lease.ts';
import { Ledger } from '../../../../src/domain/crawlers/frontier/ledger.ts';
import { outcomeOf } from '../../../../src/domain/crawlers/frontier/outcome.ts';
import { packKeys } from '../../../../src/domain/crawlers/frontier/url-draft.ts';
import { noCounts } from '../../../../src/domain/crawlers/runs/run-counts.ts';
import { shared, startTestApp } from '../../../support/app.ts';
import { queue } from '../../../support/crawlers/crawls.ts';
import { holdStatistics, reading } from '../../../support/crawlers/reads.ts';
import { crawl, makeCrawler, type Page } from '../../../support/crawlers/snapshots.ts';
import { drafts, host } from './drafts.ts';

const count = 3_000;
const batch = 50;

const app = shared(startTestApp);
let run_id: number;
const em = () => app.services.orm.em.fork();
const ledger = () => new Ledger(noCounts());

/** Of the run that is looked at the statistics know nothing: they were made when there was only an earlier one, which is done. */
beforeAll(async () => {
  const { analyse } = await holdStatistics(app);
  const crawler = await makeCrawler(app);
  await crawl(app, crawler.id, { '/': 'home' });
  const earlier = await queue(app, crawler.id);
  await insertUrls(em(), earlier, drafts(0, count, 1), ledger());
  await em().execute(`update crawl_url set state = 'done'`);
  await analyse();
  run_id = await queue(app, crawler.id);
  await insertUrls(em(), run_id, drafts(0, count, 2), ledger());
});

/** A batch reads its own rows a few times, and not those of the run. */
const few = batch * 6;

it('claims and completes a batch without reading the rest of the run', async () => {
  const limits = { most: batch, depth: 9, hosts: [{ host, most: batch }] };
  const claim = await reading(app, (within) => leaseUrls(within, run_id, limits, ledger()));
  expect(claim.result.map(({ url }) => url)).toEqual(drafts(0, batch, 2).map(({ url }) => url));
  expect(claim.reads).toBeLessThan(few);
  const outcomes = claim.result.map((of) => outcomeOf(of, { state: 'done', http_status: 204 }));
  const complete = await reading(app, (within) =>
    completeUrls(within, { run_id, snapshot_id: 0, epoch: 0 }, outcomes, ledger()),
  );
  expect(complete.result).toHaveLength(batch);
  expect(complete.reads).toBeLessThan(few);
});

it('writes a batch without looking its run up for each row', async () => {
  const links = packKeys(Array.from({ length: batch }, (_, at) => ({ high: 0, low: at })));
  const write = async (within: EntityManager) => {
    await insertUrls(within, run_id, drafts(count, count + batch, 2), ledger());
    const limits = { most: batch, depth: 9, hosts: [{ host, most: batch }] };
    const outcomes = (await leaseUrls(within, run_id, limits, ledger())).map((of) =>
      outcomeOf(of, { state: 'done', http_status: 204, link_keys: links }),
    );
    return completeUrls(within, { run_id, snapshot_id: 0, epoch: 0 }, outcomes, ledger());
  };
  const { result, reads } = await reading(app, write, ['crawler_run', 'snapshot']);
  expect(result).toHaveLength(batch);
  expect(reads).toBeLessThan(batch);
});

it('finds shorter ways to URLs without reading the rest of the run', async () => {
  const at = count - batch;
  const { result, reads } = await reading(app, (within) => insertUrls(within, run_id, drafts(at, count, 1), ledger()));
  expect(result.size).toBe(batch);
  expect(reads).toBeLessThan(few);
  const [row] = await em().execute<{ count: string }[]>(
    'select count(*) from crawl_url where run_id = ? and depth = 1',
    [run_id],
  );
  expect(Number(row?.count)).toBe(batch);
});

it('looks entries of an earlier snapshot up without reading the rest of it', async () => {
  const crawler = await makeCrawler(app);
  const pages: Record<string, Page> = Object.fromEntries(drafts(0, count, 0).map(({ url }) => [url, 'text']));
  const { snapshot_id } = await crawl(app, crawler.id, pages);
  const run = await queue(app, crawler.id);
  await insertUrls(em(), run, drafts(count - batch, count, 0), ledger());
  const limits = { most: batch, depth: 9, hosts: [{ host, most: batch }], base_id: snapshot_id };
  const { result, reads } = await reading(app, (within) => leaseUrls(within, run, limits, ledger()));
  expect(reads).toBeLessThan(few);
  const again = result.map((of) => outcomeOf(of, { state: 'done', again: {} }));
  const kept = { run_id: run, snapshot_id: 0, base_id: snapshot_id ?? 0, epoch: 0 };
  const written = await reading(app, (within) => completeUrls(within, kept, again, ledger()));
  expect(written.result).toHaveLength(batch);
  expect(written.reads).toBeLessThan(few);
  expect(result.flatMap(({ earlier }) => earlier?.http_status ?? [])).toEqual(Array.from({ length: batch }, () => 200));
  expect(reads).toBeLessThan(few);
});
