import type { FetchedAnswer, FetchedHeaders, FetchFault, FetchResult } from '../../../ports/fetcher.ts';
import type { ClaimedUrl } from '../../frontier/claim.ts';
import type { UrlError } from '../../frontier/crawl-url.entity.ts';
import { breakOff, leaveOut, type Outcome, outcomeOf } from '../../frontier/outcome.ts';
import type { HostSignal } from '../../hosts/host-pace.ts';
import { BrowserFault } from '../browser/browser-fault.ts';
import { mergedCookies } from '../browser/page-headers.ts';
import type { BaseEntry } from './base-entries.ts';
import { captured, unchanged } from './captured.ts';
import type { FetchContext } from './fetch-context.ts';
import { redirected } from './redirected.ts';
import { backOff, isRetried, longestRetryAfter, mostAttempts, retryAfter } from './retries.ts';

const redirects = new Set([301, 302, 303, 307, 308]);
/** Faults in which the host has not answered at all. */
const silent = new Set(['dns', 'connect', 'tls', 'timeout', 'reset']);

const seconds = (milliseconds: number) => Math.round(milliseconds);

/** A request that gave no usable answer: tried again, or at its end. */
function failed(
  { firstRetry }: FetchContext,
  of: ClaimedUrl,
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
    duration_ms: seconds(fault.durationMs),
    signal: silent.has(fault.error) ? { kind: 'failed' } : null,
  });
}

const isGone = (status: number) => status === 404 || status === 410;

/** A final answer whose status is not wanted: recorded without its body, and tried again when that may help. */
function refused(context: FetchContext, of: ClaimedUrl, answer: FetchedAnswer, wait: number | null): Outcome {
  const { status, bytesWire, durationMs, contentType } = answer;
  const attempts = of.attempts + 1;
  const facts = {
    http_status: status,
    content_type: contentType,
    bytes_wire: bytesWire,
    duration_ms: seconds(durationMs),
  };
  if (status < 400 || isGone(status)) return outcomeOf(of, { state: 'done', ...facts });
  const error: UrlError = status < 500 ? 'http_4xx' : 'http_5xx';
  const said = { error, error_message: `The answer was ${status}` };
  if (wait !== null && wait > longestRetryAfter)
    return outcomeOf(of, {
      state: 'error',
      ...facts,
      error: 'retry_after_too_long',
      error_message: `The host asked to wait ${Math.round(wait)} s, more than ${longestRetryAfter} s`,
    });
  if (!isRetried(status) || attempts >= mostAttempts) return outcomeOf(of, { state: 'error', ...facts, ...said });
  const delay = Math.max(backOff(attempts, context.firstRetry), (wait ?? 0) * 1_000);
  return outcomeOf(of, { state: 'pending', delay, ...facts, ...said });
}

function signalOf(
  context: FetchContext,
  of: ClaimedUrl,
  status: number,
  began: number,
  wait: number | null,
): HostSignal {
  if (status !== 429 && status !== 503) return { kind: 'good' };
  const isFirst = began >= (context.throttled.get(of.host) ?? 0);
  if (isFirst) context.throttled.set(of.host, performance.now());
  return { kind: 'throttled', isFirst, retryAfter: wait !== null && wait <= longestRetryAfter ? wait : null };
}

async function answered(
  context: FetchContext,
  of: ClaimedUrl,
  base: BaseEntry | undefined,
  answer: FetchedAnswer,
  wait: number | null,
): Promise<Outcome> {
  const { status } = answer;
  if (redirects.has(status)) return redirected(context, of, answer);
  if (status === 304) {
    if (base?.sha256) return unchanged(context, of, base, answer);
    return failed(context, of, {
      ...answer,
      ok: false,
      error: 'decode',
      message: 'An answer of 304 nobody asked for',
      isRetryable: false,
      retries: 0,
    });
  }
  if (answer.body !== null && context.settings.status_ok.includes(status))
    return captured(context, of, base, { ...answer, body: answer.body });
  return refused(context, of, answer, wait);
}

const joined = (own: string | undefined, stored: string) => (own ? `${own}; ${stored}` : stored);

/** How a browser's request differs from one of the run's own. */
export interface Asking {
  headers: Record<string, string>;
  /** Of the page; it wins over what the run has kept. */
  cookie?: string;
  read: 'all';
  /** Bytes of body that come back. */
  most: number;
  /** Whether its answer is to be stored. */
  keeps(headers: FetchedHeaders): boolean;
}

async function ask(
  context: FetchContext,
  of: ClaimedUrl,
  base: BaseEntry | undefined,
  asking?: Asking,
): Promise<FetchResult> {
  const { headers, hash } = context.headersFor(of.host);
  const isStored = !(context.browser?.storesDom && of.kind === 'page');
  const asksAgain =
    isStored && base?.isFresh && base.request_hash === hash && (base.etag !== null || base.last_modified !== null);
  const sent = asking?.headers ?? headers;
  const kept = context.cookies.header(new URL(of.url), context.services.clock.now());
  const cookie = asking ? mergedCookies(kept, asking.cookie) : kept;
  return context.fetcher.fetch({
    url: of.url,
    headers: cookie === null ? sent : { ...sent, cookie: joined(sent.cookie, cookie) },
    policy: context.policy,
    signal: context.signal,
    limits: { body: context.maxBody, ...(asking && { read: asking.most }) },
    keep: (status, got) =>
      !redirects.has(status) && context.settings.status_ok.includes(status) && asking?.keeps(got) !== false,
    read: asking?.read ?? (of.kind === 'sitemap' ? 'none' : of.kind),
    ...(asksAgain && {
      validators: { etag: base.etag ?? undefined, last_modified: base.last_modified ?? undefined },
    }),
  });
}

/** A page that could not be shown: its browser crashed, which may go well the next time, or it never came to rest. */
function unshown(context: FetchContext, of: ClaimedUrl, fault: BrowserFault): Outcome {
  const retries = fault.isRetryable ? mostAttempts - 1 : 0;
  const { message, isRetryable, beside } = fault;
  const spent = { bytesWire: 0, durationMs: 0 };
  return { ...failed(context, of, { ok: false, error: 'browser', message, isRetryable, retries, ...spent }), beside };
}

/**
 * Asks for one URL, once, and says what its answer means for the run, beside the answer itself; null when it was not asked for.
 * @param base what the newest sealed snapshot holds of it
 * @param onAnswer is called once nothing is under way for it any more
 * @throws DomainError `unavailable` when its content cannot be stored
 */
export async function fetchAnswer(
  context: FetchContext,
  of: ClaimedUrl,
  base: BaseEntry | undefined,
  onAnswer: () => void,
  asking?: Asking,
): Promise<{ outcome: Outcome; result: FetchResult | null }> {
  const { site, traps } = context.discovery;
  if (!of.is_entry && !traps.admits(of.url)) return { outcome: leaveOut(of, 'same_content'), result: null };
  const rules = await site.robots(of.host);
  if (rules && !rules.isAllowed(of.url)) return { outcome: leaveOut(of, 'robots'), result: null };
  const began = performance.now();
  const result = await ask(context, of, base, asking);
  if (!(context.browser && of.kind === 'page')) onAnswer();
  if (!result.ok) return { outcome: failed(context, of, result), result };
  const set = result.headers['set-cookie'];
  if (set !== undefined) context.cookies.store(new URL(of.url), [set].flat(), context.services.clock.now());
  const wait = [429, 503].includes(result.status)
    ? retryAfter(result.headers['retry-after'], context.services.clock.now())
    : null;
  // Whoever reads a document keeps its bytes.
  const answer = asking && result.bytes ? { ...result, bytes: Uint8Array.from(result.bytes) } : result;
  const outcome = await answered(context, of, base, answer, wait).catch((error: unknown) => {
    if (error instanceof BrowserFault) return unshown(context, of, error);
    throw error;
  });
  return { outcome: { ...outcome, signal: signalOf(context, of, result.status, began, wait) }, result };
}

/**
 * Asks for one URL, once, and says what its answer means for the run; a request that is broken off is put back.
 * @throws DomainError `unavailable` when its content cannot be stored
 */
export async function fetchUrl(
  context: FetchContext,
  of: ClaimedUrl,
  base: BaseEntry | undefined,
  onAnswer: () => void,
): Promise<Outcome> {
  try {
    return (await fetchAnswer(context, of, base, onAnswer)).outcome;
  } catch (error) {
    if (context.signal.aborted) return breakOff(of);
    throw error;
  }
}
