import { describe, expect, it } from 'vitest';
import { beginSnapshot } from '../../../../src/domain/crawlers/crawl/open/provision.ts';
import { completeUrls } from '../../../../src/domain/crawlers/frontier/complete.ts';
import { insertUrls } from '../../../../src/domain/crawlers/frontier/insert-urls.ts';
import { type LeasedUrl, leaseUrls } from '../../../../src/domain/crawlers/frontier/lease.ts';
import { Ledger } from '../../../../src/domain/crawlers/frontier/ledger.ts';
import { type EntryAgain, type Outcome, outcomeOf } from '../../../../src/domain/crawlers/frontier/outcome.ts';
import { packKeys, priorities, type UrlDraft, urlHash } from '../../../../src/domain/crawlers/frontier/url-draft.ts';
import { noCounts } from '../../../../src/domain/crawlers/runs/run-counts.ts';
import { type EntryDraft, insertEntries } from '../../../../src/domain/crawlers/snapshots/snapshot-entries.ts';
import { shared, startTestApp } from '../../../support/app.ts';
import { queue } from '../../../support/crawlers/crawls.ts';
import { makeCrawler, origin } from '../../../support/crawlers/snapshots.ts';

const app = shared(startTestApp);

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
  const claimed = await leaseUrls(em, id, limits, new Ledger(noCounts()));
  await em.execute(`update crawl_url set state = 'pending' where run_id = ? and url like '%/b'`, [id]);
  const outcomes = claimed.map((of) =>
    outcomeOf(of, {
      state: 'done',
      http_status: 200,
      entry: entryOf(of.url),
      link_keys: packKeys([
        { high: 0, low: 1 },
        { high: -1, low: -2 },
      ]),
    }),
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
  const claimed = await leaseUrls(em, id, limits, new Ledger(noCounts()));
  await em.execute('update crawler_run set epoch = 2 where id = ?', [id]);
  const outcomes = claimed.map((of) => outcomeOf(of, { state: 'done', http_status: 204 }));
  const of = { run_id: id, snapshot_id: 0, epoch: 1 };
  expect(await completeUrls(em, of, outcomes, new Ledger(noCounts()))).toEqual([]);
  await insertUrls(em, id, [draftOf('/b')], new Ledger(noCounts()), 1);
  const rows = await em.execute('select url, state from crawl_url where run_id = ?', [id]);
  expect(rows).toEqual([{ url: draft.url, state: 'leased' }]);
});

describe('what an earlier snapshot has', () => {
  /** A claimed URL of a new run whose earlier snapshot has an entry of it. */
  async function claimedAgain() {
    const em = app.services.orm.em.fork();
    const crawler = await makeCrawler(app);
    const earlier = await queue(app, crawler.id);
    const base = await beginSnapshot(em, { id: earlier, crawler_id: crawler.id, origin }, new Date());
    const before = { ...entryOf(`${origin}/a`), etag: '"1"', last_modified: 'then', outlinks_sha256: '1'.repeat(64) };
    await insertEntries(em, base.id, [before]);
    const id = await queue(app, crawler.id);
    const snapshot = await beginSnapshot(em, { id, crawler_id: crawler.id, origin }, new Date());
    await insertUrls(em, id, [draftOf('/a'), draftOf('/b')], new Ledger(noCounts()));
    const limits = { most: 2, depth: 0, hosts: [{ host: 'www.example.com', most: 2 }], base_id: base.id };
    const claimed = await leaseUrls(em, id, limits, new Ledger(noCounts()));
    return { em, claimed, of: { run_id: id, snapshot_id: snapshot.id, base_id: base.id, epoch: 0 } };
  }
  const unchanged = (of: LeasedUrl, again: EntryAgain): Outcome =>
    outcomeOf(of, {
      state: 'done',
      http_status: 200,
      change: 'unchanged_304',
      sha256: '0'.repeat(64),
      again,
      link_keys: packKeys([{ high: 0, low: 3 }]),
    });

  it('comes along with what is claimed', async () => {
    const { claimed } = await claimedAgain();
    expect(claimed.map(({ url, earlier }) => [url, earlier?.etag, earlier?.is_young])).toEqual([
      [`${origin}/a`, '"1"', true],
      [`${origin}/b`, undefined, undefined],
    ]);
  });

  it('is written again, but for what the answer says anew', async () => {
    const { em, claimed, of } = await claimedAgain();
    const ledger = new Ledger(noCounts());
    const [a] = claimed;
    const completed = await completeUrls(em, of, a ? [unchanged(a, { etag: '"2"' })] : [], ledger);
    expect(completed).toHaveLength(1);
    expect(ledger.counts).toMatchObject({ requests: 1, captured: 1, unchanged_304: 1 });
    const columns = `url, kind, http_status, content_type, headers, sha256, bytes, redirect_to, last_modified, outlinks_sha256, first_seen_run, fetched_at`;
    const entriesOf = (id: number) => em.execute(`select ${columns} from snapshot_entry where snapshot_id = ?`, [id]);
    expect(await entriesOf(of.snapshot_id)).toEqual(await entriesOf(of.base_id));
    expect(await em.execute('select etag from snapshot_entry where snapshot_id = ?', [of.snapshot_id])).toEqual([
      { etag: '"2"' },
    ]);
    const rows = await em.execute(
      `select state, attempts, http_status, bytes::integer as bytes, change, from_cache, to_keys::text from crawl_url
       left join crawl_link on from_id = id where crawl_url.run_id = ? order by url`,
      [of.run_id],
    );
    expect(rows).toEqual([
      {
        state: 'done',
        attempts: 1,
        http_status: 200,
        bytes: 1,
        change: 'unchanged_304',
        from_cache: true,
        to_keys: '{3}',
      },
      { state: 'leased', attempts: 0, http_status: null, bytes: null, change: null, from_cache: false, to_keys: null },
    ]);
  });

  it('is requested whole when it has gone meanwhile', async () => {
    const { em, claimed, of } = await claimedAgain();
    await em.execute('delete from snapshot where id = ?', [of.base_id]);
    const ledger = new Ledger(noCounts());
    const completed = await completeUrls(
      em,
      of,
      claimed.map((url) => unchanged(url, {})),
      ledger,
    );
    expect(completed.map(({ state }) => state)).toEqual(['pending', 'pending']);
    expect(ledger.counts).toMatchObject({ requests: 2, captured: 0, unchanged_304: 0 });
    const rows = await em.execute('select state, attempts from crawl_url where run_id = ?', [of.run_id]);
    expect(rows).toEqual([
      { state: 'pending', attempts: 1 },
      { state: 'pending', attempts: 1 },
    ]);
  });

  it('is written where the row is when that was written meanwhile, like anything else', async () => {
    const { em, claimed, of } = await claimedAgain();
    await em.execute('update crawl_url set hop = 0 where run_id = ?', [of.run_id]);
    const ledger = new Ledger(noCounts());
    const [a, b] = claimed;
    const outcomes = a && b ? [unchanged(a, {}), outcomeOf(b, { state: 'done', http_status: 404 })] : [];
    expect(await completeUrls(em, of, outcomes, ledger)).toHaveLength(2);
    expect(ledger.counts).toMatchObject({ requests: 2, captured: 1, unchanged_304: 1, broken: 1 });
    const rows = await em.execute('select http_status, attempts from crawl_url where run_id = ? order by url', [
      of.run_id,
    ]);
    expect(rows).toEqual([
      { http_status: 200, attempts: 1 },
      { http_status: 404, attempts: 1 },
    ]);
  });

  it('is not written under an epoch that is over', async () => {
    const { em, claimed, of } = await claimedAgain();
    await em.execute('update crawler_run set epoch = 2 where id = ?', [of.run_id]);
    expect(
      await completeUrls(
        em,
        of,
        claimed.map((url) => unchanged(url, {})),
        new Ledger(noCounts()),
      ),
    ).toEqual([]);
    const rows = await em.execute('select distinct state from crawl_url where run_id = ?', [of.run_id]);
    expect(rows).toEqual([{ state: 'leased' }]);
  });
});

it('counts types apart by what may be one, and as many as there may be', () => {
  const ledger = new Ledger(noCounts());
  const longest = `text/${'x'.repeat(250)}`;
  for (const type of [longest, `${longest}x`, 'constructor', 'constructor']) ledger.type(type, 2);
  expect(ledger.counts.by_type).toEqual({
    [longest]: { count: 1, bytes: 2 },
    other: { count: 1, bytes: 2 },
    constructor: { count: 2, bytes: 4 },
  });
  for (let n = 0; n < 100; n += 1) ledger.type(`text/${n}`, 0);
  expect(Object.keys(ledger.counts.by_type)).toHaveLength(100);
  expect(ledger.counts.by_type.other?.count).toBe(4);
});
