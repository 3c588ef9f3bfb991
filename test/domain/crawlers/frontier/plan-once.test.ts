import type { EntityManager } from '@mikro-orm/postgresql';
import { beforeAll, expect, it } from 'vitest';
import { completeUrls } from '../../../../src/domain/crawlers/frontier/complete.ts';
import { insertUrls } from '../../../../src/domain/crawlers/frontier/insert-urls.ts';
import { leaseUrls } from '../../../../src/domain/crawlers/frontier/lease.ts';
import { Ledger } from '../../../../src/domain/crawlers/frontier/ledger.ts';
import { outcomeOf } from '../../../../src/domain/crawlers/frontier/outcome.ts';
import { planOnce } from '../../../../src/domain/crawlers/frontier/run-row.ts';
import { packKeys } from '../../../../src/domain/crawlers/frontier/url-draft.ts';
import { noCounts } from '../../../../src/domain/crawlers/runs/run-counts.ts';
import { shared, startTestApp } from '../../../support/app.ts';
import { queue } from '../../../support/crawlers/crawls.ts';
import { holdStatistics, readingIn } from '../../../support/crawlers/reads.ts';
import { crawl, makeCrawler, type Page } from '../../../support/crawlers/snapshots.ts';
import { drafts, host } from './drafts.ts';

const count = 3_000;
const batch = 50;
/** A batch reads its own rows a few times, and not those of the run. */
const few = batch * 6;

const app = shared(startTestApp);
const ledger = () => new Ledger(noCounts());

beforeAll(() => holdStatistics(app));

interface Run {
  run_id: number;
  base_id: number;
}

const claim = (em: EntityManager, { run_id, base_id }: Run) =>
  leaseUrls(em, run_id, { most: batch, depth: 9, hosts: [{ host, most: batch }], base_id }, ledger());

type Claimed = Awaited<ReturnType<typeof claim>>;

const complete = (em: EntityManager, run: Run, urls: Claimed, again: Record<string, never> | null) =>
  completeUrls(
    em,
    { ...run, snapshot_id: 0, epoch: 0 },
    urls.map((of) =>
      outcomeOf(of, { state: 'done', http_status: 200, link_keys: packKeys([{ high: 0, low: of.id }]), again }),
    ),
    ledger(),
  );

/** All statements of a batch, in the way a turn sends them. */
async function takeBatch(em: EntityManager, run: Run, size: number) {
  await insertUrls(em, run.run_id, drafts(0, size, 0), ledger());
  const urls = await claim(em, run);
  const half = Math.ceil(urls.length / 2);
  const same = await complete(em, run, urls.slice(0, half), {});
  const plain = await complete(em, run, urls.slice(half), null);
  return [...same, ...plain].length;
}

it('plans that were made for a small frontier look up rows by their keys when it is large', async () => {
  const crawler = await makeCrawler(app);
  const small = await crawl(app, crawler.id, { [drafts(0, 1, 0)[0]?.url ?? '']: 'text' });
  const pages: Record<string, Page> = Object.fromEntries(drafts(0, count, 0).map(({ url }) => [url, 'text']));
  const first: Run = { run_id: await queue(app, crawler.id), base_id: small.snapshot_id ?? 0 };
  const plans = (em: EntityManager) =>
    em.execute<{ statement: string }[]>(
      `select statement from pg_prepared_statements where statement like '%crawl_url%' and custom_plans > 0`,
    );
  await app.services.orm.em.fork().transactional(async (em) => {
    await em.execute(`select ${planOnce}`);
    await insertUrls(em, first.run_id, drafts(0, 1, 1), ledger());
    expect(await takeBatch(em, first, 1)).toBe(1);

    const { snapshot_id } = await crawl(app, crawler.id, pages);
    const second: Run = { run_id: first.run_id, base_id: snapshot_id ?? 0 };
    await insertUrls(em, second.run_id, drafts(0, count, 1), ledger());
    const { result, reads } = await readingIn(em, (within) => takeBatch(within, second, batch));
    expect(result).toBe(batch);
    expect(reads).toBeLessThan(few);
    expect(await plans(em)).toEqual([]);
  });
});
