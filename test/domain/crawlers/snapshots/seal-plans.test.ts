import { beforeAll, expect, it } from 'vitest';
import { sealSnapshot } from '../../../../src/domain/crawlers/snapshots/seal-snapshot.ts';
import { shared, startTestApp } from '../../../support/app.ts';
import { holdStatistics, reading } from '../../../support/crawlers/reads.ts';
import { crawl, type MadeRun, makeCrawler, makeSnapshot, type Page } from '../../../support/crawlers/snapshots.ts';

const count = 400;
const pages = (from: number): Record<string, Page> =>
  Object.fromEntries(Array.from({ length: count }, (_, at) => [at === 0 ? '/' : `/${from + at}/`, 'text']));

const app = shared(startTestApp);
let crawler: { id: number };
/** The statistics know of one small snapshot, as they do when the next is sealed before they are made anew. */
beforeAll(async () => {
  const { analyse } = await holdStatistics(app);
  crawler = await makeCrawler(app);
  await makeSnapshot(app, crawler.id, { '/': 'home', '/about/': 'about' });
  await analyse();
  await makeSnapshot(app, crawler.id, pages(0));
});

/** Seals a run. @returns also how many rows that has read */
async function sealed(made: Record<string, Page>, run: MadeRun = {}) {
  const ended = await crawl(app, crawler.id, made, run);
  return reading(app, (em) => sealSnapshot(em, app.services, ended));
}

it('reads the entries of a site and of its live copy a few times each, whatever the statistics say of them', async () => {
  const { result, reads } = await sealed(pages(10));
  expect(result).toMatchObject({ state: 'ready', removed: 10 });
  expect(reads).toBeLessThan(count * 2 * 3);
});

it('takes over what a run of some pages did not ask for as cheaply', async () => {
  const failed = Object.fromEntries(Array.from({ length: count / 2 }, (_, at) => [`/${11 + at}/`, 404]));
  const { result, reads } = await sealed({ '/new/': 'new' }, { mode: 'partial', failed });
  expect(result).toMatchObject({ removed: count / 2 });
  expect(reads).toBeLessThan(count * 2 * 20);
});
