import { type BrowserContext, chromium, type Page } from 'playwright-core';
import { chromiumPath } from '../src/engines/browser/launch.ts';
import { type Bench, type Benchmark, type Case, check, timedCase } from './benchmark.ts';
import { serveEmptyPage } from './support/empty-page.ts';
import { makeFixture } from './support/fixture.ts';
import { keyObserver, ofAllKeys } from './support/keys.ts';
import { siteRepository } from './support/repositories.ts';
import { startServer } from './support/server.ts';
import { signedIn } from './support/signed-in.ts';
import { quantile } from './support/statistics.ts';

const keys = 200;

/** Marks when something is first in the page, and adds up how far things jumped (Layout Instability API). */
const observer = `
window.shifted = 0;
new PerformanceObserver((list) => {
  for (const entry of list.getEntries()) if (!entry.hadRecentInput) window.shifted += entry.value;
}).observe({ type: 'layout-shift', buffered: true });
window.seen = (selector) => new Promise((resolve) => {
  const look = () => document.querySelector(selector) && requestAnimationFrame(() => setTimeout(() => resolve(performance.now())));
  if (look()) return;
  const watch = new MutationObserver(() => look() && watch.disconnect());
  watch.observe(document, { childList: true, subtree: true });
});
${keyObserver}`;

/** Resolves when nothing was loaded for half a second. The page's policy forbids the polling of `waitForFunction`, which evaluates text. */
const quiet = `new Promise((resolve) => {
  const poll = () => {
    const last = Math.max(...performance.getEntriesByType('resource').map(({ responseEnd }) => responseEnd));
    if (performance.now() - last > 500) resolve();
    else setTimeout(poll, 50);
  };
  poll();
})`;

/** Milliseconds from the next click until the frame in which the first row of the table is another one. */
const clickToRows = `new Promise((resolve) => {
  const first = () => document.querySelector('main tbody tr')?.textContent;
  const before = first();
  addEventListener('click', ({ timeStamp }) => {
    const look = () => {
      if ([undefined, before].includes(first())) requestAnimationFrame(look);
      else resolve(performance.now() - timeStamp);
    };
    look();
  }, { capture: true, once: true });
})`;

interface Load {
  /** From the navigation until what is looked for is painted, milliseconds. */
  milliseconds: number;
  /** Bytes of script as they were sent. */
  script: number;
  shift: number;
}

async function load(context: BrowserContext, address: string, selector: string): Promise<Load & { page: Page }> {
  const page = await context.newPage();
  await page.addInitScript(observer);
  await page.goto(address, { waitUntil: 'commit' });
  const milliseconds = await page.evaluate<number>(`window.seen(${JSON.stringify(selector)})`);
  // The stream of live data never ends, so the network is never idle.
  await page.evaluate(quiet);
  const [script, shift] = await page.evaluate<[number, number]>(`[
    performance.getEntriesByType('resource').filter(({ name }) => /\\.js$/.test(name)).reduce((sum, entry) => sum + entry.encodedBodySize, 0),
    window.shifted,
  ]`);
  return { page, milliseconds, script, shift };
}

/** Loads a page again and again: each time with nothing kept, or with what the time before left. */
async function loads(bench: Bench, own: BrowserContext, address: string, selector: string) {
  const cold: Load[] = [];
  const warm: Load[] = [];
  const state = await own.storageState();
  const chrome = own.browser();
  check(chrome !== null, 'The browser has gone');
  for (let run = 0; run < bench.scaled(15, 3); run += 1) {
    const context = await chrome.newContext({ storageState: state });
    const [first, second] = [await load(context, address, selector), await load(context, address, selector)];
    cold.push(first);
    warm.push(second);
    await context.close();
  }
  return { cold, warm };
}

const times = (found: readonly Load[]) => found.map(({ milliseconds }) => milliseconds);

/** Types into a body of 100 kB, as a person does: key to paint. */
async function typing(context: BrowserContext, address: string): Promise<number[]> {
  const { page } = await load(context, address, '.cm-content');
  await page.locator('.cm-content').first().click();
  for (let key = 0; key < keys; key += 1) await page.keyboard.press('x', { delay: 30 });
  const found = await page.evaluate<number[]>('window.keyed');
  await page.close();
  return ofAllKeys(found, keys);
}

/** What a person waits for in the browser. */
export const dashboard: Benchmark = {
  name: 'dashboard',
  summary:
    'The dashboard in Chromium: table of 10,000 entries cold and warm, its next page, typing, bytes of script, layout shift.',
  async run(bench) {
    const executablePath = await chromiumPath(process.env.PORTICO_CHROMIUM_PATH ?? null);
    check(executablePath !== null, 'there is no Chromium; set PORTICO_CHROMIUM_PATH');
    const site = { posts: bench.scaled(10_000, 100), directories: 0 };
    const fixture = await makeFixture(await bench.directory(), { site: await siteRepository(site) });
    const server = await startServer(fixture);
    bench.defer(server.stop);
    const empty = await serveEmptyPage(await bench.directory());
    bench.defer(empty.stop);
    const chrome = await chromium.launch({ executablePath, chromiumSandbox: process.getuid?.() !== 0 });
    bench.defer(() => chrome.close());
    const own = await signedIn(chrome, server, fixture.dataDir);
    const project = `${server.url}/p/bench/site`;

    const outside = await loads(bench, await chrome.newContext(), `${server.url}/sign-in`, 'form button[type=submit]');
    bench.say('sign-in is measured');
    const floor = await loads(bench, await chrome.newContext(), empty.url, '#root h1');
    const table = await loads(bench, own, `${project}/content/posts`, 'main tbody tr');
    bench.say('the table is measured');

    const { page } = await load(own, `${project}/content/posts`, 'main tbody tr');
    const next: number[] = [];
    for (let run = 0; run < bench.scaled(30, 3); run += 1) {
      const [took] = await Promise.all([
        page.evaluate<number>(clickToRows),
        page.getByRole('button', { name: 'Next page' }).click(),
      ]);
      next.push(took);
    }
    await page.close();

    const body = `${'A line of text that is long enough to be a line of a paragraph in a page.\n'.repeat(1_370)}`;
    const put = await fetch(`${server.url}/api/v2/organizations/bench/projects/site/studio/collections/posts`, {
      method: 'POST',
      headers: { Authorization: `Bearer ${fixture.token}`, 'Content-Type': 'application/json' },
      body: JSON.stringify({ slug: 'long-body', frontmatter: { title: 'Long body', date: '2026-01-01' }, body }),
    });
    check(put.status === 201, `The entry was not made: ${await put.text()}`);
    const entry = await loads(bench, own, `${project}/content/posts/long-body`, 'main input');
    const typed = await typing(own, `${project}/content/posts/long-body`);
    bench.say('typing is measured');

    const most = (found: readonly Load[], of: 'script' | 'shift') => Math.max(...found.map((each) => each[of]));
    const kilobytes = (name: string, found: readonly Load[], atMost: number): Case => ({
      name,
      unit: 'kB',
      value: most(found, 'script') / 1_000,
      atMost,
    });
    const [small] = floor.cold;
    const cases: Case[] = [
      timedCase('table of entries, cold', times(table.cold), {
        atMost: 1_500,
        beside: { 'an empty page': times(floor.cold) },
      }),
      timedCase('table of entries, again', times(table.warm), { beside: { 'an empty page': times(floor.warm) } }),
      timedCase('its next page', next, { atMost: 150 }),
      timedCase('an entry with a body of 100 kB, cold', times(entry.cold), {
        beside: { 'an empty page': times(floor.cold) },
      }),
      { name: `key to paint in it, p95 of ${keys}`, unit: 'ms', value: quantile(typed, 0.95), atMost: 50 },
      timedCase('sign-in, cold', times(outside.cold), { beside: { 'an empty page': times(floor.cold) } }),
      {
        ...kilobytes('script of the table', table.cold, 260),
        peers: [{ name: 'an empty page', value: (small?.script ?? 0) / 1_000 }],
      },
      kilobytes('script of sign-in', outside.cold, 180),
      ...(['table of entries', 'an entry'] as const).map((name, at) => ({
        name: `layout shift, ${name}`,
        unit: 'score',
        value: most([table.cold, entry.cold][at] ?? [], 'shift'),
        atMost: 0.05,
      })),
    ];
    return {
      cases,
      notes: [
        'From the navigation until the row, field or button is painted; cold: nothing kept by the browser. Scripts as sent, in brotli.',
        'The empty page: React, Mantine, the router and urql with one heading, built and served in the same way.',
      ],
    };
  },
};
