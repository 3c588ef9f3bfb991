import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { Crawler } from '../../../../src/domain/crawlers/config/crawler.entity.ts';
import { workOnRun } from '../../../../src/domain/crawlers/crawl/work-on-run.ts';
import { CrawlerRun } from '../../../../src/domain/crawlers/runs/crawler-run.entity.ts';
import { queueRun } from '../../../../src/domain/crawlers/runs/queue-run.ts';
import { startTestApp, type TestApp } from '../../../support/app.ts';

let app: TestApp;
let site: Server;
let port: number;
const requested: string[] = [];

const pages: Record<string, [number, Record<string, string>, string]> = {
  '/': [
    200,
    { 'content-type': 'text/html' },
    '<a href="/a">a</a><a href="/moved">m</a><a href="/gone">g</a><img src="/pic.png">',
  ],
  '/a': [
    200,
    { 'content-type': 'text/html' },
    '<link rel=stylesheet href="/site.css"><a href="/">home</a><a href="http://elsewhere.test/">x</a>',
  ],
  '/moved': [302, { location: '/b' }, ''],
  '/b': [200, { 'content-type': 'text/html' }, '<p>b</p>'],
  '/pic.png': [200, { 'content-type': 'image/png' }, 'png'],
  '/site.css': [200, { 'content-type': 'text/css' }, 'body{background:url(/back.png)}'],
  '/back.png': [200, { 'content-type': 'image/png' }, 'back'],
};

beforeAll(async () => {
  site = createServer((request, response) => {
    const url = request.url ?? '';
    requested.push(url);
    const [status, headers, body] = pages[url] ?? [404, {}, 'no'];
    response.writeHead(status, headers).end(body);
  });
  await new Promise<void>((resolve) => site.listen(0, '127.0.0.1', resolve));
  ({ port } = site.address() as AddressInfo);
  app = await startTestApp({ PORTICO_TRUSTED_DOMAINS: `localhost:${port}` });
});
afterAll(async () => {
  await app.stop();
  site.close();
});

it('captures a small site', async () => {
  const created = await app.ask('POST', '/api/v2/organizations/acme/projects/site/crawlers', {
    body: { domain: `http://localhost:${port}`, delay: 0, workers: 4 },
  });
  expect(created.status).toBe(200);
  const em = app.services.orm.em.fork();
  const crawler = await em.findOneOrFail(Crawler, { id: created.body.id });
  const run = await em.transactional((within) => queueRun(within, app.services, crawler, { trigger: 'api' }));
  expect(await workOnRun(app.services, run?.id ?? 0)).toBe(true);
  const ended = await app.services.orm.em.fork().findOneOrFail(CrawlerRun, { id: run?.id ?? 0 });
  expect(ended.status).toBe('completed');
  expect(ended.counts).toMatchObject({ html: 3, assets: 3, requests: 8, broken: 1, redirects: 1, skipped_scope: 1 });
  expect(requested.filter((url) => url !== '/robots.txt').sort()).toEqual([...Object.keys(pages), '/gone'].sort());
});
