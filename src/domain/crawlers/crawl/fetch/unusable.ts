import type { FetchedAnswer, FetchFault } from '../../../ports/fetcher.ts';
import type { ClaimedUrl } from '../../frontier/claim.ts';
import type { UrlError } from '../../frontier/crawl-url.entity.ts';
import { type Outcome, outcomeOf } from '../../frontier/outcome.ts';
import type { FetchContext } from './fetch-context.ts';
import { backOff, isRetried, longestRetryAfter, mostAttempts } from './retries.ts';
import type { BrowserFault } from './shown-page.ts';

/** Faults in which the host has not answered at all. */
const silent = new Set(['dns', 'connect', 'tls', 'timeout', 'reset']);

/** A request that gave no usable answer: tried again, or at its end. */
export function failed(
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
    duration_ms: Math.round(fault.durationMs),
    signal: silent.has(fault.error) ? { kind: 'failed' } : null,
  });
}

const isGone = (status: number) => status === 404 || status === 410;

/** A final answer whose status is not wanted: recorded without its body, and tried again when that may help. */
export function refused(context: FetchContext, of: ClaimedUrl, answer: FetchedAnswer, wait: number | null): Outcome {
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
      error_message: `The host asked to wait ${Math.round(wait)} s, more than ${longestRetryAfter} s`,
    });
  if (!isRetried(status) || attempts >= mostAttempts) return outcomeOf(of, { state: 'error', ...facts, ...said });
  const delay = Math.max(backOff(attempts, context.firstRetry), (wait ?? 0) * 1_000);
  return outcomeOf(of, { state: 'pending', delay, ...facts, ...said });
}

/** A page that could not be shown: its browser crashed, which may go well the next time, or it never came to rest. */
export function unshown(context: FetchContext, of: ClaimedUrl, fault: BrowserFault): Outcome {
  const retries = fault.isRetryable ? mostAttempts - 1 : 0;
  const { message, isRetryable, beside } = fault;
  const spent = { bytesWire: 0, durationMs: 0 };
  return { ...failed(context, of, { ok: false, error: 'browser', message, isRetryable, retries, ...spent }), beside };
}
