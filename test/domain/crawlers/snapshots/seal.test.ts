import { describe, expect, it } from 'vitest';
import { shared, startTestApp } from '../../../support/app.ts';
import {
  crawl,
  endRun,
  type MadeRun,
  makeCrawler,
  makeSnapshot,
  type Page,
} from '../../../support/crawlers/snapshots.ts';

const app = shared(startTestApp);

const em = () => app.services.orm.em.fork();

async function snapshotRow(id: number) {
  const [row] = await em().execute('select * from snapshot where id = ?', [id]);
  return row as {
    state: string;
    checks: { name: string; passed: boolean; found?: number; limit?: number }[];
    pages: number;
    assets: number;
    bytes: string;
    origins: object;
    sealed_at: unknown;
  };
}

async function live(crawler_id: number): Promise<number | null> {
  const [row] = await em().execute<{ id: number | null }[]>(
    'select published_snapshot_id as id from crawler where id = ?',
    [crawler_id],
  );
  return row?.id ?? null;
}

const pages = (count: number): Record<string, Page> =>
  Object.fromEntries(Array.from({ length: count }, (_, at) => [at === 0 ? '/' : `/${at}/`, `page ${at}`]));

const failed = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, at) => [`/error/${at}`, 500]));

async function checksOf(made: Record<string, Page>, run: MadeRun = {}) {
  const crawler = await makeCrawler(app);
  const sealed = await makeSnapshot(app, crawler.id, made, run);
  const row = await snapshotRow(sealed?.id ?? 0);
  return { sealed, row, failing: row.checks.filter(({ passed }) => !passed).map(({ name }) => name) };
}

describe('a sound snapshot', () => {
  it('is published with its run, and counts what it holds', async () => {
    const crawler = await makeCrawler(app);
    const sealed = await makeSnapshot(app, crawler.id, {
      '/': 'home',
      '/twin/': 'home',
      '/a.css': { body: 'a{}', type: 'text/css', kind: 'asset' },
      '/old': { redirect: 'https://www.example.com/' },
      '/data.json': { body: '{}', type: 'application/json' },
      '/sitemap.xml': { body: '<s/>', type: 'text/xml', kind: 'sitemap' },
    });
    expect(sealed).toMatchObject({ state: 'ready', published: true, removed: 0 });
    expect(await live(crawler.id)).toBe(sealed?.id);
    expect(await snapshotRow(sealed?.id ?? 0)).toMatchObject({
      state: 'ready',
      pages: 2,
      assets: 2,
      bytes: '13',
      origins: { home: 'https://www.example.com/', tree: ['https://www.example.com'], others: [] },
    });
  });

  it('is not published where that is not wished, nor before a newer run that is live', async () => {
    const crawler = await makeCrawler(app);
    const slow = await crawl(app, crawler.id, pages(2));
    const newer = await makeSnapshot(app, crawler.id, pages(2));
    expect(await endRun(app, slow)).toMatchObject({ state: 'ready', published: false });
    expect(await live(crawler.id)).toBe(newer?.id);
    const publish = { auto: false, max_lost_percent: 10, max_error_percent: 10 };
    expect(await makeSnapshot(app, crawler.id, pages(2), { settings: { publish } })).toMatchObject({
      state: 'ready',
      published: false,
    });
    expect(await live(crawler.id)).toBe(newer?.id);
  });

  it('reports paths that its hosts have with other contents', async () => {
    const crawler = await makeCrawler(app);
    const both = {
      '/': 'home',
      'https://docs.example.com/': 'docs',
      '/same': 'same',
      'https://docs.example.com/same': 'same',
      'https://other.example.com/a': 'a',
      '/a': 'b',
      '/gone': { redirect: 'https://docs.example.com/gone' },
      'https://docs.example.com/gone': 'here',
    };
    const settings = { allowed_domains: ['docs.example.com'] };
    expect(await makeSnapshot(app, crawler.id, both, { settings })).toMatchObject({
      collisions: { count: 1, examples: ['/'] },
    });
    expect(await makeSnapshot(app, crawler.id, both)).toMatchObject({ collisions: { count: 0, examples: [] } });
  });

  it('cannot be sealed twice', async () => {
    const crawler = await makeCrawler(app);
    const run = await crawl(app, crawler.id, pages(1));
    await endRun(app, run);
    await expect(endRun(app, run)).rejects.toThrow('sealed already');
  });
});

describe('the checks', () => {
  it('home: the first start URL, over redirects of the snapshot', async () => {
    expect((await checksOf({ '/a/': 'a' })).failing).toEqual(['home']);
    expect((await checksOf({ '/': { redirect: 'https://www.example.com/en/' }, '/en/': 'home' })).failing).toEqual([]);
    expect((await checksOf({ '/': { redirect: 'https://www.example.com/en/' }, '/a/': 'a' })).failing).toEqual([
      'home',
    ]);
    const loop = {
      '/': { redirect: 'https://www.example.com/b' },
      '/b': { redirect: 'https://www.example.com/' },
      '/a/': 'a',
    };
    expect((await checksOf(loop)).failing).toEqual(['home']);
    expect(
      (await checksOf({ '/start?b=1': 'a' }, { settings: { start_urls: ['/start?utm_source=x&b=1#f', '/other'] } }))
        .failing,
    ).toEqual([]);
    const noStart = { start_urls: [], urls: [] };
    expect((await checksOf({ '/a/': 'a' }, { settings: noStart })).failing).toEqual([]);
  });

  it('not empty: an HTML page', async () => {
    const json = { '/': { body: '{}', type: 'application/json' } };
    expect((await checksOf(json)).failing).toEqual(['not_empty']);
    expect((await checksOf({ '/': { body: '<p>', type: 'application/xhtml+xml; charset=utf-8' } })).failing).toEqual(
      [],
    );
    expect((await checksOf({ '/': { body: '<p>', kind: 'asset' } })).failing).toEqual(['not_empty']);
  });

  it.each([
    { before: 20, percent: 10, lost: 2, passes: true },
    { before: 20, percent: 10, lost: 3, passes: false },
    { before: 21, percent: 10, lost: 3, passes: true },
    { before: 21, percent: 10, lost: 4, passes: false },
    { before: 5, percent: 0, lost: 0, passes: true },
    { before: 5, percent: 0, lost: 1, passes: false },
    { before: 5, percent: 100, lost: 4, passes: true },
  ])('lost pages: $lost of $before with $percent percent', async ({ before, percent, lost, passes }) => {
    const crawler = await makeCrawler(app);
    const first = await makeSnapshot(app, crawler.id, {
      ...pages(before),
      '/a.css': { body: 'a{}', type: 'text/css', kind: 'asset' },
    });
    const publish = { auto: true, max_lost_percent: percent, max_error_percent: 10 };
    const second = await makeSnapshot(app, crawler.id, pages(before - lost), { settings: { publish } });
    expect(second).toMatchObject({ state: passes ? 'ready' : 'held', published: passes, removed: lost + 1 });
    expect(await live(crawler.id)).toBe(passes ? second?.id : first?.id);
    const check = (await snapshotRow(second?.id ?? 0)).checks.find(({ name }) => name === 'lost_pages');
    expect(check).toMatchObject({ found: lost, limit: Math.ceil((before * percent) / 100) });
  });

  it('lost pages do not count when the host has changed', async () => {
    const crawler = await makeCrawler(app);
    await makeSnapshot(app, crawler.id, pages(20));
    const moved = await makeSnapshot(app, crawler.id, pages(1), { origin: 'https://new.example.com' });
    expect(moved).toMatchObject({ state: 'ready', published: true });
  });

  it.each([
    { good: 9, bad: failed(1), passes: true },
    { good: 8, bad: failed(1), passes: false },
    { good: 9, bad: { '/x': 'timeout' }, passes: true },
    { good: 8, bad: { '/x': 'timeout' }, passes: false },
    { good: 1, bad: { '/a': 404, '/b': 410 }, passes: true },
  ])('errors: $bad beside $good', async ({ good, bad, passes }) => {
    const { failing, sealed } = await checksOf(pages(good), { failed: bad as Record<string, number | string> });
    expect(failing).toEqual(passes ? [] : ['errors']);
    expect(sealed?.state).toBe(passes ? 'ready' : 'held');
  });
});

describe('runs that did not complete', () => {
  it.each(['stopped', 'failed'] as const)(
    '%s: what was captured is a partial snapshot, never published by itself',
    async (status) => {
      const crawler = await makeCrawler(app);
      const sealed = await makeSnapshot(app, crawler.id, pages(3), { status });
      expect(sealed).toMatchObject({ state: 'partial', published: false, removed: 0 });
      expect(await live(crawler.id)).toBe(null);
      expect(await makeSnapshot(app, crawler.id, {}, { status })).toBe(null);
    },
  );

  it('canceled: the snapshot is discarded', async () => {
    const crawler = await makeCrawler(app);
    const run = await crawl(app, crawler.id, pages(3), { status: 'canceled' });
    expect(await endRun(app, run)).toBe(null);
    const [row] = await em().execute('select snapshot_id from crawler_run where id = ?', [run.id]);
    expect(row).toEqual({ snapshot_id: null });
    const { body } = await app.ask('GET', `/api/v2/organizations/acme/projects/site/crawlers/${crawler.id}/snapshots`);
    expect(body).toEqual([]);
  });
});

describe('partial mode', () => {
  const entries = async (id: number | undefined) =>
    (
      await em().execute<{ url: string; sha256: string | null }[]>(
        'select url from snapshot_entry where snapshot_id = ? order by url',
        [id ?? 0],
      )
    ).map(({ url }) => new URL(url).pathname);

  it('is the live copy with the captured entries replaced; what is gone is left out, what failed stays', async () => {
    const crawler = await makeCrawler(app);
    await makeSnapshot(app, crawler.id, pages(6));
    const publish = { auto: true, max_lost_percent: 0, max_error_percent: 100 };
    const run: MadeRun = { mode: 'partial', settings: { publish }, failed: { '/2/': 404, '/3/': 500 } };
    const second = await makeSnapshot(app, crawler.id, { '/1/': 'changed', '/new/': 'new' }, run);
    expect(second).toMatchObject({ state: 'ready', published: true, removed: 1 });
    expect(await entries(second?.id)).toEqual(['/', '/1/', '/3/', '/4/', '/5/', '/new/']);
    const [row] = await em().execute<{ same: boolean }[]>(
      `select sha256 = encode(sha256(convert_to('changed', 'UTF8')), 'hex') as same from snapshot_entry
       where snapshot_id = ? and url like '%/1/'`,
      [second?.id],
    );
    expect(row?.same).toBe(true);
  });

  it('stands alone where nothing is published, or the host is another one', async () => {
    const crawler = await makeCrawler(app);
    expect(await entries((await makeSnapshot(app, crawler.id, pages(2), { mode: 'partial' }))?.id)).toEqual([
      '/',
      '/1/',
    ]);
    const other: MadeRun = { mode: 'partial', origin: 'https://new.example.com' };
    expect(await entries((await makeSnapshot(app, crawler.id, pages(1), other))?.id)).toEqual(['/']);
  });
});
