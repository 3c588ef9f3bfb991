import { mkdir, mkdtemp, rm, utimes, writeFile } from 'node:fs/promises';
import { createServer, type IncomingHttpHeaders, request, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { brotliCompressSync, brotliDecompressSync } from 'node:zlib';
import express from 'express';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { openapiDocument } from '../../src/rest/openapi/openapi.ts';
import { routes } from '../../src/rest/routes.ts';
import { createSite } from '../../src/rest/site.ts';

let directory: string;
let server: Server;
let port: number;

const script = 'import "./shared-1.js";';

/** @param program directory of a program beside the dashboard */
async function build(entry: string, at: Date, program = ''): Promise<void> {
  const output = path.join(directory, program);
  const manifest = {
    'main.tsx': { file: `assets/${entry}.js`, css: ['assets/main-1.css'], imports: ['_shared.js'], isEntry: true },
    '_shared.js': { file: 'assets/shared-1.js', imports: ['main.tsx'] },
    'page.tsx': { file: 'assets/page-1.js' },
  };
  const file = path.join(output, '.vite/manifest.json');
  await mkdir(path.dirname(file), { recursive: true });
  await writeFile(file, JSON.stringify(manifest));
  await utimes(file, at, at);
  await mkdir(path.join(output, 'assets'), { recursive: true });
  await writeFile(path.join(output, `assets/${entry}.js`), script);
  await writeFile(path.join(output, `assets/${entry}.js.br`), brotliCompressSync(script));
  await writeFile(path.join(output, 'assets/page-1.js'), 'export {};');
}

let app: express.Express;
beforeEach(async () => {
  directory = await mkdtemp(path.join(tmpdir(), 'portico-dashboard-'));
  app = express();
  server = createServer(app);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  ({ port } = server.address() as AddressInfo);
  const settings = { public_url: `http://localhost:${port}`, preview_url: 'http://*.localhost:4281' };
  app.use((_request, response, next) => {
    response.set('X-Request-Id', 'r1');
    next();
  });
  app.use(createSite(settings, routes, directory));
  app.use((_request, response) => void response.status(418).send('next'));
});
afterEach(async () => {
  await new Promise((resolve) => server.close(resolve));
  await rm(directory, { recursive: true });
});

interface Answer {
  status: number;
  headers: IncomingHttpHeaders;
  body: Buffer;
}

const ask = (target: string, headers: Record<string, string> = {}, method = 'GET'): Promise<Answer> =>
  new Promise((resolve, reject) => {
    const own = { Host: `localhost:${port}`, ...headers };
    const sent = request({ host: '127.0.0.1', port, path: target, method, headers: own }, async (response) => {
      const chunks: Buffer[] = [];
      for await (const chunk of response) chunks.push(chunk as Buffer);
      resolve({ status: response.statusCode ?? 0, headers: response.headers, body: Buffer.concat(chunks) });
    });
    sent.on('error', reject).end();
  });

describe('an address of nothing', () => {
  const browser = 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8';

  test('gets the page, with status 404, where a browser requests it', async () => {
    await build('main-1', new Date(1000));
    for (const target of ['/no-such-page', '/a/b?c=d', '/%E0%A4%A']) {
      const { status, headers, body } = await ask(target, { Accept: browser });
      expect([target, status]).toEqual([target, 404]);
      expect(headers['content-type']).toMatch(/^text\/html/);
      expect(headers['content-security-policy']).toContain("default-src 'none'");
      expect(body.toString()).toContain('main-1.js');
    }
    expect((await ask('/none', { Accept: browser }, 'HEAD')).status).toBe(404);
  });

  test.each([
    ['/none', '*/*'],
    ['/none', 'application/json'],
    ['/none', 'application/json, text/html;q=0.5'],
    ['/api/v2/none', browser],
    ['/graphql', browser],
    ['/git/none', browser],
    ['/webhooks/none', browser],
    ['/dashboard/none.js', browser],
  ])('is left to later handlers: %s with Accept %s', async (target, accept) => {
    await build('main-1', new Date(1000));
    expect((await ask(target, { Accept: accept })).status).toBe(418);
    expect((await ask('/none', { Accept: browser }, 'POST')).status).toBe(418);
  });

  test('is left to later handlers while the dashboard is not built', async () => {
    expect((await ask('/none', { Accept: browser })).status).toBe(418);
  });
});

describe('pages', () => {
  const pages = [
    '/',
    '/setup',
    '/sign-in?next=%2F',
    '/join',
    '/reset',
    '/account',
    '/o/acme',
    '/p/acme/site/content/posts/a/b',
  ];

  test.each(pages)('%s is the page that loads the dashboard, and nothing from elsewhere', async (target) => {
    await build('main-1', new Date());
    const { status, headers, body } = await ask(target);
    expect(status).toBe(200);
    expect(headers['content-type']).toBe('text/html; charset=utf-8');
    expect(headers['cache-control']).toBe('no-store');
    const policy = headers['content-security-policy'] as string;
    expect(policy).toContain("default-src 'none'; script-src 'self'; connect-src 'self'");
    expect(policy).toContain("; style-src 'self' 'nonce-");
    expect(policy).toContain('frame-src http://*.localhost:4281');
    expect(policy).toContain("require-trusted-types-for 'script'");
    expect(policy).not.toContain('unsafe');
    const text = body.toString();
    expect([...text.matchAll(/(?:src|href)="([^"]+)"/g)].map((match) => match[1])).toEqual([
      '/dashboard/icon.svg',
      '/dashboard/assets/main-1.css',
      '/dashboard/assets/shared-1.js',
      '/dashboard/assets/main-1.js',
      '/api/v2/openapi.json',
    ]);
  });

  test.each(['explorer', 'reference'])(
    '/%s is the page of a program beside it, and nothing from elsewhere',
    async (name) => {
      await build('main-1', new Date());
      await build('tool-1', new Date(), name);
      const { status, headers, body } = await ask(`/${name}`);
      expect([status, headers['cache-control'], headers['x-frame-options']]).toEqual([200, 'no-store', 'DENY']);
      const policy = String(headers['content-security-policy']);
      expect(policy).toContain("default-src 'none'; script-src 'self'; connect-src 'self'");
      expect(policy).toContain("frame-ancestors 'none'");
      // What the libraries of these two pages need, and no more.
      expect(policy.match(/[\w-]+ [^;]*(?:unsafe|data:)[^;]*/g)).toEqual([
        "style-src 'self' 'unsafe-inline'",
        "img-src 'self' data:",
        "font-src 'self' data:",
      ]);
      const script = /<script[^>]* src="([^"]+)"/.exec(String(body))?.[1] ?? '';
      expect(script).toBe(`/dashboard/${name}/assets/tool-1.js`);
      expect((await ask(script)).headers['content-type']).toBe('text/javascript; charset=utf-8');
      expect(String(body)).toContain(`href="/${name}" aria-current="page"`);
      expect((await ask('/')).body.toString()).toContain('/dashboard/assets/main-1.js');
    },
  );

  test('each has a nonce of its own', async () => {
    await build('main-1', new Date());
    const nonces = await Promise.all(
      [1, 2].map(async () => /nonce="([^"]+)"/.exec(String((await ask('/')).body))?.[1]),
    );
    expect(new Set(nonces).size).toBe(2);
    expect(nonces[0]).toMatch(/^[A-Za-z0-9+/]{22}==$/);
  });

  test('what is built under a running server is what the next page loads', async () => {
    await build('main-1', new Date(1_000_000));
    expect(String((await ask('/')).body)).toContain('main-1.js');
    await build('main-2', new Date(2_000_000));
    expect(String((await ask('/')).body)).toContain('main-2.js');
  });

  test('without a built dashboard 503 says what to do', async () => {
    const { status, body } = await ask('/');
    expect([status, String(body)]).toEqual([503, expect.stringContaining('npm run build')]);
  });

  test('under another name of this machine they lead to the public URL, whose cookie and origin hold', async () => {
    await build('main-1', new Date());
    const { status, headers } = await ask('/o/acme?x=1', { Host: `127.0.0.1:${port}` });
    expect([status, headers.location]).toEqual([302, `http://localhost:${port}/o/acme?x=1`]);
    expect((await ask('/', { Host: '127.0.0.1:1' })).status).toBe(200);
  });

  test('under an unknown name they answer 421, which says where the server is', async () => {
    await build('main-1', new Date());
    for (const Host of ['content.example', `localhost.example:${port}`, '192.0.2.1']) {
      const { status, headers, body } = await ask('/sign-in', { Host });
      expect([status, headers['cache-control'], headers['content-type']]).toEqual([
        421,
        'no-store',
        'text/plain; charset=utf-8',
      ]);
      expect(String(body)).toContain(`open http://localhost:${port}, or set PORTICO_PUBLIC_URL`);
    }
    for (const Host of [`LOCALHOST:${port}`, 'localhost:1']) expect((await ask('/sign-in', { Host })).status).toBe(200);
  });

  test('the name a trusted proxy was reached by counts, and no other that claims to be one', async () => {
    await build('main-1', new Date());
    const headers = { Host: 'inner.example', 'X-Forwarded-Host': `localhost:${port}` };
    expect((await ask('/', headers)).status).toBe(421);
    app.set('trust proxy', ['127.0.0.1']);
    expect((await ask('/', headers)).status).toBe(200);
  });

  test('other methods are refused', async () => {
    for (const target of ['/o/acme', '/reference', '/explorer', '/dashboard/icon.svg', '/api/v2/openapi.json']) {
      const { status, headers, body } = await ask(target, {}, 'POST');
      expect([target, status, headers.allow]).toEqual([target, 405, 'GET, HEAD']);
      expect(JSON.parse(String(body))).toMatchObject({ error: true, code: 'method_not_allowed', request_id: 'r1' });
    }
  });

  test.each([
    ...['/o', '/p', '/other', '/setup/x', '/Reference', '/reference/', '/site/icon.svg'],
    ...['/api/v2/organizations', '/graphql', '/git/demo/site.git/info/refs', '/webhooks/ai/workflows/x'],
  ])('%s is left to others', async (target) => {
    expect((await ask(target)).status).toBe(418);
  });
});

describe('files', () => {
  test('are kept for ever, in brotli where the browser takes it', async () => {
    await build('main-1', new Date());
    const plain = await ask('/dashboard/assets/main-1.js', { 'Accept-Encoding': 'gzip, br;q=0' });
    expect(plain.headers['cache-control']).toBe('public, max-age=31536000, immutable');
    expect([plain.headers['content-encoding'], String(plain.body)]).toEqual([undefined, script]);
    const packed = await ask('/dashboard/assets/main-1.js', { 'Accept-Encoding': 'gzip, deflate, br' });
    expect([packed.headers['content-encoding'], packed.headers.vary]).toEqual(['br', 'Accept-Encoding']);
    expect(String(brotliDecompressSync(packed.body))).toBe(script);
    const head = await ask('/dashboard/assets/main-1.js', {}, 'HEAD');
    expect([head.status, head.headers['content-length'], head.body.length]).toEqual([200, String(script.length), 0]);
    // Where there is no other form.
    expect(String((await ask('/dashboard/assets/page-1.js', { 'Accept-Encoding': 'br' })).body)).toBe('export {};');
  });

  test('one that is there and cannot be read ends its answer, and nothing else', async () => {
    await build('main-1', new Date());
    await mkdir(path.join(directory, 'assets/odd-1.js'));
    await expect(ask('/dashboard/assets/odd-1.js')).rejects.toThrow();
    expect((await ask('/dashboard/assets/main-1.js')).status).toBe(200);
  });

  test.each([
    '/dashboard/.vite/manifest.json',
    '/dashboard/assets/none.js',
    '/dashboard/assets/..%2f.vite%2fmanifest.json',
    '/dashboard/../../package.json',
    '/dashboard/assets/',
    '/dashboard/explorer/.vite/manifest.json',
    '/dashboard/other/assets/main-1.js',
  ])('%s is none', async (target) => {
    await build('main-1', new Date());
    expect((await ask(target)).status).toBe(418);
  });
});

test('/api/v2/openapi.json is the document, without a credential', async () => {
  const { status, body } = await ask('/api/v2/openapi.json');
  expect(status).toBe(200);
  expect(JSON.parse(String(body))).toEqual(JSON.parse(JSON.stringify(openapiDocument(routes))));
});

test('/api/v2/openapi.json is made once, and not sent to those who have it', async () => {
  const { headers } = await ask('/api/v2/openapi.json');
  const made = vi.spyOn(JSON, 'stringify');
  const again = await ask('/api/v2/openapi.json', { 'if-none-match': String(headers.etag) });
  await ask('/api/v2/openapi.json');
  expect(made).not.toHaveBeenCalled();
  expect([again.status, String(again.body)]).toEqual([304, '']);
});
