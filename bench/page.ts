import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { brotliCompressSync } from 'node:zlib';
import { chromium, type Page } from 'playwright-core';
import { chromiumPath } from '../src/engines/browser/launch.ts';
import { type Benchmark, check, timedCase } from './benchmark.ts';
import { makeFixture } from './support/fixture.ts';
import { siteRepository } from './support/repositories.ts';
import { root, startServer } from './support/server.ts';
import { signedIn } from './support/signed-in.ts';
import { quantile } from './support/statistics.ts';

const pieces = 500;
const keys = 200;

const text = (at: number) => `Paragraph ${at} has some words of its own, so that it fills most of a line of the page.`;
const paragraphs = Array.from({ length: pieces }, (_, at) => text(at));
const html = `<!doctype html><title>Long</title><main><h1>Long</h1>${paragraphs.map((one) => `<p>${one}</p>`).join('\n')}</main>`;

/** Collects what a person waits for: keys until they are painted (Event Timing), and tasks over 50 ms (Long Tasks). */
const observer = `
window.keyed = [];
window.long = [];
new PerformanceObserver((list) => {
  for (const { name, duration } of list.getEntries()) if (name === 'keydown') window.keyed.push(duration);
}).observe({ type: 'event', durationThreshold: 16 });
new PerformanceObserver((list) => window.long.push(...list.getEntries().map(({ duration }) => duration))).observe({ type: 'longtask' });
`;

/** Types as a person does. @returns key to paint, milliseconds; what took less than 16 is not reported */
async function type(page: Page): Promise<{ keyed: number[]; long: number[] }> {
  await page.evaluate('window.keyed.length = window.long.length = 0');
  for (let key = 0; key < keys; key += 1) await page.keyboard.press('x', { delay: 30 });
  const { keyed, long } = await page.evaluate<{ keyed: number[]; long: number[] }>(
    '({ keyed: window.keyed, long: window.long })',
  );
  return { keyed: [...keyed, ...Array<number>(Math.max(0, keys - keyed.length)).fill(16)], long };
}

/** Milliseconds from a click on a piece of the page until its text has the focus. */
async function clickToCaret(page: Page, at: number): Promise<number> {
  const piece = page.frameLocator('iframe').getByText(`Paragraph ${at} `);
  const box = await piece.boundingBox();
  check(box !== null, `Paragraph ${at} is out of sight`);
  await page.evaluate(`addEventListener('focusin', ({ target }) => {
    if (target.classList.contains('cm-content')) window.focused = performance.timeOrigin + performance.now();
  }, { capture: true })`);
  await page.evaluate('window.focused = null; document.activeElement.blur()');
  await page.mouse.move(box.x + 40, box.y + 8);
  const began = Date.now();
  await page.mouse.down();
  await page.mouse.up();
  for (;;) {
    const focused = await page.evaluate<number | null>('window.focused');
    if (focused !== null) return focused - began;
    await delay(5);
  }
}

/** An entry edited on its page, by a person. */
export const page: Benchmark = {
  name: 'page',
  summary: `An entry of ${pieces} paragraphs edited on its page in Chromium: click to caret, typing, bytes of script in the page.`,
  async run(bench) {
    const executablePath = await chromiumPath(process.env.PORTICO_CHROMIUM_PATH ?? null);
    check(executablePath !== null, 'there is no Chromium; set PORTICO_CHROMIUM_PATH');
    const site = { posts: 20, directories: 0 };
    const fixture = await makeFixture(await bench.directory(), { site: await siteRepository(site) });
    const server = await startServer(fixture);
    bench.defer(server.stop);
    const ask = async (method: string, path: string, body: object): Promise<{ id: number }> => {
      const headers = { Authorization: `Bearer ${fixture.token}`, 'Content-Type': 'application/json' };
      const at = `${server.url}${fixture.projects.site.studio}${path}`;
      const answer = await fetch(at, { method, headers, body: JSON.stringify(body) });
      const found = await answer.text();
      check(answer.ok, `${method} ${path}: ${found}`);
      return JSON.parse(found);
    };
    const page = { op: 'write_file', path: 'public/posts/long/index.html', content: html };
    await ask('POST', '/changes', { message: 'Build', actions: [page] });
    await ask('POST', '/collections/posts', {
      slug: 'long',
      frontmatter: { title: 'Long', date: '2026-01-01' },
      body: `${paragraphs.join('\n\n')}\n`,
    });
    await ask('PATCH', '/repository', { route_patterns: [{ collection: 'posts', pattern: '/posts/{slug}/' }] });
    const draft = { name: 'Live', branch: 'main', provider: 'static', output_directory: 'public', auto_deploy: false };
    const { id } = await ask('POST', '/environments', draft);
    await ask('POST', '/deployments', { environment_id: id });

    const chrome = await chromium.launch({ executablePath, chromiumSandbox: process.getuid?.() !== 0 });
    bench.defer(() => chrome.close());
    const context = await signedIn(chrome, server, fixture.dataDir);
    const tab = await context.newPage();
    await tab.addInitScript(observer);
    await tab.setViewportSize({ width: 1440, height: 900 });
    await tab.goto(`${server.url}/p/bench/site/content/posts/long`);
    await tab.getByText('Page', { exact: true }).click();
    await tab.frameLocator('iframe').getByText('Paragraph 5 ').waitFor();
    await tab.locator('input[aria-label="Pieces of this page"]:enabled').waitFor();
    const clicks: number[] = [];
    for (let run = 0; run < bench.scaled(20, 3); run += 1) clicks.push(await clickToCaret(tab, 1 + (run % 4)));
    await tab.keyboard.press('End');
    const typed = await type(tab);
    bench.say('typing is measured');

    const floor = await context.newPage();
    await floor.addInitScript(observer);
    await floor.goto(`data:text/html,${encodeURIComponent(html.replace('<main>', '<main contenteditable>'))}`);
    await floor.locator('p').first().click();
    const plain = await type(floor);
    const script = await readFile(path.join(root, 'dist/dashboard/in-page/in-page.js'));
    return {
      cases: [
        timedCase('click to caret', clicks, { atMost: 100 }),
        {
          name: `key to paint, p95 of ${keys}`,
          unit: 'ms',
          value: quantile(typed.keyed, 0.95),
          atMost: 32,
          peers: [{ name: 'the page itself, editable', value: quantile(plain.keyed, 0.95) }],
        },
        { name: 'longest task while typing', unit: 'ms', value: Math.max(0, ...typed.long), atMost: 50 },
        {
          name: 'script in the page, in brotli',
          unit: 'kB',
          value: brotliCompressSync(script).length / 1_000,
          atMost: 25,
        },
      ],
      notes: [
        'Keys are painted in the dashboard’s editor over the page, and in the page; tasks up to 50 ms are reported as 0.',
      ],
    };
  },
};
