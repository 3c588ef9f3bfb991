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
import type { BrowserParts } from './browser-parts.ts';
import { capturedBefore, type Known, mostShown } from './captured-before.ts';
import { type Asked, isKept, isLeftToRun } from './is-kept.ts';
import { mayAsk } from './may-ask.ts';
import { pageHeaders } from './page-headers.ts';
import { passOn } from './pass-on.ts';

/** Asked for by scripts, and different each time. */
const changing = new Set(['xhr', 'fetch', 'eventsource', 'document', 'ping']);

/** Answers what one page asks for in its browser, through the guarded client, and keeps count of it. */
export class PageRequests {
  readonly #context: FetchContext;
  readonly #parts: BrowserParts;
  readonly #of: ClaimedUrl;
  readonly #outcomes: Outcome[] = [];
  readonly #leftToRun = new Set<string>();
  #requests = 0;
  #bytes = 0;
  readonly #count = (requests: number, bytes: number): void => {
    this.#requests += requests;
    this.#bytes += bytes;
  };

  constructor(context: FetchContext, parts: BrowserParts, of: ClaimedUrl) {
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
    if (request.method !== 'GET') return passOn(this.#context, this.#parts, request, this.#count);
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

  async #fetch(request: BrowserRequest, url: string, hop: number): Promise<Known> {
    const { budget, run } = this.#parts;
    if (!(await mayAsk(this.#context, url)) || !(await budget.reserve())) return { kind: 'none' };
    const host = hostOfUrl(url);
    const isInScope = this.#context.discovery.site.isInScope(url);
    const { id, place, depth, follows } = this.#of;
    const of: ClaimedUrl = {
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
    const base = changing.has(request.type) ? undefined : await this.#parts.baseOf(of);
    const asked: Asked = { type: request.type, isInScope };
    const keeps = (headers: FetchedHeaders) => isKept(run.settings, asked, headers);
    const { outcome, result } = await fetchAnswer(
      this.#context,
      of,
      base,
      { received() {} },
      {
        headers: pageHeaders(request, this.#context.headersFor(host).headers, isInScope),
        ...(request.headers.cookie !== undefined && { cookie: request.headers.cookie }),
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
    if (run.settings.status_ok.includes(result.status) && isLeftToRun(run.settings, asked, result.headers))
      this.#leftToRun.add(url);
    return this.#shown(of, result, base);
  }

  #note(outcome: Outcome, belongs: boolean): void {
    if (belongs) this.#outcomes.push(outcome);
    else this.#count(1, outcome.bytes_wire);
  }

  async #shown(of: ClaimedUrl, answer: FetchedAnswer, base: BaseEntry | undefined): Promise<Known> {
    if (answer.status === 304 && base?.sha256) {
      const earlier = await this.#parts.answerOf(of, base);
      return earlier === null ? { kind: 'none' } : { kind: 'answer', answer: earlier };
    }
    if (answer.isCut) return { kind: 'none' };
    const { status, headers, bytes } = answer;
    return { kind: 'answer', answer: { status, headers, body: bytes ?? new Uint8Array() } };
  }
}
