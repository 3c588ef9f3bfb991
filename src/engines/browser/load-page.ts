import { setTimeout as sleep } from 'node:timers/promises';
import type { BrowserContext, CDPSession, Page } from 'playwright-core';
import type { LoadedPage, PageFault, PageLoad } from '../../ports/browser.ts';
import { Loading } from './loading.ts';
import type { Tab, Tabs } from './tabs.ts';

/** Characters of a document as it stands; page readers look at no more. */
const mostHtml = 10 * 1024 * 1024;
/** Milliseconds in which a renderer that does anything at all answers. */
const patience = 5_000;

/** As text, because it is run in the page. Open shadow roots are serialised as templates, which page readers parse. */
const serialize = `(() => {
  const roots = [];
  const walk = (root) => {
    for (const element of root.querySelectorAll('*')) {
      if (!element.shadowRoot) continue;
      roots.push(element.shadowRoot);
      walk(element.shadowRoot);
    }
  };
  walk(document);
  const html = document.documentElement;
  const type = document.doctype ? '<!DOCTYPE ' + document.doctype.name + '>' : '';
  const inner = roots.length > 0 && html.getHTML ? html.getHTML({ shadowRoots: roots }) : html.innerHTML;
  const tag = html.cloneNode(false).outerHTML;
  const end = tag.lastIndexOf('</');
  return (type + (end < 0 ? html.outerHTML : tag.slice(0, end) + inner + tag.slice(end))).slice(0, ${mostHtml});
})()`;

const within = async <T>(work: Promise<T>, milliseconds: number): Promise<T | null> => {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<null>((resolve) => {
    timer = setTimeout(() => resolve(null), milliseconds);
  });
  work.catch(() => {});
  return Promise.race([work, late]).finally(() => clearTimeout(timer));
};

/**
 * Stops the scripts of a page for good, also one that never returns.
 * @param opening has to be open before the page is loaded
 */
async function endScripts(opening: Promise<CDPSession>): Promise<void> {
  const ending = async () => {
    const session = await opening;
    await Promise.all([
      session.send('Emulation.setScriptExecutionDisabled', { value: true }),
      session.send('Runtime.terminateExecution'),
    ]);
  };
  await within(ending(), patience).catch(() => {});
}

/** The document of a page as it stands; null when the page does not answer. */
async function readDom(page: Page): Promise<string | null> {
  const read = async () => {
    const html: unknown = await page.evaluate(serialize).catch(() => null);
    return typeof html === 'string' ? html : page.content();
  };
  // A page can have what serialises it say anything.
  return (await within(read(), patience))?.slice(0, mostHtml) ?? null;
}

/** A network without a new request for so long is idle; milliseconds. */
const restful = 500;
/** What scripts begin as the page is loaded shows by then: a redirect above all. */
const settling = 50;
/** A document that its own script replaces may never finish loading: the replacement is waited for so long. */
const interrupted = 500;

const isTimeout = (error: unknown): boolean => error instanceof Error && error.name === 'TimeoutError';
const crashed = (message: string): PageFault => ({ ok: false, reason: 'crashed', message });

/** Loads until the page is, or its time is up. @returns whether time was up */
async function reachLoad(page: Page, loading: Loading, { url, timeout, idle, signal }: PageLoad): Promise<boolean> {
  const end = performance.now() + timeout;
  const rest = () => Math.max(1, end - performance.now());
  const going = page.goto(url, { waitUntil: 'load', timeout });
  try {
    await Promise.race([going, loading.left.then(() => sleep(interrupted, undefined, { signal }))]);
  } catch (error) {
    if (isTimeout(error)) return true;
    if (!loading.isGiven || page.isClosed() || signal.aborted) throw error;
    await sleep(Math.min(interrupted, rest()), undefined, { signal });
  } finally {
    going.catch(() => {});
  }
  await sleep(Math.min(settling, rest()), undefined, { signal });
  const restBy = Math.min(end, performance.now() + idle);
  while (performance.now() < restBy && loading.rest < restful) await sleep(20, undefined, { signal });
  return performance.now() >= end;
}

/** Where pages are shown. */
interface Place {
  context: BrowserContext;
  tabs: Tabs;
  /** Of the pages that are being loaded. */
  loadings: Map<Page, Loading>;
}

/** Shows a page in a tab. @param loading what answers it */
async function show(
  { context, tabs, loadings }: Place,
  tab: Tab,
  loading: Loading,
  load: PageLoad,
  onStuck: () => void,
): Promise<LoadedPage | PageFault> {
  const { page } = tab;
  loadings.set(page, loading);
  let [isCrash, isSound] = [false, false];
  let [onCrash, onAbort] = [() => {}, () => {}];
  const broken = new Promise<never>((_resolve, reject) => {
    onCrash = () => {
      isCrash = true;
      reject(new Error('crash'));
    };
    onAbort = () => reject(load.signal.reason);
  });
  page.once('crash', onCrash);
  load.signal.addEventListener('abort', onAbort, { once: true });
  broken.catch(() => {});
  const work = async (): Promise<LoadedPage | PageFault> => {
    const isCut = await reachLoad(page, loading, load);
    if (isCut) await endScripts(tab.session);
    const html = load.wantsDom ? await readDom(page) : null;
    if (load.wantsDom && html === null)
      return { ok: false, reason: 'hung', message: 'The page does not come to rest and cannot be read' };
    const { navigations } = loading;
    // A document that was to be replaced may still be loading.
    isSound = !isCut && navigations.length === 0;
    return { ok: true, html, url: page.url(), navigations, isCut };
  };
  const working = work();
  working.catch(() => {});
  try {
    return await Promise.race([working, broken]);
  } catch (error) {
    if (load.signal.aborted) throw load.signal.reason;
    if (isCrash) return crashed('The page crashed');
    const message = error instanceof Error ? (error.message.split('\n', 1)[0] ?? '') : String(error);
    return crashed(`The page could not be loaded: ${message.slice(0, 200)}`);
  } finally {
    loadings.delete(page);
    page.off('crash', onCrash);
    load.signal.removeEventListener('abort', onAbort);
    if (!(await tabs.give(context, tab, isSound && !load.signal.aborted))) onStuck();
  }
}

/**
 * Loads one page of a context.
 * @param onStuck the page does not end: its browser must
 * @throws the signal's reason once it is aborted
 */
export async function loadPage(place: Place, load: PageLoad, onStuck: () => void): Promise<LoadedPage | PageFault> {
  load.signal.throwIfAborted();
  const { context, tabs } = place;
  const tab = await tabs.take(context, load.scripts);
  const isNew = tab.uses === 0;
  const loading = new Loading(context, load, isNew);
  const shown = await show(place, tab, loading, load, onStuck);
  // What a tab has shown before must not cost this page anything.
  if (shown.ok || isNew || loading.isGiven) return shown;
  return show(place, await tabs.open(context, load.scripts), new Loading(context, load, true), load, onStuck);
}
