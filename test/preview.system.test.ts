import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Browser, BrowserContext } from 'playwright-core';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { authenticateToken } from '../src/domain/identity/authenticate.ts';
import { getEnvironmentPreview } from '../src/domain/studio/previews/preview-link.operations.ts';
import { systemActor } from '../src/kernel/actor.ts';
import { run } from '../src/kernel/run.ts';
import { systemCall } from '../src/server/first-run.ts';
import { shared, startTestApp } from './support/app.ts';
import { launchChromium } from './support/chromium.ts';
import { makeEnvironment, publish, startPreview } from './support/preview.ts';

/** What the dashboard gives a preview's frame. */
const sandbox = 'allow-scripts allow-same-origin allow-forms allow-popups';
const site = {
  'index.html': `<!doctype html><meta charset="utf-8"><title>Start</title><link rel="stylesheet" href="/a.css">
    <h1>Start</h1><a href="/blog">Blog</a><script type="module" src="/a.js"></script>`,
  'blog/index.html': '<!doctype html><title>Blog</title><h1>Blog</h1>',
  'a.css': 'h1 { color: rgb(1, 2, 3) }',
  'a.js': 'document.querySelector("h1").dataset.script = "ran";',
  '404.html': '<!doctype html><title>Lost</title><h1>Lost</h1>',
};

const app = shared(startTestApp);
const preview = shared(() => startPreview(app));
let browser: Browser;
let context: BrowserContext;
/** A page of another origin that frames what its query names: the dashboard, when the public URL is its own. */
let framing: Server;
let framingUrl: string;
const members = shared(() => makeEnvironment(app, { slug: 'members', visibility: 'members' }));
const open = shared(() => makeEnvironment(app, { slug: 'open' }));

beforeAll(async () => {
  for (const environment of [members, open]) await publish(app, environment, site);
  framing = createServer((request, response) => {
    const of = new URL(request.url ?? '/', 'http://localhost').searchParams.get('of') ?? 'about:blank';
    response.setHeader('Content-Type', 'text/html');
    response.end(
      `<!doctype html><title>Frame</title><iframe sandbox="${sandbox}" src="${of.replaceAll('&', '&amp;')}"></iframe>`,
    );
  });
  await new Promise<void>((resolve) => framing.listen(0, '127.0.0.1', resolve));
  framingUrl = `http://localhost:${(framing.address() as AddressInfo).port}`;
  browser = await launchChromium();
});
afterAll(async () => {
  await browser?.close();
  await new Promise((resolve) => framing?.close(resolve));
});
beforeEach(async () => {
  context = await browser.newContext();
  app.services.settings.public_url = framingUrl;
});
afterEach(() => context.close());

const urlOf = ({ label }: { label: string }, target = '/') => `http://${label}.localhost:${preview.port}${target}`;

async function linkTo(environment: { id: number }, path = '/'): Promise<string> {
  const call = systemCall(app.services, systemActor('none', [], 'localhost'));
  const actor = await authenticateToken(app.services, app.token);
  const input = { organization: 'acme', project: 'site', environment: environment.id, path };
  return (await run(getEnvironmentPreview, { ...call, actor }, input))?.url ?? '';
}

test('a public site opens with its styles and scripts, and its clean URLs', async () => {
  const page = await context.newPage();
  await page.goto(urlOf(open));
  await page.locator('h1[data-script=ran]').waitFor();
  expect(await page.evaluate('getComputedStyle(document.querySelector("h1")).color')).toBe('rgb(1, 2, 3)');
  await page.getByText('Blog').click();
  await page.waitForURL(urlOf(open, '/blog/'));
  expect((await page.goto(urlOf(open, '/nowhere')))?.status()).toBe(404);
  expect(await page.title()).toBe('Lost');
});

test('a members’ site opens by its link and stays open, in this browser alone', async () => {
  const page = await context.newPage();
  expect((await page.goto(urlOf(members)))?.status()).toBe(403);
  await page.goto(await linkTo(members, '/blog/'));
  expect(page.url()).toBe(urlOf(members, '/blog/'));
  await page.goto(urlOf(members));
  await page.locator('h1[data-script=ran]').waitFor();
  const [cookie] = await context.cookies(urlOf(members));
  expect(cookie).toMatchObject({
    name: '__Host-portico-preview',
    httpOnly: true,
    secure: true,
    sameSite: 'None',
    path: '/',
  });
  expect(await page.evaluate('document.cookie')).toBe('');
  expect(await context.cookies(urlOf(open))).toEqual([]);
  expect(await context.cookies(app.url.replace('127.0.0.1', 'localhost'))).toEqual([]);
  const elsewhere = await browser.newContext();
  const stranger = await elsewhere.newPage();
  expect((await stranger.goto(urlOf(members)))?.status()).toBe(403);
  await elsewhere.close();
});

test('a link opens once: another browser, and this one after a while, are sent back to Portico', async () => {
  const now = Date.now();
  app.clock.now = new Date(now);
  const link = await linkTo(members);
  const page = await context.newPage();
  expect((await page.goto(link))?.status()).toBe(200);
  // Within ten seconds the browser that opened it may do so again.
  expect((await page.goto(link))?.status()).toBe(200);
  const elsewhere = await browser.newContext();
  const stranger = await elsewhere.newPage();
  expect((await stranger.goto(link))?.status()).toBe(410);
  expect(await stranger.locator('h1').textContent()).toBe('Open it again from Portico');
  await elsewhere.close();
  app.clock.now = new Date(now + 11_000);
  expect((await page.goto(link))?.status()).toBe(410);
  expect((await page.goto(urlOf(members)))?.status()).toBe(200);
  app.clock.now = null;
});

test('a link that a page fetches ahead still opens', async () => {
  const link = await linkTo(members);
  app.services.settings.public_url = urlOf(open);
  const page = await context.newPage();
  await page.goto(urlOf(open));
  const seen: string[] = [];
  page.on('request', (request) => {
    if (request.url() === link) seen.push(request.method());
  });
  await page.evaluate(`fetch(${JSON.stringify(link)}, { mode: 'no-cors' }).catch(() => null)`);
  await page.evaluate(`fetch(${JSON.stringify(link)}, { mode: 'no-cors', method: 'HEAD' }).catch(() => null)`);
  expect(seen).toEqual(['GET', 'HEAD']);
  expect((await page.goto(link))?.status()).toBe(200);
});

test('a members’ site opens in a frame of the dashboard, with a link of its own', async () => {
  const page = await context.newPage();
  await page.goto(await linkTo(members));
  await page.goto(`${framingUrl}/?of=${encodeURIComponent(await linkTo(members))}`);
  const frame = page.frameLocator('iframe');
  await frame.locator('h1[data-script=ran]').waitFor();
  await frame.getByText('Blog').click();
  await frame.locator('h1', { hasText: 'Blog' }).waitFor();
});

test('a members’ site is framed by no other origin', async () => {
  app.services.settings.public_url = 'http://localhost:1';
  const page = await context.newPage();
  const refused = page.waitForEvent('console', (message) => message.text().includes('frame-ancestors'));
  await page.goto(`${framingUrl}/?of=${encodeURIComponent(await linkTo(members))}`);
  await refused;
});

test('a site’s script reaches nothing of the API', async () => {
  const page = await context.newPage();
  await page.goto(urlOf(open));
  const apiUrl = app.url.replace('127.0.0.1', 'localhost');
  const reach = (url: string) => `fetch('${url}').then((answer) => answer.status, () => 'refused')`;
  expect(await page.evaluate(reach(`${apiUrl}/api/v2/openapi.json`))).toBe('refused');
  expect(await page.evaluate(reach('/api/v2/openapi.json'))).toBe(404);
});
