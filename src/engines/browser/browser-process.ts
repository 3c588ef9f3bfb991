import { totalmem } from 'node:os';
import { setTimeout } from 'node:timers/promises';
import type { BrowserContext, Browser as Chromium, Page } from 'playwright-core';
import { ownBytes } from '../../lib/child-processes.ts';
import type { OwnedDirectory } from '../../lib/owned-directory.ts';
import type { LoadedPage, PageFault, PageLoad } from '../../ports/browser.ts';
import type { Launched, Wear } from './launch.ts';
import { loadPage } from './load-page.ts';
import { type Loading, routeAll } from './loading.ts';
import { Tabs } from './tabs.ts';

/** One process of a browser. */
interface Weighed {
  id: number;
  /** Whether it shows pages. */
  isRenderer: boolean;
  /** Of its private memory; 0 where the system does not report it. */
  bytes: number;
}

async function processesOf(browser: Chromium): Promise<Weighed[]> {
  const session = await browser.newBrowserCDPSession();
  try {
    const { processInfo } = await session.send('SystemInfo.getProcessInfo');
    return await Promise.all(
      processInfo.map(async ({ id, type }) => ({ id, isRenderer: type === 'renderer', bytes: await ownBytes(id) })),
    );
  } finally {
    await session.detach().catch(() => {});
  }
}

const bytesOf = (processes: readonly Weighed[]): number => processes.reduce((sum, { bytes }) => sum + bytes, 0);

/** Tabs that wait for a page; as many as are used at a time. */
const mostWaiting = 4;
const gibibyte = 2 ** 30;
/** A quarter of what the machine, or the container, has. */
const most = Math.min(
  3 * gibibyte,
  Math.max(gibibyte, Math.min(totalmem(), process.constrainedMemory() || totalmem()) / 4),
);
const usualWear: Wear = { pages: 500, bytes: most / 2, lookEvery: 25, most };
/** Milliseconds between two looks at what open pages take: each page fills some 100 MiB meanwhile at most. */
const boundEvery = 250;

/** One Chromium with a context for each run. */
export class BrowserProcess {
  readonly #browser: Chromium;
  readonly #directory: OwnedDirectory;
  readonly #contexts = new Map<number, Promise<BrowserContext>>();
  readonly #loadings = new Map<Page, Loading>();
  readonly #tabs = new Tabs(mostWaiting);
  readonly #wear: Wear;
  readonly #log: (message: string, error: unknown) => void;
  #pages = 0;
  #open = 0;
  #isWorn = false;
  #isBounding = false;

  constructor(
    { chromium, directory }: Launched,
    log: (message: string, error: unknown) => void,
    wear: Wear = usualWear,
  ) {
    this.#browser = chromium;
    this.#directory = directory;
    this.#wear = wear;
    this.#log = log;
    chromium.on('disconnected', () => {
      this.#isWorn = true;
      void directory.remove();
    });
  }

  /** It takes no more pages: it has had its time, or has ended. */
  get isWorn(): boolean {
    return this.#isWorn;
  }

  get isIdle(): boolean {
    return this.#open === 0;
  }

  /** Takes a page; `leave` must follow. */
  enter(): void {
    this.#open += 1;
    this.#pages += 1;
    if (this.#pages >= this.#wear.pages) this.#isWorn = true;
    else if (this.#pages % this.#wear.lookEvery === 0) void this.#weigh();
    if (!this.#isBounding) void this.#bound();
  }

  /** Ends it once it is worn and its last page is over. */
  async leave(): Promise<void> {
    this.#open -= 1;
    if (this.#isWorn && this.isIdle) await this.close();
  }

  async #weigh(): Promise<void> {
    try {
      if (bytesOf(await processesOf(this.#browser)) > this.#wear.bytes) this.#isWorn = true;
    } catch (error) {
      this.#log('the memory of Chromium is not known', error);
    }
  }

  /** Ends the largest pages as long as all processes together take too much, while any page is open: each takes what its site wants. */
  async #bound(): Promise<void> {
    this.#isBounding = true;
    while (!this.isIdle && this.#browser.isConnected()) {
      await setTimeout(boundEvery, undefined, { ref: false });
      await this.#endLargest().catch((error: unknown) => this.#log('the memory of Chromium is not known', error));
    }
    this.#isBounding = false;
  }

  async #endLargest(): Promise<void> {
    const processes = await processesOf(this.#browser);
    let excess = bytesOf(processes) - this.#wear.most;
    // What its own processes have grown by goes with them alone.
    if (excess > 0) this.#isWorn = true;
    const renderers = processes.filter(({ isRenderer }) => isRenderer).sort((a, b) => b.bytes - a.bytes);
    for (const { id, bytes } of renderers) {
      if (excess <= 0) return;
      excess -= bytes;
      process.kill(id, 'SIGKILL');
    }
  }

  async load(page: PageLoad): Promise<LoadedPage | PageFault> {
    const context = await this.#contextOf(page);
    const place = { context, tabs: this.#tabs, loadings: this.#loadings };
    return loadPage(place, page, () => {
      this.#isWorn = true;
    });
  }

  #contextOf({ run, scripts, userAgent }: PageLoad): Promise<BrowserContext> {
    const known = this.#contexts.get(run);
    if (known) return known;
    const making = this.#browser
      .newContext({
        acceptDownloads: false,
        javaScriptEnabled: scripts,
        permissions: [],
        serviceWorkers: 'block',
        ...(userAgent !== undefined && { userAgent }),
      })
      .then(async (context) => {
        // A window opened by a page belongs to no run.
        context.on('page', (page) => {
          void page.opener().then(
            (opener) => (opener === null ? undefined : page.close()),
            () => {},
          );
        });
        await this.#tabs.prepare(context);
        await routeAll(context, this.#loadings);
        return context;
      });
    making.catch(() => this.#contexts.delete(run));
    this.#contexts.set(run, making);
    return making;
  }

  async forget(run: number): Promise<void> {
    const context = this.#contexts.get(run);
    this.#contexts.delete(run);
    const made = await context?.catch(() => undefined);
    if (!made) return;
    this.#tabs.forget(made);
    await made.close().catch(() => {});
  }

  async close(): Promise<void> {
    this.#isWorn = true;
    await this.#browser.close().catch((error: unknown) => this.#log('Chromium did not end', error));
    await this.#directory.remove();
  }
}
