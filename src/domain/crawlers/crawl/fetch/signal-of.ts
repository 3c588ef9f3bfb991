import type { ClaimedUrl } from '../../frontier/claim.ts';
import type { HostSignal } from '../../hosts/host-pace.ts';
import type { FetchContext } from './fetch-context.ts';
import { longestRetryAfter } from './retries.ts';

/**
 * What an answer tells of its host. One that throttles several requests of the same moment is slowed down once.
 * @param began when the request began; milliseconds on this process's clock
 * @param wait seconds the host asked to wait
 */
export function signalOf(
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
