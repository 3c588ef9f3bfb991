import { expect, it } from 'vitest';
import { collectOutputs } from '../../../../src/domain/studio/deployments/collect-outputs.ts';
import { shared, startTestApp } from '../../../support/app.ts';
import { makeCrawler, makeSnapshot } from '../../../support/crawlers/snapshots.ts';

const day = 24 * 3600_000;
const app = shared(startTestApp);

it('a sweep keeps what entries of snapshots refer to, and takes the rest once it is a day old', async () => {
  const { services, clock } = app;
  const crawler = await makeCrawler(app);
  const pages = Object.fromEntries(
    Array.from({ length: 300 }, (_, at) => [`/${at}/`, { body: `page ${at}`, outlinks: `links of ${at}` }]),
  );
  await makeSnapshot(app, crawler.id, { '/': 'home', ...pages });
  const orphan = await services.blobs.put(Buffer.from('nobody refers to this'));
  const rows = await services.orm.em
    .fork()
    .execute<{ sha256: string; outlinks_sha256: string | null }[]>(
      'select sha256, outlinks_sha256 from snapshot_entry',
    );
  const referred = rows.flatMap(({ sha256, outlinks_sha256 }) => [sha256, outlinks_sha256 ?? []].flat());
  expect(referred.length).toBe(601);
  const sizes = async () =>
    (await Promise.all(referred.map((each) => services.blobs.sizes(each)))).filter(Boolean).length;

  await collectOutputs(services);
  expect(await services.blobs.sizes(orphan.sha256)).not.toBeNull();
  clock.now = new Date(Date.now() + 2 * day);
  await collectOutputs(services);
  expect(await services.blobs.sizes(orphan.sha256)).toBeNull();
  expect(await sizes()).toBe(601);

  await services.orm.em.fork().execute('delete from snapshot');
  await collectOutputs(services);
  clock.now = null;
  expect(await sizes()).toBe(0);
});
