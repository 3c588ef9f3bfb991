import { retryAfter } from '../../../../lib/http-client.ts';
import type { FetchedAnswer, FetchedHeaders, FetchFault, FetchResult } from '../../../../ports/fetcher.ts';
import type { UrlError } from '../../frontier/crawl-url.entity.ts';
import type { LeasedUrl } from '../../frontier/lease.ts';
import { breakOff, leaveOut, type Outcome, outcomeOf } from '../../frontier/outcome.ts';
import { hostOfUrl, keyBytes, urlHash } from '../../frontier/url-draft.ts';
import type { HostSignal } from '../../hosts/host-pace.ts';
import { normalise } from '../../urls/normalise.ts';
import { draftOf } from '../discover.ts';
import type { BaseEntry } from './base-entries.ts';
import { BrowserFault, captured, entryOf, unchanged } from './captured.ts';
import type { FetchContext } from './fetch-context.ts';

const pairsOf = (cookies: string | null | undefined) =>
  (cookies ?? '').split('; ').flatMap((pair) => (pair === '' ? [] : [[pair.split('=', 1)[0] ?? '', pair] as const]));

/** Cookies of a request: those the run has kept, and those of the page, which its scripts may have changed; null when there are none. */
export function mergedCookies(kept: string | null, shown: string | undefined): string | null {
  const all = new Map([...pairsOf(kept), ...pairsOf(shown)]);
  return all.size === 0 ? null : [...all.values()].join('; ');
}

/** Requests for one URL in all. */
const mostAttempts = 4;

/** Statuses worth another try (408 timeout, 425 too early, 429 too many requests, and what servers pass through). */
const retried = new Set([408, 425, 429, 500, 502, 503, 504]);

const isRetried = (status: number): boolean => retried.has(status);

const longest = 300_000;

/**
 * Milliseconds before the next try: 2 s × 2ⁿ ± 20 %, at most 5 minutes.
 * @param attempts requests so far
 * @param first milliseconds before the second try
 */
export function backOff(attempts: number, first: number, random: () => number = Math.random): number {
  const wait = first * 2 ** (attempts - 1) * (0.8 + 0.4 * random());
  return Math.min(longest, Math.round(wait));
}

/** Longest wait a server may ask for, seconds. */
const longestRetryAfter = 600;

/**
 * What an answer tells of its host. One that throttles several requests of the same moment is slowed down once.
 * @param began when the request began; milliseconds on this process's clock
 * @param wait seconds of the host's Retry-After
 */
function signalOf(
  context: FetchContext,
  of: LeasedUrl,
  status: number,
  began: number,
  wait: number | null,
): HostSignal {
  if (status !== 429 && status !== 503) return { kind: 'good' };
  const isFirst = began >= (context.throttled.get(of.host) ?? 0);
  if (isFirst) context.throttled.set(of.host, performance.now());
  return { kind: 'throttled', isFirst, retryAfter: wait !== null && wait <= longestRetryAfter ? wait : null };
}

/** Faults in which the host has not answered at all. */
const silent = new Set(['dns', 'connect', 'tls', 'timeout', 'reset']);

/** A request that gave no usable answer: tried again, or at its end. */
function failed(
  { firstRetry }: FetchContext,
  of: LeasedUrl,
  fault: Omit<FetchFault, 'error'> & { error: UrlError },
): Outcome {
  const attempts = of.attempts + 1;
  const again = attempts <= fault.retries && attempts < mostAttempts;
  return outcomeOf(of, {
    state: again ? 'pending' : 'error',
    delay: again ? backOff(attempts, firstRetry) : null,
    error: fault.error,
    error_message: fault.message,
    bytes_wire: fault.bytesWire,
    duration_ms: Math.round(fault.durationMs),
    signal: silent.has(fault.error) ? { kind: 'failed' } : null,
  });
}

const isGone = (status: number) => status === 404 || status === 410;

/** A final answer whose status is not wanted: recorded without its body, and tried again when that may help. */
function refused(context: FetchContext, of: LeasedUrl, answer: FetchedAnswer, wait: number | null): Outcome {
  const { status, bytesWire, durationMs, contentType } = answer;
  const attempts = of.attempts + 1;
  const facts = {
    http_status: status,
    content_type: contentType,
    bytes_wire: bytesWire,
    duration_ms: Math.round(durationMs),
  };
  if (status < 400 || isGone(status)) return outcomeOf(of, { state: 'done', ...facts });
  const error: UrlError = status < 500 ? 'http_4xx' : 'http_5xx';
  const said = { error, error_message: `The answer was ${status}` };
  if (wait !== null && wait > longestRetryAfter)
    return outcomeOf(of, {
      state: 'error',
      ...facts,
      error: 'retry_after_too_long',
      error_message: `Retry-After of the host is ${Math.round(wait)} s, more than ${longestRetryAfter} s`,
    });
  if (!isRetried(status) || attempts >= mostAttempts) return outcomeOf(of, { state: 'error', ...facts, ...said });
  const delay = Math.max(backOff(attempts, context.firstRetry), (wait ?? 0) * 1_000);
  return outcomeOf(of, { state: 'pending', delay, ...facts, ...said });
}

/** A page that could not be shown: its browser crashed, which may go well the next time, or it never came to rest. */
function unshown(context: FetchContext, of: LeasedUrl, fault: BrowserFault): Outcome {
  const retries = fault.isRetryable ? mostAttempts - 1 : 0;
  const { message, isRetryable, beside } = fault;
  const spent = { bytesWire: 0, durationMs: 0 };
  return { ...failed(context, of, { ok: false, error: 'browser', message, isRetryable, retries, ...spent }), beside };
}

const statuses = new Set([301, 302, 303, 307, 308]);

const isRedirect = (status: number): boolean => statuses.has(status);

/** Redirects in a row that are followed. */
export const mostHops = 20;

/** A redirect: an entry of its own, and its target a URL of the run at the same depth when it is in scope. */
async function redirected(context: FetchContext, of: LeasedUrl, answer: FetchedAnswer): Promise<Outcome> {
  const { site } = context.discovery;
  const { status, location, bytesWire, durationMs } = answer;
  const facts = { http_status: status, bytes_wire: bytesWire, duration_ms: Math.round(durationMs) };
  const target =
    location === null ? null : normalise(location, of.url, { origin: site.origin, stripParams: site.stripParams });
  if (target === null) {
    const error_message = location === null ? 'A redirect without a target' : `A redirect to ${location.slice(0, 200)}`;
    return outcomeOf(of, { state: 'error', ...facts, error: 'redirect_invalid', error_message });
  }
  if (of.hop >= mostHops) {
    const error_message = `More than ${mostHops} redirects in a row`;
    return outcomeOf(of, { state: 'error', ...facts, error: 'redirect_too_many', error_message });
  }
  if (target === of.url && answer.headers['set-cookie'] !== undefined && of.attempts === 0)
    return outcomeOf(of, { state: 'pending', ...facts, delay: 0 });
  if (of.is_entry) await context.adopt(hostOfUrl(target));
  const { kind, is_entry, follows, depth, hop, level, id } = of;
  const draft = await draftOf(context.discovery, target, {
    kind,
    is_entry,
    follows,
    depth,
    hop: hop + 1,
    level,
    parent_id: id,
  });
  return outcomeOf(of, {
    state: 'done',
    ...facts,
    redirect_to: target,
    entry: entryOf(context, of, answer, { redirect_to: target }),
    drafts: target === of.url ? [] : [draft],
    link_keys: urlHash(target).subarray(0, keyBytes),
  });
}

const joined = (own: string | undefined, stored: string) => (own ? `${own}; ${stored}` : stored);

/** How a browser's request differs from one of the run's own. */
interface Asking {
  headers: Record<string, string>;
  /** Of the page; it wins over what the run has kept. */
  cookie?: string;
  /** Whether it has the run's cookies, and its answer may set some. */
  takesCookies: boolean;
  read: 'all';
  /** Bytes of body that come back. */
  most: number;
  /** Whether its answer is to be stored. */
  keeps(headers: FetchedHeaders): boolean;
}

/** Callbacks while a request is in flight, as in `FetchRequest`. */
interface Progress {
  received(): Promise<void>;
  mayStart?: (() => boolean) | undefined;
}

/**
 * Sends the request for a URL.
 * @param base what the newest sealed snapshot holds of it: makes the request conditional
 */
async function ask(
  context: FetchContext,
  of: LeasedUrl,
  base: BaseEntry | undefined,
  { received, mayStart }: Partial<Progress>,
  asking?: Asking,
): Promise<FetchResult> {
  const { headers, hash } = context.headersFor(of.url);
  const isStored = !(context.browser?.storesDom && of.kind === 'page');
  const asksAgain =
    isStored && base?.isFresh && base.request_hash === hash && (base.etag !== null || base.last_modified !== null);
  const sent = asking?.headers ?? headers;
  const { cookies, services } = context;
  const kept =
    cookies.isEmpty || asking?.takesCookies === false ? null : cookies.header(new URL(of.url), services.clock.now());
  const cookie = asking ? mergedCookies(kept, asking.cookie) : kept;
  return context.fetcher.fetch({
    url: of.url,
    headers: cookie === null ? sent : { ...sent, cookie: joined(sent.cookie, cookie) },
    policy: context.policy,
    signal: context.signal,
    limits: { body: context.maxBody, ...(asking && { read: asking.most }) },
    keep: (status, got) =>
      !isRedirect(status) && context.settings.status_ok.includes(status) && asking?.keeps(got) !== false,
    ...(received && { received }),
    ...(mayStart && { mayStart }),
    read: asking?.read ?? (of.kind === 'sitemap' ? 'none' : of.kind),
    ...(asksAgain && {
      validators: { etag: base.etag ?? undefined, last_modified: base.last_modified ?? undefined },
    }),
  });
}

/**
 * What an answer means for the run, by its status.
 * @param wait seconds of the host's Retry-After
 * @throws BrowserFault; DomainError `unavailable` when something cannot be stored
 */
async function answered(
  context: FetchContext,
  of: LeasedUrl,
  base: BaseEntry | undefined,
  answer: FetchedAnswer,
  wait: number | null,
): Promise<Outcome> {
  const { status } = answer;
  if (isRedirect(status)) return redirected(context, of, answer);
  if (status === 304) {
    if (base?.sha256) return unchanged(context, of, base, answer);
    return failed(context, of, {
      ...answer,
      ok: false,
      error: 'decode',
      message: 'Status 304 in answer to an unconditional request',
      isRetryable: false,
      retries: 0,
    });
  }
  if (answer.body !== null && context.settings.status_ok.includes(status))
    return captured(context, of, base, { ...answer, body: answer.body });
  return refused(context, of, answer, wait);
}

/**
 * Fetches one URL, once. @returns its outcome for the run, and the response; null when no request was sent
 * @param base what the newest sealed snapshot holds of it
 * @param progress its `received` is called when nothing is under way for it any more, perhaps twice, and waited for while its document is only in memory
 * @throws DomainError `unavailable` when its content cannot be stored; `NotSent`
 */
export async function fetchAnswer(
  context: FetchContext,
  of: LeasedUrl,
  base: BaseEntry | undefined,
  progress: Progress,
  asking?: Asking,
): Promise<{ outcome: Outcome; result: FetchResult | null }> {
  const { site, traps } = context.discovery;
  if (!of.is_entry && !traps.admits(of.url)) return { outcome: leaveOut(of, 'same_content'), result: null };
  const rules = await site.robots(of.host);
  if (rules && !rules.isAllowed(of.url)) return { outcome: leaveOut(of, 'robots'), result: null };
  const began = performance.now();
  // A page shown in a browser stays in flight after its document has arrived.
  const isShown = context.browser !== null && of.kind === 'page';
  const result = await ask(context, of, base, isShown ? { mayStart: progress.mayStart } : progress, asking);
  if (!isShown && result.ok && result.bytes !== null) await progress.received();
  if (!result.ok) return { outcome: failed(context, of, result), result };
  const set = result.headers['set-cookie'];
  if (set !== undefined && asking?.takesCookies !== false)
    context.cookies.store(new URL(of.url), [set].flat(), context.services.clock.now());
  const pause = retryAfter(result.headers['retry-after'], context.services.clock.now());
  const wait = [429, 503].includes(result.status) && pause !== null ? pause / 1_000 : null;
  const outcome = await answered(context, of, base, result, wait).catch((error: unknown) => {
    if (error instanceof BrowserFault) return unshown(context, of, error);
    throw error;
  });
  outcome.signal = signalOf(context, of, result.status, began, wait);
  return { outcome, result };
}

/**
 * Asks for one URL, once, and says what its answer means for the run; a request that is broken off is put back.
 * @throws DomainError `unavailable` when its content cannot be stored; `NotSent`
 */
export async function fetchUrl(
  context: FetchContext,
  of: LeasedUrl,
  base: BaseEntry | undefined,
  progress: Progress,
): Promise<Outcome> {
  try {
    return (await fetchAnswer(context, of, base, progress)).outcome;
  } catch (error) {
    if (context.signal.aborted) return breakOff(of);
    throw error;
  }
}
