import { setTimeout as sleep } from 'node:timers/promises';
import type { BrowserContext, CDPSession, Page } from 'playwright-core';

/** Documents one tab shows, one after another: making a tab costs more than showing a page of text. */
const mostUses = 25;
/** Milliseconds after which a page that does not respond is discarded. */
const patience = 2_000;

/** Each document begins as in a tab of its own: run before any script of a page. */
const forgetLast = `if (window === window.top) {
  if (window.name !== '') window.name = '';
  try { sessionStorage.clear(); } catch {}
}`;

/**
 * Ends what a document is doing, and gives no more than it costs to look: one with too many timers, of which the numbers count, is not
 * worth it. Going to a blank page instead would cost half of what a tab saves.
 */
const endDocument = `(() => {
  window.stop();
  for (const frame of document.querySelectorAll('iframe, frame, object, embed')) frame.remove();
  const last = setTimeout(() => {}, 0);
  if (last > 10000) return false;
  for (let id = last; id > 0; id -= 1) clearTimeout(id);
  for (let id = requestAnimationFrame(() => {}); id > 0; id -= 1) cancelAnimationFrame(id);
  return true;
})()`;

/** A page of a context, with a session that reaches it also while its scripts never return. */
export interface Tab {
  page: Page;
  session: Promise<CDPSession>;
  /** Whether its context runs scripts at all. */
  scripts: boolean;
  /** Documents it has shown. */
  uses: number;
}

const inTime = (work: Promise<boolean>): Promise<boolean> =>
  Promise.race([work, sleep(patience, false, { ref: false })]);

/** Ends a page, whatever it does. @returns whether it has gone */
const close = ({ page }: Tab): Promise<boolean> => inTime(page.close().then(() => true)).catch(() => page.isClosed());

const runScripts = async ({ session, scripts }: Tab, isOn: boolean) => {
  if (scripts) await (await session).send('Emulation.setScriptExecutionDisabled', { value: !isOn });
};

/** Ends the document of a tab: it stands, but does nothing more. @returns whether it has ended */
async function quiet(tab: Tab): Promise<boolean> {
  const quieting = async () => {
    if (tab.scripts && (await tab.page.evaluate(endDocument)) !== true) return false;
    await runScripts(tab, false);
    await (await tab.session).send('Page.stopLoading');
    return true;
  };
  return inTime(quieting()).catch(() => false);
}

/** The tabs of a browser that wait for their next page. */
export class Tabs {
  readonly #most: number;
  readonly #waiting: { context: BrowserContext; tab: Tab }[] = [];

  /** @param most tabs that wait, of all contexts */
  constructor(most: number) {
    this.#most = most;
  }

  /** Prepares a context for tabs that show several pages. */
  async prepare(context: BrowserContext): Promise<void> {
    await context.addInitScript(forgetLast);
  }

  /** A tab nothing has been shown in. */
  async open(context: BrowserContext, scripts: boolean): Promise<Tab> {
    const page = await context.newPage();
    const session = context.newCDPSession(page);
    session.catch(() => {});
    return { page, session, scripts, uses: 0 };
  }

  /** A tab whose last page has ended, or a new one. */
  async take(context: BrowserContext, scripts: boolean): Promise<Tab> {
    const at = this.#waiting.findIndex((one) => one.context === context);
    const [found] = at < 0 ? [] : this.#waiting.splice(at, 1);
    if (!found || found.tab.page.isClosed()) return this.open(context, scripts);
    const { tab } = found;
    const reset = async () => {
      const session = await tab.session;
      await Promise.all([runScripts(tab, true), session.send('Page.resetNavigationHistory')]);
      return true;
    };
    if (await inTime(reset()).catch(() => false)) return tab;
    await close(tab);
    return this.open(context, scripts);
  }

  /**
   * Takes a tab back. @param isSound whether its page has come to its end in the usual way
   * @returns false when it can neither be used again nor closed: its browser must end
   */
  async give(context: BrowserContext, tab: Tab, isSound: boolean): Promise<boolean> {
    tab.uses += 1;
    if (!isSound || tab.uses >= mostUses || !(await quiet(tab))) return close(tab);
    this.#waiting.push({ context, tab });
    const [oldest] = this.#waiting.length > this.#most ? this.#waiting.splice(0, 1) : [];
    return oldest ? close(oldest.tab) : true;
  }

  /** Forgets the tabs of a context that is about to be closed. */
  forget(context: BrowserContext): void {
    const kept = this.#waiting.filter((one) => one.context !== context);
    this.#waiting.splice(0, this.#waiting.length, ...kept);
  }
}
