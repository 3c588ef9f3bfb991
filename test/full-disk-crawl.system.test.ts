import { randomBytes } from 'node:crypto';
import { readdir, stat } from 'node:fs/promises';
import path from 'node:path';
import { afterEach, beforeEach, expect } from 'vitest';
import { Crawler } from '../src/domain/crawlers/config/crawler.entity.ts';
import { startTestApp, type TestApp } from './support/app.ts';
import { makeCrawler, queue, urlsOf, workThrough } from './support/crawlers/crawls.ts';
import { links, page, type SiteServer, serveSite } from './support/sites/site-server.ts';
import { asRoot, removeDisks, smallDisk } from './support/small-disk.ts';

let app: TestApp;
let site: SiteServer;
beforeEach(async () => {
  site = await serveSite(() => page('Start'));
  app = await startTestApp({ PORTICO_TRUSTED_DOMAINS: site.host });
});
afterEach(async () => {
  removeDisks();
  await app.stop();
  await site.close();
});

asRoot('a disk that is full ends a crawl, stores nothing by halves, and leaves the live copy', async () => {
  const blobs = path.join(path.dirname(path.dirname(app.directory('x'))), 'blobs');
  await smallDisk(blobs);

  const id = await makeCrawler(app, site.host);
  expect(await workThrough(app, await queue(app, id))).toMatchObject({ status: 'completed', counts: { html: 1 } });
  const live = async () => (await app.services.orm.em.fork().findOneOrFail(Crawler, { id })).published_snapshot_id;
  const published = await live();
  expect(published).toEqual(expect.any(Number));

  const large = new Map(Array.from({ length: 20 }, (_, at) => [`/large-${at}`, randomBytes(1024 * 1024)]));
  site.become(({ path: at }) => {
    const body = large.get(at);
    if (body) return { headers: { 'Content-Type': 'application/pdf' }, body };
    return page('Start again', links(large.keys()));
  });
  const run = await workThrough(app, await queue(app, id));
  expect(run).toMatchObject({ status: 'stopped', finish_reason: 'server_limit' });
  expect(await live()).toBe(published);

  const names = await readdir(blobs, { recursive: true, withFileTypes: true });
  const files = names.filter((entry) => entry.isFile()).map((entry) => path.join(entry.parentPath, entry.name));
  expect(files.filter((file) => file.includes('/incoming/'))).toEqual([]);
  for (const { sha256, bytes } of await urlsOf(app, run.id)) {
    if (sha256 == null) continue;
    expect((await stat(path.join(blobs, sha256.slice(0, 2), sha256.slice(2)))).size).toBe(Number(bytes));
  }
});
