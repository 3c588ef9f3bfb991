import type { FetchedAnswer } from '../../../ports/fetcher.ts';
import type { ClaimedUrl } from '../../frontier/claim.ts';
import type { Outcome } from '../../frontier/outcome.ts';
import type { BaseEntry } from './base-entries.ts';
import { captured } from './captured.ts';
import type { FetchContext } from './fetch-context.ts';
import { isRedirect, redirected } from './redirected.ts';
import { unchanged } from './unchanged.ts';
import { failed, refused } from './unusable.ts';

/**
 * What an answer means for the run, by its status.
 * @param wait seconds the host asked to wait
 * @throws BrowserFault; DomainError `unavailable` when something cannot be stored
 */
export async function answered(
  context: FetchContext,
  of: ClaimedUrl,
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
      message: 'An answer of 304 nobody asked for',
      isRetryable: false,
      retries: 0,
    });
  }
  if (answer.body !== null && context.settings.status_ok.includes(status))
    return captured(context, of, base, { ...answer, body: answer.body });
  return refused(context, of, answer, wait);
}
