import type { Browser, BrowserAnswer, BrowserRequest } from '../../../ports/browser.ts';
import type { FetchedAnswer, FetchedHeaders } from '../../../ports/fetcher.ts';
import type { LeasedUrl } from '../frontier/lease.ts';
import type { Beside, Outcome } from '../frontier/outcome.ts';
import { hostOfUrl, priorities } from '../frontier/url-draft.ts';
import type { CrawlerRun } from '../runs/crawler-run.entity.ts';
import { normalise } from '../urls/normalise.ts';
import {
  type BrowserOptions,
  type BrowserParts,
  capturedBefore,
  earlierAnswer,
  type Known,
  mostShown,
  SharedAnswers,
} from './browser-session.ts';
import { agrees, isOtherOrigin, isReadable, onward, preflightOf } from './cross-origin.ts';
import { type BaseEntry, baseEntry } from './fetch/base-entries.ts';
import { BrowserFault, type ShownPage } from './fetch/captured.ts';
import type { FetchContext, PageBrowser } from './fetch/fetch-context.ts';
import { fetchAnswer, mergedCookies, mostHops } from './fetch/fetch-url.ts';
import type { RunSite } from './open/run-site.ts';

/** Fetched by scripts for their own use. */
const apis = new Set(['xhr', 'fetch', 'eventsource', 'ping']);

const isHtml = (headers: FetchedHeaders) =>
  /^\s*(text\/html|application\/xhtml\+xml)\b/i.test(String(headers['content-type'] ?? ''));

/** A request of a page: its resource type as the browser names it (such as `image` or `xhr`), and whether it is in scope. */
interface PageRequest {
  type: string;
  isInScope: boolean;
}

/** Whether the answer to a page's request belongs into the snapshot. */
function belongs({ assets, browser_config }: CrawlerRun['settings'], { type, isInScope }: PageRequest): boolean {
  if (assets.network_intercept.enabled) return true;
  if (apis.has(type)) return browser_config.capture_api_responses && isInScope;
  return isInScope && type !== 'document' && assets.parser.enabled;
}

/**
 * Whether the answer to a page's request is stored as it came. HTML in scope is not: it may be a page of its own, which the run fetches
 * itself.
 */
const isKept = (settings: CrawlerRun['settings'], request: PageRequest, headers: FetchedHeaders): boolean =>
  !(request.isInScope && isHtml(headers)) && belongs(settings, request);

/** Whether the run fetches such HTML itself, as a resource of the page unless something links to it as a page. */
const isLeftToRun = (settings: CrawlerRun['settings'], request: PageRequest, headers: FetchedHeaders): boolean =>
  request.isInScope && isHtml(headers) && belongs(settings, request);

/** Whether a page may request a URL at all. Scope does not count: pages need resources of other hosts to be shown. */
async function mayRequest({ discovery: { site } }: Pick<FetchContext, 'discovery'>, url: string): Promise<boolean> {
  if (await site.refuses(url)) return false;
  const rules = await site.robots(hostOfUrl(url), true);
  return rules === null || rules.isAllowed(url);
}

/**
 * Whether a request gets what the crawler and the run hold for its host: headers, and cookies. A document of another site, such as an
 * advertisement in a frame, must not act with them, and one of an allowed domain not on the crawler's own hosts.
 */
export function isEntitled(
  site: Pick<RunSite, 'isOwn' | 'isInScope'>,
  { from }: Pick<BrowserRequest, 'from'>,
  url: string,
): boolean {
  if (!site.isInScope(url)) return true;
  if (from === null) return false;
  const [there, here] = [hostOfUrl(url), hostOfUrl(from)];
  return here === there || site.isOwn(here) || (!site.isOwn(there) && site.isInScope(from));
}

/** Of a browser's request, and the client's own to set; a part of a body is no answer to be kept. */
const dropped =
  /^(host|connection|content-length|accept-encoding|cookie|user-agent|range|if-.*|proxy-.*|transfer-encoding|te|upgrade)$/;

/**
 * Headers of a request a page wants sent: its own, and on hosts in scope those of the crawler.
 * @param given those the crawler's requests to that host have
 */
export function pageHeaders(
  { headers }: Pick<BrowserRequest, 'headers'>,
  given: Readonly<Record<string, string>>,
  isInScope: boolean,
): Record<string, string> {
  const own = Object.fromEntries(Object.entries(headers).filter(([name]) => !dropped.test(name)));
  const agent = { 'user-agent': given['user-agent'] ?? '' };
  if (!isInScope) return { ...own, ...agent };
  return { ...own, ...given, ...(own.accept !== undefined && { accept: own.accept }) };
}

/** Most milliseconds something that is sent may take. */
const longest = 30_000;

type Count = (requests: number, bytes: number) => void;

/** Whether another origin agrees, by a preflight, to what a page is to send there; any page may send what needs none. */
async function mayCross(
  { policy, signal }: Pick<FetchContext, 'policy' | 'signal'>,
  { services, budget, run }: BrowserParts,
  request: BrowserRequest,
  url: string,
  count: Count,
): Promise<boolean> {
  const headers = preflightOf(request, url);
  if (headers === null) return true;
  if (!(await budget.reserve())) return false;
  count(1, 0);
  try {
    const answer = await services.http.request(url, {
      method: 'OPTIONS',
      headers,
      policy,
      signal,
      timeouts: { total: longest },
    });
    answer.discard();
    return agrees(request, answer);
  } catch (error) {
    if (signal.aborted) throw signal.reason;
    services.log.debug({ err: error, run: run.id, url }, 'a preflight was not answered');
    return false;
  }
}

/**
 * Sends what a page sends (anything but a GET) through the guarded client. It belongs to no snapshot.
 * @param count called for each request that is sent, and with the bytes received
 * @returns null when it is refused, not answered, or leads elsewhere
 * @throws the signal's reason once it is aborted
 */
async function forward(
  context: FetchContext,
  parts: BrowserParts,
  request: BrowserRequest,
  count: Count,
): Promise<BrowserAnswer | null> {
  const { services, budget, run } = parts;
  const { url, method, headers, body } = request;
  const target = URL.parse(url);
  if (target === null || !(await mayRequest(context, url))) return null;
  if (!(await mayCross(context, parts, request, url, count)) || !(await budget.reserve())) return null;
  count(1, 0);
  const { cookies, policy, signal } = context;
  const { site } = context.discovery;
  const given = context.headersFor(url).headers;
  const isOurs = isEntitled(site, request, url);
  const cookie = isOurs ? mergedCookies(cookies.header(target, services.clock.now()), headers.cookie) : null;
  try {
    const answer = await services.http.request(target, {
      method,
      headers: {
        ...pageHeaders(request, given, isOurs && site.isInScope(url)),
        ...(cookie !== null && { cookie }),
        'accept-encoding': 'identity',
      },
      body,
      policy,
      signal,
      maxBytes: mostShown,
      timeouts: { total: longest },
    });
    const set = answer.headers['set-cookie'];
    if (set !== undefined && isOurs) cookies.store(target, [set].flat(), services.clock.now());
    const bytes = await answer.bytes();
    count(0, bytes.length);
    const isRedirect = answer.status >= 300 && answer.status < 400;
    return isRedirect ? null : { status: answer.status, headers: answer.headers, body: bytes };
  } catch (error) {
    if (signal.aborted) throw signal.reason;
    services.log.debug({ err: error, run: run.id, url }, 'what a page sent was not answered');
    return null;
  }
}

/** Requested by scripts, and different each time. */
const changing = new Set(['xhr', 'fetch', 'eventsource', 'document', 'ping']);

/** Without what a page holds for one origin only (Fetch, 4.4: HTTP-redirect fetch). */
function withoutAuthorization(request: BrowserRequest): BrowserRequest {
  const { authorization: _, ...headers } = request.headers;
  return { ...request, headers };
}

/** Answers the requests of one page in its browser, through the guarded client, and keeps count of it. */
class PageRequests {
  readonly #context: FetchContext;
  readonly #parts: BrowserParts;
  readonly #of: LeasedUrl;
  readonly #outcomes: Outcome[] = [];
  readonly #leftToRun = new Set<string>();
  #requests = 0;
  #bytes = 0;
  readonly #count: Count = (requests, bytes) => {
    this.#requests += requests;
    this.#bytes += bytes;
  };

  constructor(context: FetchContext, parts: BrowserParts, of: LeasedUrl) {
    this.#context = context;
    this.#parts = parts;
    this.#of = of;
  }

  get beside(): Beside {
    return { outcomes: this.#outcomes, requests: this.#requests, bytes_wire: this.#bytes };
  }

  /** HTML of the site that the page needs, each once: the run has to ask for it by itself. */
  get leftToRun(): string[] {
    return [...this.#leftToRun];
  }

  /** @returns null when it is refused, or there is no answer */
  async answer(request: BrowserRequest): Promise<BrowserAnswer | null> {
    if (request.method !== 'GET') return forward(this.#context, this.#parts, request, this.#count);
    const { origin } = new URL(request.url);
    for (let url: string | null = this.#normalised(request.url, this.#of.url), hop = 0; hop <= mostHops; hop += 1) {
      if (url === null) return null;
      const isElsewhere = new URL(url).origin !== origin;
      if (isElsewhere && request.type === 'document' && hop > 0) return onward(url);
      const known: Known = await this.#known(isElsewhere ? withoutAuthorization(request) : request, url, hop);
      if (known.kind === 'answer') return this.#isHidden(request, url, known.answer, isElsewhere) ? null : known.answer;
      if (known.kind === 'none') return null;
      url = this.#normalised(known.to, url);
    }
    return null;
  }

  /** Whether scripts would read what a redirect has led to, and its origin does not let them: to the browser it looks like the first origin's. */
  #isHidden(request: BrowserRequest, url: string, { headers }: BrowserAnswer, isElsewhere: boolean): boolean {
    return isElsewhere && apis.has(request.type) && isOtherOrigin(request, url) && !isReadable(request, headers);
  }

  #normalised(url: string, base: string): string | null {
    const { origin, stripParams } = this.#context.discovery.site;
    return normalise(url, base, { origin, stripParams });
  }

  /** Resources of several pages are fetched once. */
  async #known(request: BrowserRequest, url: string, hop: number): Promise<Known> {
    const { shared, services, run, snapshot } = this.#parts;
    if (changing.has(request.type) || !isEntitled(this.#context.discovery.site, request, url))
      return this.#fetch(request, url, hop);
    return shared.get(url, async () => {
      const place = { run_id: run.id, snapshot_id: snapshot.id };
      const before = await capturedBefore(services.orm.em.fork(), services.blobs, place, url);
      return before ?? this.#fetch(request, url, hop);
    });
  }

  async #fetch(request: BrowserRequest, url: string, hop: number): Promise<Known> {
    const { budget, run } = this.#parts;
    if (!(await mayRequest(this.#context, url))) return { kind: 'none' };
    if (!(await mayCross(this.#context, this.#parts, request, url, this.#count))) return { kind: 'none' };
    if (!(await budget.reserve())) return { kind: 'none' };
    const host = hostOfUrl(url);
    const { site } = this.#context.discovery;
    const isInScope = site.isInScope(url);
    const isOurs = isEntitled(site, request, url);
    const { id, place, depth, follows } = this.#of;
    const of: LeasedUrl = {
      id,
      place,
      url,
      host,
      kind: 'asset',
      is_entry: false,
      follows,
      depth,
      priority: priorities.asset,
      hop,
      level: 1,
      attempts: 0,
    };
    const base = changing.has(request.type) || !isOurs ? undefined : await this.#parts.baseOf(of);
    const pageRequest: PageRequest = { type: request.type, isInScope };
    const keeps = (headers: FetchedHeaders) => isOurs && isKept(run.settings, pageRequest, headers);
    const { outcome, result } = await fetchAnswer(
      this.#context,
      of,
      base,
      { async received() {} },
      {
        headers: pageHeaders(request, this.#context.headersFor(url).headers, isOurs && isInScope),
        ...(isOurs && request.headers.cookie !== undefined && { cookie: request.headers.cookie }),
        takesCookies: isOurs,
        read: 'all',
        most: mostShown,
        keeps,
      },
    );
    if (result === null) {
      await budget.refund();
      return { kind: 'none' };
    }
    this.#note(outcome, !result.ok ? keeps({}) : keeps(result.headers));
    if (!result.ok) return { kind: 'none' };
    if (outcome.redirect_to !== null) return { kind: 'redirect', to: outcome.redirect_to };
    if (
      isOurs &&
      run.settings.status_ok.includes(result.status) &&
      isLeftToRun(run.settings, pageRequest, result.headers)
    )
      this.#leftToRun.add(url);
    return this.#shown(of, result, base);
  }

  #note(outcome: Outcome, belongs: boolean): void {
    if (belongs) this.#outcomes.push(outcome);
    else this.#count(1, outcome.bytes_wire);
  }

  async #shown(of: LeasedUrl, answer: FetchedAnswer, base: BaseEntry | undefined): Promise<Known> {
    if (answer.status === 304 && base?.sha256) {
      const earlier = await this.#parts.answerOf(of, base);
      return earlier === null ? { kind: 'none' } : { kind: 'answer', answer: earlier };
    }
    if (answer.isCut) return { kind: 'none' };
    const { status, headers, bytes } = answer;
    return { kind: 'answer', answer: { status, headers, body: bytes ?? new Uint8Array() } };
  }
}

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

  answerOf(of: LeasedUrl, base: BaseEntry): Promise<BrowserAnswer | null> {
    return this.#parts.answerOf(of, base);
  }

  get storesDom(): boolean {
    return this.isMode && this.#parts.run.settings.browser_config.use_rendered_html;
  }

  async show(context: FetchContext, of: LeasedUrl, document: BrowserAnswer): Promise<ShownPage> {
    const { services, run, organization_id, atOnce } = this.#parts;
    const { assets, browser_config } = run.settings;
    const { enabled, timeout, execute_js } = assets.network_intercept;
    const requests = new PageRequests(context, this.#parts, of);
    const agent = context.headersFor(of.url).headers['user-agent'];
    const page = await this.#browser.load({
      run: run.id,
      organization: organization_id,
      url: of.url,
      document,
      scripts: !enabled || execute_js,
      ...(!this.isMode && agent !== undefined && { userAgent: agent }),
      wantsDom: this.isMode,
      timeout: Math.min(timeout, services.crawlers.limits.max_page_timeout) * 1_000,
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
