import type { BrowserContext, Frame, Page, Request, Route } from 'playwright-core';
import type { BrowserAnswer, PageLoad } from '../../ports/browser.ts';

/** Response headers that have no meaning for a page whose requests are answered here. */
const dropped = new Set([
  'alt-svc',
  'connection',
  'content-disposition',
  'content-encoding',
  'content-length',
  'keep-alive',
  'nel',
  'report-to',
  'reporting-endpoints',
  'strict-transport-security',
  'transfer-encoding',
]);

/** Requests of one page; a page with more of them would never end. */
const mostRequests = 2_000;
/** Of one page at the same time; others wait. Each holds its answer in memory, several times as it is handed over. */
const mostOpen = 10;
/** What the answers to one page may have together, and what it may send in one request; bytes. */
const mostGiven = 64 * 2 ** 20;
const mostSent = 5 * 2 ** 20;
/** Navigations of one page, and characters of an address, that are worth a note. */
const mostNavigations = 1_000;
const longestAddress = 8_192;

/** Requests whose cookies scripts may have set. */
const usesCookies = new Set(['xhr', 'fetch', 'document', 'eventsource']);

/** In a response a value that is no origin: Playwright would let every origin read a response that says nothing of it. */
const unreadable = { 'access-control-allow-origin': 'none' };

function fulfilment({ status, headers, body }: BrowserAnswer) {
  const given: Record<string, string> = { ...unreadable };
  for (const [name, value] of Object.entries(headers)) {
    if (dropped.has(name)) continue;
    given[name] = Array.isArray(value) ? value.join(name === 'set-cookie' ? '\n' : ', ') : value;
  }
  return { status, headers: given, body: Buffer.from(body.buffer, body.byteOffset, body.byteLength) };
}

/** Whether two addresses are the same but for what of them is escaped. */
const isSame = (one: string, other: string): boolean => plainOf(one) === plainOf(other);
const plainOf = (url: string): string =>
  (url.split('#', 1)[0] ?? '').replace(/%[0-9a-f]{2}/gi, (found) => String.fromCharCode(Number(`0x${found.slice(1)}`)));

/** A frame that is not there yet belongs to a window a page opens. */
function frameOf(request: Request): Frame | null {
  try {
    return request.frame();
  } catch {
    return null;
  }
}

/** Documents that have no origin of their own, but that of the document they are in. */
const isInherited = (url: string): boolean => url === '' || /^about:(?:blank|srcdoc)/.test(url);

/**
 * Origin of the document a request is made by.
 * @param top of the page
 * @returns null for an opaque one
 */
function originOf(request: Request, top: string): string | null {
  const given = request.headers().origin;
  let url = given;
  if (url === undefined) {
    const own = request.frame();
    let frame = request.isNavigationRequest() ? own.parentFrame() : own;
    while (frame?.parentFrame() && isInherited(frame.url())) frame = frame.parentFrame();
    // What the tab has shown before may still be what its main frame is called by.
    url = frame?.parentFrame() ? frame.url() : top;
  }
  const origin = URL.parse(url)?.origin ?? 'null';
  return origin === 'null' ? null : origin;
}

/** One page while it loads: answers its requests. */
export class Loading {
  readonly #context: BrowserContext;
  readonly #load: PageLoad;
  readonly #isNew: boolean;
  readonly #navigations = new Set<string>();
  readonly #leaving = Promise.withResolvers<void>();
  #isGiven = false;
  #requests = 0;
  #open = 0;
  #given = 0;
  #running = 0;
  readonly #waiting: (() => void)[] = [];
  #restsSince = performance.now();

  /** @param isNew nothing has been shown in the tab before */
  constructor(context: BrowserContext, load: PageLoad, isNew: boolean) {
    this.#context = context;
    this.#load = load;
    this.#isNew = isNew;
  }

  get navigations(): string[] {
    return [...this.#navigations];
  }

  /** Resolves when a script navigates. */
  get left(): Promise<void> {
    return this.#leaving.promise;
  }

  /** The document has been handed over. */
  get isGiven(): boolean {
    return this.#isGiven;
  }

  /** Milliseconds since the last request; 0 while one is open. */
  get rest(): number {
    return this.#open > 0 ? 0 : performance.now() - this.#restsSince;
  }

  async take(route: Route, request: Request, isOwnFrame: boolean): Promise<void> {
    if (request.isNavigationRequest() && isOwnFrame) {
      if (this.#isGiven) {
        const to = request.url();
        if (to.length <= longestAddress && this.#navigations.size < mostNavigations) this.#navigations.add(to);
        this.#leaving.resolve();
        return route.abort('aborted');
      }
      if (!this.#isNew && !isSame(request.url(), this.#load.url)) return route.abort('aborted');
      this.#isGiven = true;
      return route.fulfill(fulfilment(this.#load.document));
    }
    // Of what the tab has shown before.
    if (!this.#isGiven) return route.abort('aborted');
    this.#requests += 1;
    if (this.#requests > mostRequests || !/^https?:/i.test(request.url())) return route.abort('blockedbyclient');
    if ((request.postDataBuffer()?.length ?? 0) > mostSent) return route.abort('blockedbyclient');
    this.#open += 1;
    if (this.#running >= mostOpen) await new Promise<void>((resolve) => this.#waiting.push(resolve));
    else this.#running += 1;
    try {
      const answer = this.#given < mostGiven ? await this.#request(request) : null;
      this.#given += answer?.body.length ?? 0;
      await (answer === null ? route.abort('blockedbyclient') : route.fulfill(fulfilment(answer)));
    } finally {
      const next = this.#waiting.shift();
      if (next) next();
      else this.#running -= 1;
      this.#open -= 1;
      this.#restsSince = performance.now();
    }
  }

  async #request(request: Request): Promise<BrowserAnswer | null> {
    const type = request.resourceType();
    const headers = request.headers();
    if (usesCookies.has(type)) {
      const cookies = await this.#context.cookies(request.url());
      if (cookies.length > 0) headers.cookie = cookies.map(({ name, value }) => `${name}=${value}`).join('; ');
    }
    return this.#load.answer({
      url: request.url(),
      method: request.method(),
      type,
      from: originOf(request, this.#load.url),
      headers,
      body: request.postDataBuffer(),
    });
  }
}

/** Routes every request of a context's pages to the page's loader; windows they open get nothing. */
export async function routeAll(context: BrowserContext, loadings: ReadonlyMap<Page, Loading>): Promise<void> {
  await context.route(
    () => true,
    async (route) => {
      const request = route.request();
      const frame = frameOf(request);
      const loading = frame === null ? undefined : loadings.get(frame.page());
      try {
        if (frame === null || loading === undefined) await route.abort('blockedbyclient');
        else await loading.take(route, request, frame.parentFrame() === null);
      } catch {
        // The page is closed or closing: no request waits for the answer.
        await route.abort('failed').catch(() => {});
      }
    },
  );
}
