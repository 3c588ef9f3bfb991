import { gunzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { shared, startTestApp } from '../support/app.ts';
import { makeCrawler, makeSnapshot, origin, type Page } from '../support/crawlers/snapshots.ts';
import { startPreview } from '../support/preview.ts';

const crawlers = '/api/v2/organizations/acme/projects/site/crawlers';
const app = shared(startTestApp);
const preview = shared(() => startPreview(app));

const publish = { auto: true, max_lost_percent: 100, max_error_percent: 100 };

/** The cookie that a fresh link to a snapshot, or to the live copy, is exchanged for. */
async function enter(
  crawler: number,
  snapshot: number,
  which: 'preview' | 'live_preview' = 'preview',
  token = app.token,
) {
  const { body } = await app.ask('GET', `${crawlers}/${crawler}/snapshots/${snapshot}`, { token });
  const url = new URL(body[which].url);
  const label = url.hostname.split('.')[0] ?? '';
  const exchanged = await preview.ask(label, url.pathname + url.search);
  expect([exchanged.status, exchanged.headers.location]).toEqual([303, url.pathname]);
  const cookie = exchanged.headers['set-cookie']?.[0]?.split(';')[0] ?? '';
  const ask = (target: string, headers: Record<string, string> = {}, method = 'GET') =>
    preview.ask(label, target, { method, headers: { cookie, ...headers } });
  return { ask, label, body };
}

async function site(pages: Record<string, Page>, allowed_domains: string[] = []) {
  const crawler = await makeCrawler(app);
  const snapshot = await makeSnapshot(app, crawler.id, pages, { settings: { publish, allowed_domains } });
  return { crawler, snapshot: snapshot?.id ?? 0, ...(await enter(crawler.id, snapshot?.id ?? 0)) };
}

describe('entries', () => {
  it('are found by path and query, normalised, and keep status and type', async () => {
    const { ask } = await site({
      '/': 'home',
      '/a%20b/?x=1&y=2': 'query',
      '/gone': { body: 'gone, and captured', status: 404 },
      '/data': { body: '{}', type: 'application/json' },
      '/none': { body: 'x', type: null },
      '/double//slash': 'two slashes',
      '/fr': { body: 'bonjour', headers: { 'Content-Language': 'fr', 'X-Powered-By': 'x', Server: 'y' } },
    });
    expect(await ask('/')).toMatchObject({
      status: 200,
      text: 'home',
      headers: { 'content-type': 'text/html; charset=utf-8' },
    });
    expect((await ask('/a%20b/?x=1&y=2&utm_source=x')).text).toBe('query');
    expect((await ask('/a%20b/?y=2&x=1')).status).toBe(404);
    expect((await ask('/a%20b/')).status).toBe(404);
    expect(await ask('/gone')).toMatchObject({ status: 404, text: 'gone, and captured' });
    expect((await ask('/data')).headers['content-type']).toBe('application/json');
    expect((await ask('/none')).headers['content-type']).toBe('application/octet-stream');
    expect((await ask('/double//slash')).text).toBe('two slashes');
    const { headers } = await ask('/fr');
    expect(headers).toMatchObject({
      'content-language': 'fr',
      'x-content-type-options': 'nosniff',
      'referrer-policy': 'no-referrer',
      'x-robots-tag': 'noindex',
      'content-security-policy': 'frame-ancestors http://portico.test',
      'cache-control': 'private, no-cache',
    });
    expect(headers).not.toHaveProperty('x-powered-by');
    expect((await ask('/missing')).text).toContain('Not captured');
    expect((await ask('/', { 'service-worker': 'script' })).status).toBe(404);
    expect((await ask('/', {}, 'POST')).status).toBe(405);
  });

  it('redirects lead to where the copy is', async () => {
    const { ask } = await site({
      '/': 'home',
      '/old': { redirect: `${origin}/new?x=1#part` },
      '/out': { redirect: 'https://elsewhere.test/', status: 302 },
      '/slashes': { redirect: `${origin}//elsewhere.test/` },
      'http://www.example.com/': { redirect: `${origin}/` },
    });
    expect(await ask('/old')).toMatchObject({ status: 301, headers: { location: '/new?x=1#part' } });
    expect(await ask('/out')).toMatchObject({ status: 302, headers: { location: 'https://elsewhere.test/' } });
    expect((await ask('/slashes')).headers.location).toBe('/.//elsewhere.test/');
  });

  it('a host that redirects to its sibling is one site with it', async () => {
    const crawler = await makeCrawler(app);
    const made = await makeSnapshot(
      app,
      crawler.id,
      {
        '/': { redirect: `${origin}/` },
        '/a': { redirect: 'https://example.com/b' },
        [`${origin}/`]: `<a href="https://example.com/a">`,
        '/b': 'b',
      },
      { origin: 'https://example.com', settings: { publish } },
    );
    const { ask } = await enter(crawler.id, made?.id ?? 0);
    expect(await ask('/')).toMatchObject({ status: 200, text: '<a href="/a">' });
    expect((await ask('/a')).headers.location).toBe('/b');
  });

  it('absolute links of documents and sheets become paths; everything else is as it was captured', async () => {
    const html = `<a href="${origin}/a"><a href="https://docs.example.com/g"><a href="https://elsewhere.test/">`;
    const { ask } = await site(
      {
        '/': html,
        '/a.css': { body: `a{b:url(${origin}/i.png)}`, type: 'text/css', kind: 'asset' },
        '/a.js': { body: `"${origin}/a"`, type: 'text/javascript', kind: 'asset' },
        'https://docs.example.com/g': 'guide',
        'https://docs.example.com/': 'not shown: the primary host wins',
        'https://cdn.example.net/i.css': { body: 'a{b:url(/x.png)}', type: 'text/css', kind: 'asset' },
      },
      ['docs.example.com'],
    );
    expect((await ask('/')).text).toBe('<a href="/a"><a href="/g"><a href="https://elsewhere.test/">');
    expect((await ask('/a.css')).text).toBe('a{b:url("/i.png")}');
    expect((await ask('/a.js')).text).toBe(`"${origin}/a"`);
    expect((await ask('/g')).text).toBe('guide');
    expect((await ask('/_hosts/cdn.example.net/i.css')).text).toBe('a{b:url("/_hosts/cdn.example.net/x.png")}');
    const [row] = await app.services.orm.em
      .fork()
      .execute<{ sha256: string }[]>(`select sha256 from snapshot_entry where url = ? order by snapshot_id desc`, [
        `${origin}/`,
      ]);
    expect(await app.services.blobs.verify(row?.sha256 ?? '')).toBe('intact');
  });
});

describe('requests', () => {
  const long = `<p>${'text '.repeat(1000)}<a href="${origin}/b">`;

  it('conditional, partial and compressed ones are answered as for other files', async () => {
    const { ask } = await site({
      '/': long,
      '/a.js': { body: 'x'.repeat(5000), type: 'text/javascript', kind: 'asset' },
    });
    for (const target of ['/', '/a.js']) {
      const plain = await ask(target);
      const etag = plain.headers.etag ?? '';
      expect(await ask(target, { 'if-none-match': etag })).toMatchObject({ status: 304, text: '' });
      expect(await ask(target, { range: 'bytes=2-5' })).toMatchObject({
        status: 206,
        text: plain.text.slice(2, 6),
        headers: { 'content-range': `bytes 2-5/${plain.body.length}` },
      });
      expect((await ask(target, { range: 'bytes=2-5', 'if-range': '"other"' })).status).toBe(200);
      expect((await ask(target, { range: 'bytes=99999-' })).status).toBe(416);
      const zipped = await ask(target, { 'accept-encoding': 'gzip' });
      expect(zipped.headers['content-encoding']).toBe('gzip');
      expect(gunzipSync(zipped.body).toString()).toBe(plain.text);
      expect(zipped.headers.etag).not.toBe(etag);
      expect(
        await ask(target, { 'if-none-match': zipped.headers.etag ?? '', 'accept-encoding': 'gzip' }),
      ).toMatchObject({ status: 304 });
      const head = await ask(target, {}, 'HEAD');
      expect([head.status, head.body.length, head.headers['content-length']]).toEqual([
        200,
        0,
        String(plain.body.length),
      ]);
    }
    expect((await ask('/')).text).toBe(long.replace(`${origin}/b`, '/b'));
  });

  it('a very long document is rewritten as it goes out', async () => {
    const huge = `${'<p>text</p>\n'.repeat(150_000)}<a href="${origin}/b">`;
    const { ask } = await site({ '/': 'home', '/huge': huge });
    const { status, text, headers } = await ask('/huge', { range: 'bytes=0-5' });
    expect([status, headers['accept-ranges']]).toEqual([200, undefined]);
    expect(text).toBe(huge.replace(`${origin}/b`, '/b'));
    expect(await ask('/huge', { 'if-none-match': headers.etag ?? '' })).toMatchObject({ status: 304 });
    expect(await ask('/huge', {}, 'HEAD')).toMatchObject({ status: 200, text: '' });
  });

  it('only members with browse_crawlers are let in, each label by itself', async () => {
    const { crawler, snapshot, label } = await site({ '/': 'home' });
    expect(await preview.ask(label, '/')).toMatchObject({ status: 403 });
    const { ask } = await enter(crawler.id, snapshot, 'live_preview');
    const cookie = (await ask('/')).status;
    expect(cookie).toBe(200);
    const reader = await app.makeToken(['browse_crawlers']);
    const theirs = await enter(crawler.id, snapshot, 'preview', reader);
    expect((await theirs.ask('/')).status).toBe(200);
    await app.services.orm.em
      .fork()
      .execute(`update token set permissions = '["browse_studio"]' where permissions::text = '["browse_crawlers"]'`);
    app.services.grants.evict('organization:1');
    expect((await theirs.ask('/')).status).toBe(403);
  });

  it('labels of nothing are unknown; those of nothing published say so', async () => {
    const crawler = await makeCrawler(app);
    for (const label of ['c--999999', 's--999999', 's--0', 'c--x'])
      expect((await preview.ask(label, '/')).text).toContain('Nothing here');
    expect((await preview.ask(`c--${crawler.id}`, '/')).status).toBe(403);
    const { label } = await site({ '/': 'home' });
    await app.services.orm.em
      .fork()
      .execute(`update snapshot set state = 'expired' where id = ?`, [Number(label.slice(3))]);
    expect((await preview.ask(label, '/')).status).toBe(404);
  });
});

describe('publication', () => {
  it('is seen at once, and never as a mixture while it happens again and again', async () => {
    const crawler = await makeCrawler(app);
    const copy = (name: string) =>
      Object.fromEntries(Array.from({ length: 5 }, (_, at) => [at === 0 ? '/' : `/${at}`, `${name} ${at}`]));
    const one = (await makeSnapshot(app, crawler.id, copy('one'), { settings: { publish } }))?.id ?? 0;
    const two =
      (await makeSnapshot(app, crawler.id, { ...copy('two'), '/only': 'two' }, { settings: { publish } }))?.id ?? 0;
    const { ask } = await enter(crawler.id, two, 'live_preview');
    app.services.studio.previews.targets.setListening(true);
    let isOver = false;
    const answers = new Map<string, number>();
    const reader = async () => {
      for (let at = 0; !isOver; at = (at + 1) % 5) {
        const { status, text } = await ask(at === 0 ? '/' : `/${at}`);
        expect([200, at === Number(text.split(' ')[1])]).toEqual([status, true]);
        answers.set(text.split(' ')[0] ?? '', (answers.get(text.split(' ')[0] ?? '') ?? 0) + 1);
      }
    };
    const readers = Array.from({ length: 6 }, reader);
    const reads = () => [...answers.values()].reduce((sum, count) => sum + count, 0);
    for (let turn = 0; turn < 20 || reads() < 1000; turn += 1) {
      const [id, name] = turn % 2 === 0 ? [one, 'one'] : [two, 'two'];
      expect((await app.ask('POST', `${crawlers}/${crawler.id}/snapshots/${id}/publish`)).status).toBe(200);
      // Requests after the response get the new copy, complete.
      const seen = await Promise.all(
        ['/', '/1', '/2', '/3', '/4'].map(async (target) => (await ask(target)).text.split(' ')[0]),
      );
      expect(seen).toEqual(Array.from({ length: 5 }, () => name));
    }
    isOver = true;
    await Promise.all(readers);
    app.services.studio.previews.targets.setListening(false);
    expect([...answers.keys()].sort()).toEqual(['one', 'two']);
  });
});
