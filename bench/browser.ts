import { type Browser, chromium } from 'playwright-core';
import { chromiumPath } from '../src/engines/browser/launch.ts';
import { type Benchmark, check } from './benchmark.ts';
import { porticoCrawls } from './support/crawls/portico-crawls.ts';
import { startSite } from './support/crawls/site.ts';
import { sitePages } from './support/crawls/site-pages.ts';
import { median } from './support/statistics.ts';

const atOnce = 4;

/** The same pages in the same Chromium with nothing else done: what no crawler behind it can be faster than. @returns seconds */
async function loadPlainly(chrome: Browser, addresses: readonly string[]): Promise<number> {
  const context = await chrome.newContext();
  const left = [...addresses];
  const began = performance.now();
  const load = async () => {
    for (let url = left.pop(); url !== undefined; url = left.pop()) {
      const page = await context.newPage();
      await page.goto(url, { waitUntil: 'load' });
      check((await page.content()).includes('</html>'), `${url} has no document`);
      await page.close();
    }
  };
  await Promise.all(Array.from({ length: atOnce }, load));
  const seconds = (performance.now() - began) / 1_000;
  await context.close();
  return seconds;
}

/** Crawls in browser mode, beside Chromium driven by hand. */
export const browser: Benchmark = {
  name: 'browser',
  summary: 'Pages per second of crawls in browser mode, beside the same pages in Chromium alone.',
  async run(bench) {
    const site = await startSite();
    bench.defer(site.stop);
    const executablePath = await chromiumPath(process.env.PORTICO_CHROMIUM_PATH ?? null);
    check(executablePath !== null, 'there is no Chromium; set PORTICO_CHROMIUM_PATH');
    const pages = bench.scaled(200);
    const portico = await porticoCrawls(bench, { browser_mode: true, workers: atOnce });
    const chrome = await chromium.launch({ executablePath, chromiumSandbox: process.getuid?.() !== 0 });
    bench.defer(() => chrome.close());
    const ours: number[] = [];
    const plain: number[] = [];
    const memory: number[] = [];
    for (let round = 0; round < bench.scaled(3); round += 1) {
      await site.become(pages, round);
      const run = await portico.crawl(site.origin);
      check(run.counts.html === pages, `captured ${run.counts.html} of ${pages} pages`);
      const { first, repeated } = await site.tally();
      check(repeated === 0, `requested ${repeated} times for what had been asked for`);
      ours.push((1_000 * pages) / (run.ended - first));
      memory.push(run.peak);
      const addresses = [...sitePages(pages, round).keys()].map((address) => site.origin + address);
      plain.push(pages / (await loadPlainly(chrome, addresses)));
      bench.say(`${pages} pages: ${ours.at(-1)?.toFixed(1)} pages/s, Chromium alone ${plain.at(-1)?.toFixed(1)}`);
    }
    const runs = ours.length;
    return {
      cases: [
        {
          name: `${pages} pages in browser mode, ${atOnce} at a time`,
          unit: 'pages/s',
          value: median(ours),
          runs,
          peers: [{ name: 'Chromium alone', value: median(plain) }],
          atLeast: 8,
        },
        {
          name: `${pages} pages in browser mode, most memory, all processes`,
          unit: 'MiB',
          value: median(memory),
          runs,
        },
      ],
      notes: [
        `Chromium ${chrome.version()}; pages of some 15 KiB without assets, served by a process of its own on the same machine.`,
        'Chromium alone: Playwright opens, loads, reads and closes the same pages, as many at a time, and keeps nothing.',
        'Portico fetches each document itself, shows it, reads its links before and after, and stores it durably; time runs to the published snapshot.',
      ],
    };
  },
};
