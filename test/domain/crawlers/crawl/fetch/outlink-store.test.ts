import { readdir, readFile, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { expect, it } from 'vitest';
import { OutlinkStore } from '../../../../../src/domain/crawlers/crawl/fetch/outlinks.ts';
import type { LeasedUrl } from '../../../../../src/domain/crawlers/frontier/lease.ts';
import { type Outcome, outcomeOf } from '../../../../../src/domain/crawlers/frontier/outcome.ts';
import { packKeys } from '../../../../../src/domain/crawlers/frontier/url-draft.ts';
import type { EntryDraft } from '../../../../../src/domain/crawlers/snapshots/snapshot-entries.ts';
import type { BlobStore } from '../../../../../src/ports/blobs.ts';
import { shared, startTestApp } from '../../../../support/app.ts';
import { expectCountsOfRows, makeCrawler, queue, workThrough } from '../../../../support/crawlers/crawls.ts';
import { serveSite } from '../../../../support/sites/site-server.ts';
import { treeSite } from '../../../../support/sites/tree.ts';

const site = shared(() => serveSite(tree.site));
const app = shared(() => startTestApp({ PORTICO_TRUSTED_DOMAINS: site.host }));
const tree = treeSite();

const linking = (to = 'https://site.test/a'): Outcome =>
  outcomeOf({ url: 'https://site.test/' } as LeasedUrl, {
    state: 'done',
    entry: { etag: '"1"', last_modified: 'now', outlinks_sha256: null } as EntryDraft,
    outlinks: { links: [[to, 'a']], assets: [], canonical: null },
    link_keys: packKeys([{ high: 0, low: 7 }]),
  });
const log = { debug: () => {} };

/** Where a blob lies. */
const fileOf = (name: string) => {
  const blobs = path.join(path.dirname(path.dirname(app.directory('x'))), 'blobs');
  return path.join(blobs, name.slice(0, 2), name.slice(2));
};

const replaced = (from: string, to: string) => (text: string) => {
  expect(text).toContain(from);
  return text.replace(from, to);
};

/** What may have become of a kept list on the disk; `case` is in an address of it. */
const damages: [name: string, damage: (text: string) => string][] = [
  ['an address that is another one', replaced('/case', '/caze')],
  ['addresses that are not JSON any more', replaced('"links"', '"links')],
  ['keys of other links', replaced('AAAAAAAAAAc=', 'AAAAAAAAAAg=')],
  ['keys cut short', replaced('AAAAAAAAAAc=', 'AAAAAAA=')],
  ['a head that is not JSON any more', replaced('["', '[')],
  ['a file cut short in its last line', (text) => text.slice(0, -20)],
  ['a file cut short after its head', (text) => text.slice(0, text.indexOf('\n'))],
  ['an empty file', () => ''],
  ['another content', () => '["https://site.test/",null,0,""]\n{"links":[],"assets":[],"canonical":null}'],
];

it('fetches pages in full the next time whose links were not stored', async () => {
  const full = { put: () => Promise.reject(new Error('no room')) } as unknown as BlobStore;
  const outcome = linking();
  await new OutlinkStore(full).keep([outcome], log);
  expect(outcome.entry).toEqual({ etag: null, last_modified: null, outlinks_sha256: null });
});

it('names what it keeps, and reads it once', async () => {
  const outcome = linking();
  const { blobs } = app.services;
  const reads: string[] = [];
  const read = (sha256: string) => {
    reads.push(sha256);
    return blobs.read(sha256);
  };
  const store = new OutlinkStore({ ...blobs, read });
  await store.keep([outcome], log);
  const sha256 = outcome.entry?.outlinks_sha256 ?? '';
  const [linksOf, again] = await Promise.all([store.read(new Set([sha256])), store.read(new Set([sha256]))]);
  expect(linksOf(sha256, 'https://site.test/')?.outlinks()).toEqual(outcome.outlinks);
  expect(again(sha256, 'https://site.test/other')).toBeNull();
  expect((await store.read(new Set([sha256, '0'.repeat(64)])))('0'.repeat(64), 'https://site.test/')).toBeNull();
  expect(reads).toEqual([sha256, '0'.repeat(64)]);
});

it('reads more at once than it remembers', async () => {
  const store = new OutlinkStore(app.services.blobs);
  const outcomes = Array.from({ length: 12 }, (_, at) => linking(`https://site.test/${at}?${'a'.repeat(2 ** 20)}`));
  for (const outcome of outcomes) await store.keep([outcome], log);
  const names = outcomes.map(({ entry }) => entry?.outlinks_sha256 ?? '');
  const linksOf = await store.read(new Set(names));
  for (const [at, { outlinks }] of outcomes.entries())
    expect(linksOf(names[at] as string, 'https://site.test/')?.outlinks()).toEqual(outlinks);
});

it.each(damages)('counts links as gone when their file is damaged: %s', async (name, damage) => {
  const store = new OutlinkStore(app.services.blobs);
  const outcome = linking(`https://site.test/case?${encodeURIComponent(name)}`);
  await store.keep([outcome], log);
  const sha256 = outcome.entry?.outlinks_sha256 ?? '';
  await writeFile(fileOf(sha256), damage(await readFile(fileOf(sha256), 'utf8')));
  expect((await store.read(new Set([sha256])))(sha256, 'https://site.test/')).toBeNull();
});

it('asks for pages whole whose links are gone or damaged, and follows them', async () => {
  const id = await makeCrawler(app, site.host);
  await workThrough(app, await queue(app, id));
  const rows = await app.services.orm.em
    .fork()
    .execute<{ name: string }[]>(
      'select distinct outlinks_sha256 as name from snapshot_entry where outlinks_sha256 <> ?',
      [''],
    );
  expect(rows.length).toBeGreaterThan(2);
  const damage = (text: string) => text.replaceAll('"links"', '"links');
  for (const [at, { name }] of rows.slice(1).entries()) {
    expect(await readdir(path.dirname(fileOf(name)))).toContain(name.slice(2));
    if (at % 2 === 0) await writeFile(fileOf(name), damage(await readFile(fileOf(name), 'utf8')));
    else await rm(fileOf(name));
  }
  site.become(tree.site);
  const again = await workThrough(app, await queue(app, id));
  await expectCountsOfRows(app, again.id);
  expect(again).toMatchObject({ status: 'completed', counts: { html: 781, assets: 784, captured: 1565, removed: 0 } });
  expect(again.counts.unchanged_hash).toBeGreaterThan(0);
  expect(again.counts.unchanged_304).toBeGreaterThan(0);
  expect(site.paths().sort()).toEqual([...tree.pages, ...tree.assets].sort());
});
