import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import express from 'express';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openapiDocument } from '../../src/rest/openapi/openapi.ts';
import { routes } from '../../src/rest/routes.ts';
import { assetNames } from '../../src/rest/site/assets.ts';
import { html, inline } from '../../src/rest/site/html.ts';
import { createSite } from '../../src/rest/site.ts';

const publicUrl = 'https://content.example';
let server: Server;
let url: string;

beforeAll(async () => {
  const app = express();
  app.use((_request, response, next) => {
    response.set('X-Request-Id', 'r1');
    next();
  });
  app.use(createSite({ public_url: publicUrl, preview_url: 'https://*.preview.example' }, routes));
  app.use((_request, response) => void response.status(418).send('next'));
  server = createServer(app);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterAll(() => new Promise((resolve) => server.close(resolve)));

const pages = ['/reference', '/explorer'];
const textOf = async (path: string) => (await fetch(`${url}${path}`)).text();

describe('200', () => {
  test.each(pages)('%s is a page that may load nothing from elsewhere', async (path) => {
    const response = await fetch(`${url}${path}`);
    expect(response.status).toBe(200);
    expect(response.headers.get('content-type')).toBe('text/html; charset=utf-8');
    expect(response.headers.get('x-content-type-options')).toBe('nosniff');
    expect(response.headers.get('referrer-policy')).toBe('no-referrer');
    const policy = response.headers.get('content-security-policy') ?? '';
    expect(policy).toContain("default-src 'none'");
    expect(policy).toContain("frame-ancestors 'none'");
    expect(policy).not.toContain('unsafe');
    const text = await response.text();
    const loaded = [...text.matchAll(/<(?:script|link|img)[^>]*(?:src|href)="([^"]+)"/g)].map((match) => match[1]);
    expect(loaded.filter((address) => !address?.startsWith('/site/'))).toEqual([]);
    expect(text).not.toMatch(/<script(?![^>]*src=)|<style|\sstyle=|\son[a-z]+=/);
  });

  test.each(pages)('what %s loads is there', async (path) => {
    const loaded = [...(await textOf(path)).matchAll(/"(\/site\/[^"]+)"/g)].map((match) => match[1]);
    expect(loaded.length).toBeGreaterThan(0);
    for (const address of new Set(loaded)) expect((await fetch(`${url}${address}`)).status).toBe(200);
  });

  test.each(assetNames)('/site/%s has its type', async (name) => {
    const response = await fetch(`${url}/site/${name}`);
    const types = { css: 'text/css; charset=utf-8', js: 'text/javascript; charset=utf-8', svg: 'image/svg+xml' };
    expect(response.headers.get('content-type')).toBe(types[name.split('.')[1] as keyof typeof types]);
    expect(response.headers.get('content-security-policy')).toContain("default-src 'none'");
  });

  test('/reference has every endpoint of the table, and every anchor it links to', async () => {
    const text = await textOf('/reference');
    const ids = [...text.matchAll(/\sid="([^"]+)"/g)].map((match) => match[1] ?? '');
    expect(ids.filter((id, at) => ids.indexOf(id) !== at)).toEqual([]);
    for (const row of routes) expect(ids).toContain(row.operation.name.split('.').at(-1));
    for (const [, target] of text.matchAll(/href="#([^"]+)"/g)) expect(ids).toContain(target);
  });

  test('/api/v2/openapi.json is the document, without a credential', async () => {
    const response = await fetch(`${url}/api/v2/openapi.json`);
    expect(response.status).toBe(200);
    expect(await response.json()).toEqual(JSON.parse(JSON.stringify(openapiDocument(routes))));
  });
});

describe('304', () => {
  test('a page that has not changed is not sent again', async () => {
    const etag = (await fetch(`${url}/reference`)).headers.get('etag') ?? '';
    expect(
      (await fetch(`${url}/reference`, { headers: { 'If-None-Match': etag, 'Cache-Control': 'max-age=0' } })).status,
    ).toBe(304);
  });
});

describe('405', () => {
  test.each([...pages, '/api/v2/openapi.json'])('POST %s', async (path) => {
    const response = await fetch(`${url}${path}`, { method: 'POST' });
    expect(response.status).toBe(405);
    expect(response.headers.get('allow')).toBe('GET, HEAD');
    expect(await response.json()).toMatchObject({ error: true, code: 'method_not_allowed', request_id: 'r1' });
  });
});

describe('left to others', () => {
  const others = ['/api/v2/organizations', '/graphql', '/git/demo/site.git/info/refs', '/webhooks/ai/workflows/x'];
  test.each([...others, '/Reference', '/reference/', '/site/none.css', '/site/..%2Fhtml.ts'])('%s', async (path) => {
    expect((await fetch(`${url}${path}`)).status).toBe(418);
  });
});

describe('html', () => {
  test('escapes values, joins lists, leaves out what is absent', () => {
    const evil = `<img src=x onerror="alert('1')">&`;
    expect(html`<p title="${evil}">${[1, html`<b>2</b>`]}${null}${false}</p>`.text).toBe(
      '<p title="&lt;img src=x onerror=&quot;alert(&#39;1&#39;)&quot;&gt;&amp;">1<b>2</b></p>',
    );
    expect(inline('`<a>` is **<b>**').text).toBe('<code>&lt;a&gt;</code> is <strong>&lt;b&gt;</strong>');
  });
});
