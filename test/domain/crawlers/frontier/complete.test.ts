import { afterAll, beforeAll, expect, it } from 'vitest';
import { claimUrls } from '../../../../src/domain/crawlers/frontier/claim.ts';
import { completeUrls } from '../../../../src/domain/crawlers/frontier/complete.ts';
import { insertUrls } from '../../../../src/domain/crawlers/frontier/insert-urls.ts';
import { Ledger } from '../../../../src/domain/crawlers/frontier/ledger.ts';
import { outcomeOf } from '../../../../src/domain/crawlers/frontier/outcome.ts';
import { priorities, type UrlDraft, urlHash } from '../../../../src/domain/crawlers/frontier/url-draft.ts';
import { noCounts } from '../../../../src/domain/crawlers/runs/run-counts.ts';
import { beginSnapshot } from '../../../../src/domain/crawlers/snapshots/begin-snapshot.ts';
import type { EntryDraft } from '../../../../src/domain/crawlers/snapshots/entries/insert-entries.ts';
import { startTestApp, type TestApp } from '../../../support/app.ts';
import { queue } from '../../../support/crawlers/crawls.ts';
import { makeCrawler, origin } from '../../../support/crawlers/snapshots.ts';

let app: TestApp;
beforeAll(async () => {
  app = await startTestApp();
});
afterAll(() => app.stop());

const draftOf = (at: string): UrlDraft => ({
  url: `${origin}${at}`,
  kind: 'page',
  is_entry: false,
  follows: true,
  depth: 0,
  priority: priorities.page,
  hop: 0,
  level: 0,
  parent_id: null,
  rule: null,
});

const entryOf = (url: string): EntryDraft => ({
  url,
  url_hash: urlHash(url),
  kind: 'page',
  http_status: 200,
  content_type: 'text/html',
  charset: null,
  headers: { 'content-language': 'nul\u0000 and \ud800' },
  sha256: '0'.repeat(64),
  bytes: 1,
  redirect_to: null,
  etag: null,
  last_modified: null,
  outlinks_sha256: null,
  request_hash: null,
  first_seen_run: 1,
  fetched_at: new Date(),
});

it('writes entries and links of what was still leased, and of nothing else', async () => {
  const em = app.services.orm.em.fork();
  const crawler = await makeCrawler(app);
  const id = await queue(app, crawler.id);
  const snapshot = await beginSnapshot(em, { id, crawler_id: crawler.id, origin }, new Date());
  const drafts = ['/a', '/b', '/c'].map(draftOf);
  await insertUrls(em, id, drafts, new Ledger(noCounts()));
  const limits = { most: 3, depth: 0, hosts: [{ host: 'www.example.com', most: 3 }] };
  const claimed = await claimUrls(em, id, limits, new Ledger(noCounts()));
  await em.execute(`update crawl_url set state = 'pending' where run_id = ? and url like '%/b'`, [id]);
  const outcomes = claimed.map((of) =>
    outcomeOf(of, { state: 'done', http_status: 200, entry: entryOf(of.url), link_keys: [1n, -2n] }),
  );
  const of = { run_id: id, snapshot_id: snapshot.id, epoch: 0 };
  const completed = await completeUrls(em, of, outcomes, new Ledger(noCounts()));
  expect(completed.map(({ of: { url } }) => url)).toEqual([`${origin}/a`, `${origin}/c`]);
  const entries = await em.execute('select url, headers from snapshot_entry where snapshot_id = ? order by url', [
    snapshot.id,
  ]);
  const headers = { 'content-language': 'nul and \ufffd' };
  expect(entries).toEqual([
    { url: `${origin}/a`, headers },
    { url: `${origin}/c`, headers },
  ]);
  const links = await em.execute(
    `select url, to_keys::text from crawl_link join crawl_url using (run_id) where run_id = ? and id = from_id order by url`,
    [id],
  );
  expect(links).toEqual([
    { url: `${origin}/a`, to_keys: '{1,-2}' },
    { url: `${origin}/c`, to_keys: '{1,-2}' },
  ]);
});

it('writes nothing under an epoch that is over', async () => {
  const em = app.services.orm.em.fork();
  const crawler = await makeCrawler(app);
  const id = await queue(app, crawler.id);
  const draft = draftOf('/a');
  await insertUrls(em, id, [draft], new Ledger(noCounts()));
  const limits = { most: 3, depth: 0, hosts: [{ host: 'www.example.com', most: 3 }] };
  const claimed = await claimUrls(em, id, limits, new Ledger(noCounts()));
  await em.execute('update crawler_run set epoch = 2 where id = ?', [id]);
  const outcomes = claimed.map((of) => outcomeOf(of, { state: 'done', http_status: 204 }));
  const of = { run_id: id, snapshot_id: 0, epoch: 1 };
  expect(await completeUrls(em, of, outcomes, new Ledger(noCounts()))).toEqual([]);
  await insertUrls(em, id, [draftOf('/b')], new Ledger(noCounts()), 1);
  const rows = await em.execute('select url, state from crawl_url where run_id = ?', [id]);
  expect(rows).toEqual([{ url: draft.url, state: 'leased' }]);
});
