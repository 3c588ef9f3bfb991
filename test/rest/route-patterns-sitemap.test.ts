import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { listRoutePatterns } from '../../src/domain/studio/routes/route-patterns.operations.ts';
import { seed, startTestApp, studio, type TestApp } from '../support/app.ts';
import { revocable } from '../support/mirror.ts';
import { expectRefusal } from '../support/refusal.ts';

const detect = `${studio}/route-patterns/detect`;
const files: Record<string, { body: string | Buffer; status?: number }> = {};
/** What happens before a file is answered. */
let beforeAnswer: (() => Promise<unknown>) | null = null;
let app: TestApp;
let server: Server;
let origin: string;

beforeAll(async () => {
  server = createServer(async (request, response) => {
    await beforeAnswer?.();
    const file = files[request.url ?? ''];
    response.writeHead(file ? (file.status ?? 200) : 404).end(file?.body);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  app = await startTestApp({ PORTICO_ALLOWED_CIDRS: '127.0.0.0/8' });
  const page = (title: string, more = '') => `---\ntitle: ${title}\n${more}---\n`;
  await seed(app, {
    'hugo.toml': "baseURL = 'https://x.org/'\n",
    'content/posts/one.md': page('One'),
    'content/posts/two.md': page('Two'),
    'content/posts/three & more.md': page('Three'),
    'content/posts/draft.md': page('Draft', 'draft: true\n'),
    'content/posts/later.md': page('Later', 'date: 2999-01-01\n'),
    'content/notes/x.md': page('X'),
  });
});
afterAll(async () => {
  server?.close();
  await app?.stop();
});

const urlset = (...urls: string[]) =>
  `<?xml version="1.0"?><urlset>${urls.map((url) => `<url><loc>${url}</loc></url>`).join('')}</urlset>`;
const index = (...urls: string[]) =>
  `<sitemapindex>${urls.map((url) => `<sitemap><loc>${url}</loc></sitemap>`).join('')}</sitemapindex>`;
const serve = (path: string, body: string | Buffer, status?: number) => {
  files[path] = { body, ...(status !== undefined && { status }) };
  return `${origin}${path}`;
};
const check = (sitemap_url: string) => app.ask('POST', detect, { body: { sitemap_url } });

describe('a sitemap', () => {
  it('confirms patterns: what is listed of what should be published', async () => {
    const all = ['/posts/one/', '/posts/two/', '/posts/three-more/', '/notes/x/', '/tags/'];
    const { status, body } = await check(serve('/a.xml', urlset(...all.map((path) => `https://x.org${path}`))));
    expect(status).toBe(200);
    expect(body.sitemap).toEqual({
      ...{ urls: 5, entries: 4, hits: 4, hit_rate: 1 },
      ...{ misses: [], surplus: ['https://x.org/tags/'], surplus_count: 1 },
    });
    expect(
      body.patterns.map(({ collection, confidence }: { collection: string; confidence: number }) => [
        collection,
        confidence,
      ]),
    ).toEqual([
      ['notes', 1],
      ['posts', 1],
    ]);
    expect(body.samples).toContainEqual({ path: 'content/notes/x.md', url: '/notes/x/', verified: true });
  });

  it('corrects them: the pattern with the most hits is taken, with what was missed', async () => {
    const { body } = await check(
      serve('/b.xml', urlset('https://x.org/blog/one', 'https://x.org/blog/two', 'https://x.org/notes/x/')),
    );
    const posts = body.patterns.find(({ collection }: { collection: string }) => collection === 'posts');
    expect(posts).toMatchObject({
      url_pattern: '/blog/{slug}',
      source: null,
      confidence: 0.667,
      trailing_slash: false,
    });
    expect(body.sitemap).toMatchObject({ entries: 4, hits: 3, hit_rate: 0.75 });
  });

  it('may be an index of files, compressed, with entities and CDATA', async () => {
    const one = serve(
      '/one.xml.gz',
      gzipSync(urlset('https://x.org/posts/one/', '<![CDATA[https://x.org/posts/two/]]>')),
    );
    const two = serve('/two.xml', urlset('https://x.org/notes/x/?a=1&amp;b=2', 'https://x.org/posts/three%2Dmore/'));
    const { body } = await check(serve('/index.xml', index(one, two, `${origin}/index.xml`)));
    expect(body.sitemap).toMatchObject({ urls: 4, entries: 4, hits: 4, hit_rate: 1, misses: [], surplus: [] });
  });

  it('saves nothing for a credential that was revoked while the host answered', async () => {
    const { token, revoke } = await revocable(app, ['browse_studio', 'edit_studio']);
    const sitemap_url = serve('/late.xml', urlset('https://x.org/blog/one', 'https://x.org/blog/two'));
    beforeAnswer = revoke;
    const { status } = await app.ask('POST', detect, { token, body: { sitemap_url, save: true } }).finally(() => {
      beforeAnswer = null;
    });
    expect(status).toBe(401);
    expect(await app.run(listRoutePatterns, { organization: 'acme', project: 'site' })).toEqual([]);
  });

  it('counts up to 50,000 addresses', async () => {
    const many = Array.from({ length: 50_001 }, (_, at) => `https://x.org/${at}/`);
    expect((await check(serve('/many.xml', urlset(...many)))).body.sitemap.urls).toBe(50_000);
  });
});

describe('400', () => {
  it('for what is no sitemap, is not there, or is broken', async () => {
    expectRefusal(await check(serve('/page.html', '<html></html>')), 400, 'invalid_request', /is not a sitemap/);
    expectRefusal(await check(`${origin}/nowhere.xml`), 400, 'invalid_request', /answered 404/);
    const broken = gzipSync(urlset('https://x.org/')).subarray(0, 20);
    expectRefusal(await check(serve('/broken.gz', broken)), 400, 'invalid_request', /no sound gzip/);
  });
});

describe('413', () => {
  it('for a file that unpacks to more than may be', async () => {
    const bomb = gzipSync(Buffer.alloc(51 * 1024 * 1024));
    expectRefusal(await check(serve('/bomb.gz', bomb)), 413, 'too_large', /larger than 50 MiB/);
    const fits = gzipSync(
      Buffer.concat([Buffer.from(urlset('https://x.org/posts/one/')), Buffer.alloc(49 * 1024 * 1024, ' ')]),
    );
    expect((await check(serve('/fits.gz', fits))).body.sitemap.hits).toBe(1);
  });
});

describe('a site without a framework', () => {
  it('gets patterns where its sitemap has its pages', async () => {
    await app.ask('POST', '/api/v2/organizations/acme/projects', { body: { machine_name: 'plain', name: 'Plain' } });
    await seed(app, { 'notes/a.md': '# A\n', 'notes/b.md': '# B\n', 'other/c.md': '# C\n' }, 'plain');
    const plain = '/api/v2/organizations/acme/projects/plain/studio';
    const sitemap_url = serve('/plain.xml', urlset('https://x.org/notes/a.html', 'https://x.org/notes/b.html'));
    const { body } = await app.ask('POST', `${plain}/route-patterns/detect`, { body: { sitemap_url, save: true } });
    expect(body.patterns).toMatchObject([
      { collection: 'notes', url_pattern: '/notes/{slug}.html', confidence: 1, source: null },
    ]);
    expect((await app.ask('GET', `${plain}/collections/notes/a`)).body.url).toBe('/notes/a.html');
  });
});
