import type { FetchResult } from '../../../ports/fetcher.ts';
import type { ClaimedUrl } from '../../frontier/claim.ts';
import { breakOff, leaveOut, type Outcome } from '../../frontier/outcome.ts';
import { answered } from './answered.ts';
import { type Asking, ask, type Progress } from './ask.ts';
import type { BaseEntry } from './base-entries.ts';
import type { FetchContext } from './fetch-context.ts';
import { retryAfter } from './retries.ts';
import { BrowserFault } from './shown-page.ts';
import { signalOf } from './signal-of.ts';
import { failed, unshown } from './unusable.ts';

/**
 * Asks for one URL, once, and says what its answer means for the run, beside the answer itself; null when it was not asked for.
 * @param base what the newest sealed snapshot holds of it
 * @param progress its `received` is called when nothing is under way for it any more, perhaps twice
 * @throws DomainError `unavailable` when its content cannot be stored; `NotSent`
 */
export async function fetchAnswer(
  context: FetchContext,
  of: ClaimedUrl,
  base: BaseEntry | undefined,
  progress: Progress,
  asking?: Asking,
): Promise<{ outcome: Outcome; result: FetchResult | null }> {
  const { site, traps } = context.discovery;
  if (!of.is_entry && !traps.admits(of.url)) return { outcome: leaveOut(of, 'same_content'), result: null };
  const rules = await site.robots(of.host);
  if (rules && !rules.isAllowed(of.url)) return { outcome: leaveOut(of, 'robots'), result: null };
  const began = performance.now();
  // What a browser is to show is still asked for when its document is there.
  const isShown = context.browser !== null && of.kind === 'page';
  const result = await ask(context, of, base, isShown ? { mayStart: progress.mayStart } : progress, asking);
  if (!isShown) progress.received();
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
  outcome.signal = signalOf(context, of, result.status, began, wait);
  return { outcome, result };
}

/**
 * Asks for one URL, once, and says what its answer means for the run; a request that is broken off is put back.
 * @throws DomainError `unavailable` when its content cannot be stored; `NotSent`
 */
export async function fetchUrl(
  context: FetchContext,
  of: ClaimedUrl,
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
