/**
 * The dashboard in a real browser, as a person sees it. A test file calls `withDashboard()` once, opens pages as a person of some role, and finds
 * what it needs by role and accessible name. After each test its pages are closed, and none may have complained.
 */
import axe from 'axe-core';
import type { Browser, BrowserContext, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, expect, onTestFinished } from 'vitest';
import { type Listener, listen } from '../../src/db/listener.ts';
import { grantChannel } from '../../src/domain/identity/grant-cache.ts';
import { deploymentChannel } from '../../src/domain/studio/deployments/deployment-feed.ts';
import { changeChannel } from '../../src/domain/studio/watch/change-log.ts';
import { User } from '../../src/domain/users/user.entity.ts';
import type { Preset } from '../../src/kernel/actor.ts';
import type { RightsOf } from '../../src/kernel/services.ts';
import { startTestApp, type TestApp } from './app.ts';
import { makePerson, signedIn } from './browser.ts';
import { builtDashboard } from './build.ts';
import { launchChromium } from './chromium.ts';
import { observeDatabase } from './observe-database.ts';

/** Widths that every page fits into, pixels. */
const wide = { width: 1440, height: 900 };
const middle = { width: 1024, height: 768 };
export const narrow = { width: 375, height: 700 };

/** A page of a browser of its own, for a server that runs as a process; it is closed after the test. */
export async function openPage(): Promise<Page> {
  const browser = await launchChromium();
  onTestFinished(() => browser.close());
  return browser.newPage({ viewport: wide, locale: 'en-GB' });
}

export interface Visitor {
  /** Of the person, who has an account in `acme` from the first time on; null: without a session. */
  email?: string | null;
  role?: Preset;
  size?: { width: number; height: number };
  colorScheme?: 'light' | 'dark';
  /** That the account has chosen. */
  language?: 'en' | 'de';
  /** Has a screen that is touched, too. */
  hasTouch?: boolean;
}

export interface Dashboard {
  /** An application with organisation `acme` and its empty project `site`. */
  readonly app: TestApp;
  /** Opens a path in a browser of its own; `page.context().newPage()` is another tab of it. */
  open(path: string, visitor?: Visitor): Promise<Page>;
  /** Takes out of what pages have complained of what a test has caused on purpose; it must have happened. */
  forgive(fault: RegExp): void;
  /** Lets complaints pass, until the end of a test, that it may bring about or not. */
  tolerate(fault: RegExp): void;
  /**
   * Database statements behind each query that the tab has sent, by the operation's name, authentication aside. What runs in the background
   * adds some now and then, so each is requested several times, and the least counts.
   */
  statementsOf(page: Page): Promise<Record<string, number>>;
}

interface Query {
  operation: string;
  body: string;
}

/** Where a page's complaints go: the console, errors, requests that fail or leave the server. */
function watch(context: BrowserContext, origin: string, faults: string[]): void {
  context.on('console', (message) => {
    if (message.type() !== 'error' && message.type() !== 'warning') return;
    faults.push(`${message.text()} ${message.location().url}`);
  });
  context.on('weberror', (error) => faults.push(String(error.error())));
  context.on('request', (request) => {
    const url = request.url();
    if (url.startsWith('data:') || url.startsWith('blob:')) return;
    // A frame may show the preview origin.
    if (new URL(url).origin !== origin && !new URL(url).hostname.endsWith('.localhost'))
      faults.push(`requested ${url}`);
  });
  context.on('requestfailed', (request) => {
    // A page that is left no longer needs its responses.
    const why = request.failure()?.errorText;
    if (why !== 'net::ERR_ABORTED') faults.push(`failed ${request.url()}: ${why}`);
  });
}

/** Subscribes to notifications of the database, as a server does, for what pages are to see without being loaded anew. */
function listenTo({ services }: TestApp): Listener {
  const { changes, feed } = services.studio;
  const { grants } = services;
  return listen({
    url: String(services.orm.config.get('clientUrl')),
    log: services.log,
    channels: {
      [changeChannel]: (payload) => changes.notify(payload),
      [deploymentChannel]: (payload) => feed.notify(payload),
      [grantChannel]: (payload) => grants.evict(payload as RightsOf),
    },
    onState: (listening) => {
      changes.setListening(listening);
      grants.setListening(listening);
    },
  });
}

/** Starts the dashboard for the tests of a file; registers the hooks that end it. */
export function withDashboard(environment: Record<string, string> = {}): Dashboard {
  let app: TestApp | undefined;
  let browser: Browser | undefined;
  let listener: Listener | undefined;
  const faults: string[] = [];
  const tolerated: RegExp[] = [];
  const contexts: BrowserContext[] = [];
  const people = new Map<string, number>();
  const queries = new WeakMap<Page, Query[]>();
  const statements: string[] = [];

  const started = (): TestApp => {
    if (!app) throw new Error('The dashboard is there from beforeAll on');
    return app;
  };
  beforeAll(async () => {
    app = await startTestApp(environment, await builtDashboard());
    observeDatabase(app.services, (statement) => statements.push(statement));
    listener = listenTo(app);
    await listener.ready;
    browser = await launchChromium();
  });
  afterEach(async () => {
    await Promise.all(contexts.splice(0).map((context) => context.close()));
    const passing = tolerated.splice(0);
    expect(faults.splice(0).filter((text) => !passing.some((one) => one.test(text)))).toEqual([]);
  });
  afterAll(async () => {
    await browser?.close();
    await listener?.close();
    await app?.stop();
  });

  /** The cookie of a new session. */
  const signIn = async (email: string, role: Preset): Promise<string> => {
    const id = people.get(email) ?? (await makePerson(started(), { email, role }));
    people.set(email, id);
    return (await signedIn(started(), id)).cookie?.replace('portico=', '') ?? '';
  };
  const cost = async (body: string, cookie: string): Promise<number> => {
    const counts: number[] = [];
    for (let time = 0; time < 5; time += 1) {
      statements.length = 0;
      const headers = { 'Content-Type': 'application/json', 'Sec-Fetch-Site': 'same-origin', Cookie: cookie };
      await (await fetch(`${started().url}/graphql`, { method: 'POST', headers, body })).text();
      counts.push(statements.length);
    }
    return Math.min(...counts);
  };

  return {
    get app() {
      return started();
    },
    async open(path, visitor = {}) {
      const {
        email = 'ada@example.org',
        role = 'owner',
        size = wide,
        colorScheme = 'light',
        language,
        hasTouch,
      } = visitor;
      const { url } = started();
      const context = await (browser as Browser).newContext({
        viewport: size,
        colorScheme,
        locale: 'en-GB',
        timezoneId: 'UTC',
        reducedMotion: 'reduce',
        ...(hasTouch && { hasTouch }),
      });
      contexts.push(context);
      watch(context, url, faults);
      context.on('page', (page) => {
        const sent: Query[] = [];
        queries.set(page, sent);
        page.on('request', (request) => {
          const body = request.postData();
          if (request.url() !== `${url}/graphql` || body === null) return;
          const { operationName = '', query = '' } = JSON.parse(body) as { operationName?: string; query?: string };
          if (/\bquery \w/.test(query)) sent.push({ operation: operationName, body });
        });
      });
      if (email !== null) await context.addCookies([{ name: 'portico', value: await signIn(email, role), url }]);
      if (email !== null && language) {
        const em = started().services.orm.em.fork();
        await em.nativeUpdate(User, { email }, { preferences: { language } });
      }
      const page = await context.newPage();
      await page.goto(`${url}${path}`);
      return page;
    },
    forgive(fault) {
      const others = faults.filter((text) => !fault.test(text));
      expect(others.length, `a complaint like ${fault}`).toBeLessThan(faults.length);
      faults.splice(0, faults.length, ...others);
    },
    tolerate(fault) {
      tolerated.push(fault);
    },
    async statementsOf(page) {
      const [{ name, value } = { name: '', value: '' }] = await page.context().cookies();
      const cookie = `${name}=${value}`;
      const authentication = await cost('{"query":"{__typename}"}', cookie);
      const costs: Record<string, number> = {};
      for (const { operation, body } of queries.get(page) ?? [])
        costs[operation] = Math.max(costs[operation] ?? 0, (await cost(body, cookie)) - authentication);
      return costs;
    },
  };
}

const rules = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'];
/** Rules of axe that colours decide: all others find the same in both themes. */
const ofColours = ['color-contrast', 'link-in-text-block'];

interface Violation {
  id: string;
  nodes: { html: string; failureSummary: string }[];
}

/** Nothing of a page may be wider than the window. */
async function expectToFit(page: Page, size: { width: number; height: number }): Promise<void> {
  await page.setViewportSize(size);
  const over = await page.evaluate('document.documentElement.scrollWidth - document.documentElement.clientWidth');
  expect(over, `pixels too wide at ${size.width}`).toBeLessThanOrEqual(0);
}

/** Colours that follow the theme by script are rendered after those of style sheets, and some change gradually. */
const settled = `(async () => {
  await new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)));
  await new Promise((resolve) => requestIdleCallback(resolve, { timeout: 2_000 }));
  const passing = document.getAnimations().filter((one) => one.effect.getComputedTiming().endTime !== Infinity);
  await Promise.allSettled(passing.map((one) => one.finished));
})()`;

/** Expects of a page as it stands, with its heading, that axe finds nothing in either theme, and that it fits into windows of three widths. */
export async function expectGoodPage(page: Page): Promise<void> {
  const size = page.viewportSize() ?? wide;
  // Scrolled by some pixels, the bar at the top covers part of a link, which axe counts as a target that is too small.
  await page.evaluate('scrollTo({ top: 0, behavior: "instant" })');
  await page.evaluate(axe.source);
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme });
    await page.evaluate(settled);
    const runOnly = colorScheme === 'light' ? rules : { type: 'rule', values: ofColours };
    // What a frame shows is not the dashboard's.
    const options = JSON.stringify({ iframes: false, resultTypes: ['violations'], runOnly });
    const run = `axe.run(document, ${options}).then(({ violations }) => violations)`;
    const found = (await page.evaluate(run)) as Violation[];
    const described = found.map(({ id, nodes }) => [
      id,
      ...nodes.map(({ html, failureSummary }) => `${html}: ${failureSummary}`),
    ]);
    expect(described, colorScheme).toEqual([]);
  }
  for (const width of [middle, narrow, wide]) await expectToFit(page, width);
  await page.setViewportSize(size);
}

/** Expects of a page that it shows this text, and no key of a text that its language lacks. */
export async function expectTexts(page: Page, language: 'en' | 'de', text: string): Promise<void> {
  await page.getByText(text).first().waitFor();
  expect(await page.locator('html').getAttribute('lang')).toBe(language);
  const shown = await page.locator('body').innerText();
  expect(shown.match(/\b[a-z]+(?:_[a-z]+)+\b/g) ?? []).toEqual([]);
}
