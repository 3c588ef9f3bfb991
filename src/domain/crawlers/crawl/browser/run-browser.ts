import type { Browser, BrowserAnswer } from '../../../ports/browser.ts';
import type { ClaimedUrl } from '../../frontier/claim.ts';
import { type BaseEntry, baseEntry } from '../fetch/base-entries.ts';
import type { FetchContext, PageBrowser } from '../fetch/fetch-context.ts';
import { BrowserFault, type ShownPage } from '../fetch/shown-page.ts';
import type { BrowserOptions, BrowserParts } from './browser-parts.ts';
import { earlierAnswer } from './captured-before.ts';
import { PageRequests } from './page-requests.ts';
import { SharedAnswers } from './shared-answers.ts';

const mostPages = 4;

/** Chromium as a run uses it: for its pages (`browser_mode`), or only for what they ask for (`network_intercept`). */
export class RunBrowser implements PageBrowser {
  readonly #parts: BrowserParts;
  readonly #browser: Browser;

  constructor(options: BrowserOptions) {
    const { services, snapshot, outlinks } = options;
    const { blobs } = services;
    const base_id = snapshot.base_id;
    const em = () => services.orm.em.fork();
    this.#parts = {
      ...options,
      shared: new SharedAnswers(),
      baseOf: async ({ url }) => (base_id === null ? undefined : baseEntry(em(), { blobs, outlinks }, base_id, url)),
      answerOf: async ({ url }, base) => (base_id === null ? null : earlierAnswer(em(), blobs, base_id, url, base)),
    };
    this.#browser = services.browser;
  }

  /** Whether links are read from the document as scripts have left it. */
  get isMode(): boolean {
    return this.#parts.run.settings.browser_mode;
  }

  answerOf(of: ClaimedUrl, base: BaseEntry): Promise<BrowserAnswer | null> {
    return this.#parts.answerOf(of, base);
  }

  get storesDom(): boolean {
    return this.isMode && this.#parts.run.settings.browser_config.use_rendered_html;
  }

  async show(context: FetchContext, of: ClaimedUrl, document: BrowserAnswer): Promise<ShownPage> {
    const { services, run, atOnce } = this.#parts;
    const { assets, browser_config } = run.settings;
    const { enabled, timeout, execute_js } = assets.network_intercept;
    const requests = new PageRequests(context, this.#parts, of);
    const agent = context.headersFor(of.host).headers['user-agent'];
    const page = await this.#browser.load({
      run: run.id,
      url: of.url,
      document,
      scripts: !enabled || execute_js,
      ...(!this.isMode && agent !== undefined && { userAgent: agent }),
      wantsDom: this.isMode,
      timeout: Math.min(timeout, services.settings.crawl.max_page_timeout) * 1_000,
      idle: browser_config.wait_for_network_idle,
      atOnce: Math.min(atOnce, mostPages),
      answer: (request) => requests.answer(request),
      signal: context.signal,
    });
    const { beside, leftToRun } = requests;
    if (!page.ok) throw new BrowserFault(page.message, page.reason === 'crashed', beside);
    const { ok: _, ...shown } = page;
    return { ...shown, beside, leftToRun };
  }
}
