import type { BrowserAnswer, BrowserRequest } from '../../../ports/browser.ts';
import type { FetchedAnswer, FetchedHeaders } from '../../../ports/fetcher.ts';
import type { ClaimedUrl } from '../../frontier/claim.ts';
import type { Beside, Outcome } from '../../frontier/outcome.ts';
import { hostOfUrl, priorities } from '../../frontier/url-draft.ts';
import { normalise } from '../../urls/normalise.ts';
import type { BaseEntry } from '../fetch/base-entries.ts';
import type { FetchContext } from '../fetch/fetch-context.ts';
import { fetchAnswer } from '../fetch/fetch-url.ts';
import { mostHops } from '../fetch/redirected.ts';
import { capturedBefore, type Known, mostShown, readWhole } from './captured-before.ts';
import { mergedCookies, pageHeaders } from './page-headers.ts';
import type { BrowserParts } from './run-browser.ts';

/** Asked for by scripts, and different each time. */
const changing = new Set(['xhr', 'fetch', 'eventsource', 'document', 'ping']);
/** Fetched by scripts for their own use. */
const apis = new Set(['xhr', 'fetch', 'eventsource', 'ping']);

const isHtml = (headers: FetchedHeaders) =>
  /^\s*(text\/html|application\/xhtml\+xml)\b/i.test(String(headers['content-type'] ?? ''));

/** Answers what one page asks for in its browser, through the guarded client, and keeps count of it. */
export class PageRequests {
  readonly #context: FetchContext;
  readonly #parts: BrowserParts;
  readonly #of: ClaimedUrl;
  readonly #outcomes: Outcome[] = [];
  #requests = 0;
  #bytes = 0;

  constructor(context: FetchContext, parts: BrowserParts, of: ClaimedUrl) {
    this.#context = context;
    this.#parts = parts;
    this.#of = of;
  }

  get beside(): Beside {
    return { outcomes: this.#outcomes, requests: this.#requests, bytes_wire: this.#bytes };
  }

  /** @returns null when it is refused, or there is no answer */
  async answer(request: BrowserRequest): Promise<BrowserAnswer | null> {
    if (request.method !== 'GET') return this.#send(request);
    for (let url: string | null = this.#normalised(request.url, this.#of.url), hop = 0; hop <= mostHops; hop += 1) {
      if (url === null) return null;
      const known: Known = await this.#known(request, url, hop);
      if (known.kind === 'answer') return known.answer;
      if (known.kind === 'none') return null;
      url = this.#normalised(known.to, url);
    }
    return null;
  }

  #normalised(url: string, base: string): string | null {
    const { origin, stripParams } = this.#context.discovery.site;
    return normalise(url, base, { origin, stripParams });
  }

  /** What is asked for by several pages, is fetched once. */
  async #known(request: BrowserRequest, url: string, hop: number): Promise<Known> {
    const { shared, services, run, snapshot } = this.#parts;
    if (changing.has(request.type)) return this.#fetch(request, url, hop);
    return shared.get(url, async () => {
      const place = { run_id: run.id, snapshot_id: snapshot.id };
      const before = await capturedBefore(services.orm.em.fork(), services.blobs, place, url);
      return before ?? this.#fetch(request, url, hop);
    });
  }

  /** Whether it may be asked for at all. Scope is no matter: pages need what is elsewhere to be shown. */
  async #isAllowed(url: string): Promise<boolean> {
    const { site } = this.#context.discovery;
    const host = hostOfUrl(url);
    if (site.refuses(url)) return false;
    const rules = await site.robots(host);
    return rules === null || rules.isAllowed(url);
  }

  /** Whether an answer belongs into the snapshot. HTML in scope is a page of its own, which the run comes to by itself. */
  #isKept(type: string, isInScope: boolean, headers: FetchedHeaders): boolean {
    if (isInScope && isHtml(headers)) return false;
    const { assets, browser_config } = this.#parts.run.settings;
    if (assets.network_intercept.enabled) return true;
    if (apis.has(type)) return browser_config.capture_api_responses && isInScope;
    return isInScope && type !== 'document' && assets.parser.enabled;
  }

  async #fetch(request: BrowserRequest, url: string, hop: number): Promise<Known> {
    const { budget } = this.#parts;
    if (!(await this.#isAllowed(url)) || !(await budget.reserve())) return { kind: 'none' };
    const host = hostOfUrl(url);
    const isInScope = this.#context.discovery.site.isInScope(url);
    const { id, depth, follows } = this.#of;
    const as = { id, url, host, kind: 'asset', is_entry: false, follows, depth, priority: priorities.asset } as const;
    const of: ClaimedUrl = { ...as, hop, level: 1, attempts: 0 };
    const base = changing.has(request.type) ? undefined : await this.#parts.baseOf(of);
    const keeps = (headers: FetchedHeaders) => this.#isKept(request.type, isInScope, headers);
    const { outcome, result } = await fetchAnswer(this.#context, of, base, () => {}, {
      headers: pageHeaders(request, this.#context.headersFor(host).headers, isInScope),
      ...(request.headers.cookie !== undefined && { cookie: request.headers.cookie }),
      read: 'all',
      most: mostShown,
      keeps,
    });
    if (result === null) {
      await budget.refund();
      return { kind: 'none' };
    }
    this.#note(outcome, !result.ok ? keeps({}) : keeps(result.headers));
    if (!result.ok) return { kind: 'none' };
    if (outcome.redirect_to !== null) return { kind: 'redirect', to: outcome.redirect_to };
    return this.#shown(result, base);
  }

  #note(outcome: Outcome, isKept: boolean): void {
    if (isKept) return void this.#outcomes.push(outcome);
    this.#requests += 1;
    this.#bytes += outcome.bytes_wire;
  }

  async #shown(answer: FetchedAnswer, base: BaseEntry | undefined): Promise<Known> {
    const { blobs } = this.#context.services;
    if (answer.status === 304 && base?.sha256) {
      const body = await readWhole(blobs, base.sha256);
      const headers = { ...base.headers, ...(base.content_type !== null && { 'content-type': base.content_type }) };
      return body === null ? { kind: 'none' } : { kind: 'answer', answer: { status: base.http_status, headers, body } };
    }
    if (answer.isCut) return { kind: 'none' };
    const { status, headers, bytes } = answer;
    return { kind: 'answer', answer: { status, headers, body: bytes ?? new Uint8Array() } };
  }

  /** What a page sends is passed on, and belongs to no snapshot. */
  async #send({ url, method, type, headers, body }: BrowserRequest): Promise<BrowserAnswer | null> {
    const { services, budget } = this.#parts;
    const target = URL.parse(url);
    if (target === null || !(await this.#isAllowed(url)) || !(await budget.reserve())) return null;
    this.#requests += 1;
    const { site } = this.#context.discovery;
    const given = this.#context.headersFor(target.host).headers;
    const cookie = mergedCookies(this.#context.cookies.header(target, services.clock.now()), headers.cookie);
    try {
      const answer = await services.http.request(target, {
        method,
        headers: {
          ...pageHeaders({ url, method, type, headers, body }, given, site.isInScope(url)),
          ...(cookie !== null && { cookie }),
          'accept-encoding': 'identity',
        },
        body,
        policy: this.#context.policy,
        signal: this.#context.signal,
        maxBytes: mostShown,
        timeouts: { total: 30_000 },
      });
      const set = answer.headers['set-cookie'];
      if (set !== undefined) this.#context.cookies.store(target, [set].flat(), services.clock.now());
      const bytes = await answer.bytes();
      this.#bytes += bytes.length;
      const isRedirect = answer.status >= 300 && answer.status < 400;
      return isRedirect ? null : { status: answer.status, headers: answer.headers, body: bytes };
    } catch (error) {
      if (this.#context.signal.aborted) throw this.#context.signal.reason;
      services.log.debug({ err: error, run: this.#parts.run.id, url }, 'what a page sent was not answered');
      return null;
    }
  }
}
