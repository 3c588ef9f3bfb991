import { afterAll, expect, it, onTestFinished } from 'vitest';
import { SeparateBrowser } from '../../../src/engines/browser/separate-browser.ts';
import type { BrowserAnswer, PageLoad } from '../../../src/ports/browser.ts';
import { createLog } from '../../../src/server/log.ts';

const log = createLog({ level: 'silent', redactHeaders: [] });
// Chromium refuses to run as root with its sandbox.
const settings = { path: null, noSandbox: process.getuid?.() === 0 };
const browser = new SeparateBrowser(settings, log);
afterAll(() => browser.close());

const answerOf = (body: string | Buffer, type = 'text/html'): BrowserAnswer => ({
  status: 200,
  headers: { 'content-type': type },
  body: Buffer.from(body),
});

const usual: Omit<PageLoad, 'document'> = {
  run: 1,
  organization: 1,
  url: 'http://site.test/',
  scripts: true,
  wantsDom: true,
  timeout: 20_000,
  idle: 0,
  atOnce: 4,
  answer: async () => null,
  signal: new AbortController().signal,
};

const load = (html: string, given: Partial<PageLoad> = {}) =>
  browser.load({ ...usual, document: answerOf(html), ...given });

it('shows pages, answers what they ask for, and forgets runs', async () => {
  expect(await browser.begin()).toMatchObject({ ok: true, userAgent: expect.stringContaining('Chrome') });
  const asked: string[] = [];
  const page = await load('<body><script src=/app.js></script>', {
    answer: async ({ url, from, body }) => {
      asked.push(url);
      expect([from, body]).toEqual(['http://site.test', null]);
      return answerOf('document.body.append("made")', 'text/javascript');
    },
  });
  expect(page).toMatchObject({ ok: true, html: expect.stringContaining('made'), isCut: false });
  expect(asked).toEqual(['http://site.test/app.js']);
  await browser.forget(1);
});

it('gives its reason to what is aborted, and refuses what cannot be answered', async () => {
  const controller = new AbortController();
  const loading = load('<script src=/never.js></script>', {
    signal: controller.signal,
    answer: () => {
      controller.abort(new Error('not wanted'));
      return new Promise(() => {});
    },
  });
  await expect(loading).rejects.toThrow('not wanted');
  const page = await load('<body><script src=/app.js onerror="document.body.append(`refused`)"></script>', {
    answer: () => Promise.reject(new Error('away')),
  });
  expect(page).toMatchObject({ ok: true, html: expect.stringContaining('refused') });
});

it('outlives a process that takes too much memory', async () => {
  let restarts = 0;
  const small = new SeparateBrowser({ ...settings, mostMemory: 1, onRestart: () => (restarts += 1) }, log);
  onTestFinished(() => small.close());
  expect(await small.load({ ...usual, document: answerOf('<p>page</p>') })).toEqual({
    ok: false,
    reason: 'crashed',
    message: 'The browser ended: its process died',
  });
  expect(restarts).toBe(1);
  expect(await small.begin()).toMatchObject({ ok: false });
  expect(restarts).toBe(2);
});

it('sends nothing for a page that is larger than it may be', async () => {
  const sent: number[] = [];
  const script = `const send = (size) => fetch('/' + size, { method: 'POST', body: 'a'.repeat(size) }).catch(() => {});
    onload = () => send(6 * 1024 * 1024).then(() => send(1024))`;
  await load(`<script>${script}</script>`, {
    idle: 5_000,
    answer: async ({ body }) => {
      sent.push(body?.length ?? 0);
      return null;
    },
  });
  expect(sent).toEqual([1024]);
});

it('asks for a few things of a page at the same time, and gives it no more than it may have', async () => {
  const body = Buffer.alloc(16 * 1024 * 1024, ' ');
  let [open, most, given] = [0, 0, 0];
  const script = `<script>onload = () => { for (let i = 0; i < 60; i++) fetch('/' + i) }</script>`;
  const page = await load(script, {
    idle: 15_000,
    wantsDom: false,
    answer: async () => {
      open += 1;
      most = Math.max(most, open);
      await new Promise((resolve) => setImmediate(resolve));
      open -= 1;
      given += body.length;
      return answerOf(body, 'text/plain');
    },
  });
  expect(page).toMatchObject({ ok: true });
  expect(most).toBeLessThanOrEqual(10);
  // What was on its way when the measure was full comes as well.
  expect(given).toBeLessThanOrEqual((64 + 10 * 16) * 1024 * 1024);
});

it('ends with its server', async () => {
  const other = new SeparateBrowser(settings, log);
  expect(await other.begin()).toMatchObject({ ok: true });
  await other.close();
  await expect(other.begin()).rejects.toThrow('the browser is closed');
});
