import { randomBytes } from 'node:crypto';
import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { beforeAll, describe, expect, it } from 'vitest';
import { shared, startTestApp } from '../support/app.ts';
import { makeEnvironment, publish, startPreview } from '../support/preview.ts';

const page = `<!doctype html><title>Home</title>${'<p>Welcome to the site.</p>\n'.repeat(400)}`;
const large = randomBytes(700_000);
const files = {
  'index.html': page,
  'about.html': '<h1>About</h1>',
  'blog/index.html': '<h1>Blog</h1>',
  'blog/ä b.html': '<h1>Umlaut</h1>',
  '404.html': '<h1>Lost</h1>',
  'assets/app-3f2a.js': `export const words = ${JSON.stringify('word '.repeat(500))};`,
  'film.mp4': large,
  'tiny.txt': '0123456789',
  'feed.xml': '<rss/>',
  empty: '',
};

const app = shared(startTestApp);
const preview = shared(() => startPreview(app));
let label: string;

beforeAll(async () => {
  const environment = await makeEnvironment(app, { slug: 'main' });
  await publish(app, environment, files);
  ({ label } = environment);
});

const get = (target: string, headers: Record<string, string> = {}) => preview.ask(label, target, { headers });

it('keeps browsers to https where that is how previews are reached', async () => {
  const { settings } = app.services;
  const { preview_url } = settings;
  const name = 'strict-transport-security';
  expect((await get('/')).headers[name]).toBeUndefined();
  settings.preview_url = preview_url.replace('http:', 'https:');
  try {
    for (const target of ['/', '/none']) expect((await get(target)).headers[name]).toBe('max-age=31536000');
  } finally {
    settings.preview_url = preview_url;
  }
});

describe('a published file', () => {
  it('is served with the headers of its kind', async () => {
    const { status, headers, text } = await get('/');
    expect(status).toBe(200);
    expect(text).toBe(page);
    expect(headers).toMatchObject({
      'content-type': 'text/html; charset=utf-8',
      'content-length': String(page.length),
      'cache-control': 'no-cache',
      'x-content-type-options': 'nosniff',
      'referrer-policy': 'strict-origin-when-cross-origin',
      'accept-ranges': 'bytes',
      vary: 'Accept-Encoding',
      etag: expect.stringMatching(/^"[0-9a-f]{64}"$/),
    });
    for (const name of [
      'content-security-policy',
      'cross-origin-resource-policy',
      'x-robots-tag',
      'set-cookie',
      'x-powered-by',
      'content-encoding',
    ])
      expect(headers[name]).toBeUndefined();
  });

  it.each([
    ['/assets/app-3f2a.js', 'text/javascript; charset=utf-8'],
    ['/film.mp4', 'video/mp4'],
    ['/feed.xml', 'application/xml'],
    ['/empty', 'application/octet-stream'],
  ])('%s is %s', async (target, type) => {
    expect((await get(target)).headers['content-type']).toBe(type);
  });

  it.each([
    ['/about', '<h1>About</h1>'],
    ['/about.html', '<h1>About</h1>'],
    ['/about?x=1', '<h1>About</h1>'],
    ['/blog/index', '<h1>Blog</h1>'],
    ['/blog/', '<h1>Blog</h1>'],
    ['/blog/index.html', '<h1>Blog</h1>'],
    ['/blog/%C3%A4%20b', '<h1>Umlaut</h1>'],
    ['/empty', ''],
  ])('is found at %s', async (target, content) => {
    const { status, text } = await get(target);
    expect([status, text]).toEqual([200, content]);
  });

  it('keeps one address: a directory is requested with its slash', async () => {
    const { status, headers } = await get('/blog?page=2');
    expect(status).toBe(308);
    expect(headers.location).toBe('/blog/?page=2');
  });

  it('is answered to HEAD as to GET, without the bytes', async () => {
    for (const target of ['/', '/film.mp4', '/empty', '/nowhere']) {
      const [whole, head] = [await get(target), await preview.ask(label, target, { method: 'HEAD' })];
      expect(head.body).toHaveLength(0);
      const { date: _d, connection: _c, 'keep-alive': _k, ...headers } = whole.headers;
      expect({ status: head.status, ...head.headers }).toMatchObject({ status: whole.status, ...headers });
    }
  });

  it('is streamed whole when it is large', async () => {
    expect((await get('/film.mp4')).body.equals(large)).toBe(true);
  });
});

describe('what is not there', () => {
  it.each(['/nowhere', '/blog/nowhere', '/about/', '/blog/index.html/', '/x.html'])(
    '%s is answered by the page of the site',
    async (target) => {
      const { status, text, headers } = await get(target);
      expect([status, text, headers['content-type']]).toEqual([404, '<h1>Lost</h1>', 'text/html; charset=utf-8']);
    },
  );

  it('is answered by a page of our own when the site has none', async () => {
    const bare = await makeEnvironment(app, { slug: 'bare' });
    await publish(app, bare, { 'a.txt': 'a' });
    const { status, text } = await preview.ask(bare.label, '/b');
    expect(status).toBe(404);
    expect(text).toContain('Page not found');
  });

  it.each([
    '/../secret',
    '/blog/../about.html',
    '/blog/%2e%2e/about.html',
    '/blog/%2E%2E/about.html',
    '/./about.html',
    '/blog%2Findex.html',
    '/blog%5Cindex.html',
    '/blog\\index.html',
    '//about.html',
    '/blog//',
    '/about.html%00',
    '/about%0a.html',
    '/%ff',
    '/%',
    'http://example.com/about.html',
    '/..%2f..%2fetc/passwd',
  ])('%s leads nowhere', async (target) => {
    const { status, headers } = await get(target);
    expect(status).toBe(404);
    expect(headers.location).toBeUndefined();
  });
});

describe('conditional requests', () => {
  it('are answered 304 to those who hold the version', async () => {
    const { headers } = await get('/');
    const etag = headers.etag ?? '';
    for (const held of [etag, `W/${etag}`, `"other", ${etag}`, '*']) {
      const answer = await get('/', { 'if-none-match': held });
      expect([answer.status, answer.headers.etag, answer.body.length]).toEqual([304, etag, 0]);
    }
    expect((await get('/', { 'if-none-match': '"other"' })).status).toBe(200);
    expect((await get('/nowhere', { 'if-none-match': '*' })).status).toBe(404);
  });

  it('know the codings of a file apart', async () => {
    const [plain, br] = [await get('/'), await get('/', { 'accept-encoding': 'br' })];
    expect(br.headers.etag).not.toBe(plain.headers.etag);
    const held = { 'if-none-match': plain.headers.etag ?? '' };
    expect((await get('/', { ...held, 'accept-encoding': 'br' })).status).toBe(200);
  });
});

describe('codings', () => {
  it.each([
    ['gzip, deflate, br', 'br'],
    ['gzip, br;q=0.5', 'gzip'],
    ['gzip', 'gzip'],
    ['*', 'br'],
    ['br;q=0, *', 'gzip'],
    ['BR', 'br'],
    ['identity', undefined],
    ['identity, br;q=0.2', undefined],
    ['br;q=0', undefined],
    ['deflate', undefined],
    ['br;q=nonsense', undefined],
  ])('Accept-Encoding: %s gives %s', async (accept, coding) => {
    const { headers, body } = await get('/', { 'accept-encoding': accept });
    expect(headers['content-encoding']).toBe(coding);
    const plain = coding === 'br' ? brotliDecompressSync(body) : coding === 'gzip' ? gunzipSync(body) : body;
    expect(plain.toString()).toBe(page);
    expect(headers['content-length']).toBe(String(body.length));
  });

  it('are not made of small files, nor of what is no text', async () => {
    for (const target of ['/tiny.txt', '/film.mp4']) {
      const { headers } = await get(target, { 'accept-encoding': 'br, gzip' });
      expect(headers['content-encoding']).toBeUndefined();
      expect(headers.vary).toBeUndefined();
    }
  });
});

describe('ranges', () => {
  it.each([
    ['bytes=0-0', 206, '0', 'bytes 0-0/10'],
    ['bytes=2-5', 206, '2345', 'bytes 2-5/10'],
    ['bytes=7-', 206, '789', 'bytes 7-9/10'],
    ['bytes=7-99', 206, '789', 'bytes 7-9/10'],
    ['bytes=-3', 206, '789', 'bytes 7-9/10'],
    ['bytes=-99', 206, '0123456789', 'bytes 0-9/10'],
    ['bytes=9-9', 206, '9', 'bytes 9-9/10'],
    ['bytes=10-', 416, '', 'bytes */10'],
    ['bytes=-0', 416, '', 'bytes */10'],
    ['bytes=0-1, 4-5', 200, '0123456789', undefined],
    ['bytes=5-2', 200, '0123456789', undefined],
    ['bytes=-', 200, '0123456789', undefined],
    ['bytes=a-b', 200, '0123456789', undefined],
    ['items=0-1', 200, '0123456789', undefined],
  ])('Range: %s is %i', async (range, status, text, contentRange) => {
    const answer = await get('/tiny.txt', { range });
    expect([answer.status, answer.text, answer.headers['content-range']]).toEqual([status, text, contentRange]);
    expect(answer.headers['content-length']).toBe(String(text.length));
  });

  it('reach into large files and ignore codings', async () => {
    const { status, body } = await get('/film.mp4', { range: 'bytes=500000-600000' });
    expect(status).toBe(206);
    expect(body.equals(large.subarray(500_000, 600_001))).toBe(true);
    const coded = await get('/', { range: 'bytes=0-14', 'accept-encoding': 'br' });
    expect([coded.text, coded.headers['content-encoding']]).toEqual(['<!doctype html>', undefined]);
  });

  it('hold only for the version they were made for', async () => {
    const etag = (await get('/tiny.txt')).headers.etag ?? '';
    const ask = (condition: string) => get('/tiny.txt', { range: 'bytes=0-1', 'if-range': condition });
    expect((await ask(etag)).status).toBe(206);
    for (const other of ['"other"', `W/${etag}`, 'Sat, 21 Nov 2026 08:00:00 GMT'])
      expect((await ask(other)).status).toBe(200);
  });

  it('say nothing to HEAD, and nothing of the page for what is lost', async () => {
    const range = { range: 'bytes=0-1' };
    expect((await preview.ask(label, '/tiny.txt', { method: 'HEAD', headers: range })).status).toBe(200);
    expect((await get('/nowhere', range)).status).toBe(404);
    expect((await get('/empty', range)).status).toBe(416);
  });
});
