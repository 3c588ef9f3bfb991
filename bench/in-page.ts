import { stat } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { chromium, type Frame, type Page } from 'playwright-core';
import { chromiumPath } from '../src/engines/browser/launch.ts';
import { type Benchmark, check, timedCase } from './benchmark.ts';
import { createClient } from './support/client.ts';
import { makeFixture } from './support/fixture.ts';
import { keyObserver, ofAllKeys } from './support/keys.ts';
import { repositoryOf } from './support/repositories.ts';
import { freePort, root, startServer } from './support/server.ts';
import { signedIn } from './support/signed-in.ts';
import { quantile } from './support/statistics.ts';

const sections = 125;
const keys = 200;

/** A post of 500 blocks, and the page that a generator would make of it. */
function longPost(): { markdown: string; html: string } {
  const parts = Array.from({ length: sections }, (_, at) => ({
    heading: `Section ${at} of the orchard book`,
    text: `Paragraph ${at} tells of tree ${at * 7} and of what the *wind* of night ${at * 3} left on it.`,
    item: `Cover tree ${at * 7} before evening ${at}`,
    last: `On day ${at} the harvest of row ${at * 11} was weighed and written down.`,
  }));
  const markdown = parts.map(({ heading, text, item, last }) => `## ${heading}\n\n${text}\n\n- ${item}\n\n${last}\n`);
  const html = parts.map(
    ({ heading, text, item, last }) =>
      `<h2>${heading}</h2><p>${text.replace(/\*(\w+)\*/, '<em>$1</em>')}</p><ul><li>${item}</li></ul><p>${last}</p>`,
  );
  return {
    markdown: `---\ntitle: Orchard book\n---\n\n${markdown.join('\n')}`,
    html: `<!doctype html><html><head><title>Orchard book</title></head><body><main><h1>Orchard book</h1>${html.join('')}</main></body></html>`,
  };
}

/** Marks clicks and the focus by the clock that all frames share, and keeps what took long. */
const observer = `
window.marks = { clicked: 0, long: [] };
addEventListener('pointerdown', ({ timeStamp }) => (marks.clicked = performance.timeOrigin + timeStamp), { capture: true });
${keyObserver}new PerformanceObserver((list) => {
  for (const { duration } of list.getEntries()) marks.long.push(duration);
}).observe({ type: 'longtask' });
window.caret = () => new Promise((resolve) => {
  const look = () => {
    if (document.activeElement?.getAttribute('aria-label') !== 'Text') return requestAnimationFrame(look);
    requestAnimationFrame(() => setTimeout(() => resolve(performance.timeOrigin + performance.now())));
  };
  look();
});
`;

const title = 'iframe[title="The page on its site"]';

async function openPage(page: Page, address: string): Promise<Frame> {
  await page.addInitScript(observer);
  await page.goto(address);
  await page.getByText('Page', { exact: true }).click();
  const pieces = page.getByRole('combobox', { name: 'Pieces of this page' });
  for (let look = 0; look < 600 && !(await pieces.isEnabled().catch(() => false)); look += 1) await setTimeout(50);
  check(await pieces.isEnabled(), 'No piece of the page could be edited within half a minute');
  const frame = await (await page.locator(title).elementHandle())?.contentFrame();
  check(frame != null, 'The page is not there');
  return frame;
}

/** Milliseconds from a click on a paragraph of the page until the caret stands in it. */
async function clickToCaret(page: Page, frame: Frame, section: number): Promise<number> {
  const paragraph = frame.getByText(`On day ${section} the harvest`);
  await paragraph.scrollIntoViewIfNeeded();
  const [caret] = await Promise.all([page.evaluate<number>('window.caret()'), paragraph.click()]);
  const clicked = await frame.evaluate<number>('marks.clicked');
  await page.keyboard.press('Escape');
  await page.getByRole('textbox', { name: 'Text', exact: true }).waitFor({ state: 'hidden' });
  return caret - clicked;
}

/** What a person waits for who edits an entry on its own page. */
export const inPage: Benchmark = {
  name: 'in-page',
  summary: 'The editor in a page of 500 blocks: click to caret, key to paint, long tasks, bytes of its script.',
  async run(bench) {
    const executablePath = await chromiumPath(process.env.PORTICO_CHROMIUM_PATH ?? null);
    check(executablePath !== null, 'there is no Chromium; set PORTICO_CHROMIUM_PATH');
    const { markdown, html } = longPost();
    const files = [
      { path: 'hugo.toml', content: Buffer.from("baseURL = 'https://orchard.example/'\n") },
      { path: 'content/posts/book.md', content: Buffer.from(markdown) },
      { path: 'public/posts/book/index.html', content: Buffer.from(html) },
    ];
    const source = await repositoryOf('in-page', () => [{ branch: 'main', files }]);
    const fixture = await makeFixture(await bench.directory(), { site: source });
    const { dataDir, environment, token, projects } = fixture;
    const port = String(await freePort());
    const server = await startServer({ dataDir, environment: { ...environment, PORTICO_PREVIEW_PORT: port } });
    bench.defer(server.stop);
    const client = createClient(server.url, token);
    bench.defer(client.close);
    const { studio } = projects.site;
    await client.send(`${studio}/route-patterns/detect`, { method: 'POST', body: { save: true } });
    const live = { name: 'Live', branch: 'main', provider: 'static', output_directory: 'public', auto_deploy: true };
    await client.send(`${studio}/environments`, { method: 'POST', body: live });
    // A mouse that is moved by the protocol never enters a frame of another process: the page above does not see it there.
    const args = ['--disable-site-isolation-trials'];
    const chrome = await chromium.launch({ executablePath, args, chromiumSandbox: process.getuid?.() !== 0 });
    bench.defer(() => chrome.close());
    const page = await (await signedIn(chrome, server, dataDir)).newPage();
    const frame = await openPage(page, `${server.url}/p/bench/site/content/posts/book`);

    const carets: number[] = [];
    for (let run = 0; run < bench.scaled(30, 3); run += 1)
      carets.push(await clickToCaret(page, frame, (run * 4) % sections));
    bench.say('clicks are measured');

    await frame.getByText('On day 60 the harvest').click();
    await page.evaluate('window.caret()');
    await Promise.all([page, frame].map((each) => each.evaluate('void ((window.keyed = []), (marks.long = []))')));
    for (let key = 0; key < keys; key += 1) await page.keyboard.press('x', { delay: 30 });
    const typed = await page.evaluate<number[]>('window.keyed');
    const long = (await Promise.all([page, frame].map((each) => each.evaluate<number[]>('marks.long')))).flat();
    const shown = await frame.getByText(/^On day 60.*x{50}/).count();
    check(shown === 1, 'The page does not show what was typed');
    const script = await stat(path.join(root, 'dist/dashboard/in-page/in-page.js.br'));
    return {
      cases: [
        timedCase('click to caret', carets, { atMost: 100 }),
        { name: `key to paint, p95 of ${keys}`, unit: 'ms', value: quantile(ofAllKeys(typed, keys), 0.95), atMost: 32 },
        { name: 'longest task while typing', unit: 'ms', value: Math.max(0, ...long), atMost: 50 },
        { name: 'script in the page', unit: 'kB', value: script.size / 1_000, atMost: 25 },
      ],
      notes: [
        'From the pointer going down in the page until the caret is painted in the editor over it. Tasks of less than 50 ms are not reported by the browser and stand as 0.',
        'Both frames, the dashboard and the page, are watched. Script as sent, in brotli.',
      ],
    };
  },
};
