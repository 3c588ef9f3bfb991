import type { FetchedAnswer } from '../../../ports/fetcher.ts';
import type { ClaimedUrl } from '../../frontier/claim.ts';
import { keyBytes } from '../../frontier/link-keys.ts';
import { type Outcome, outcomeOf } from '../../frontier/outcome.ts';
import { hostOfUrl, urlHash } from '../../frontier/url-draft.ts';
import { normalise } from '../../urls/normalise.ts';
import { draftOf } from '../discover/discover.ts';
import { entryOf } from './entry-of.ts';
import type { FetchContext } from './fetch-context.ts';

const statuses = new Set([301, 302, 303, 307, 308]);

export const isRedirect = (status: number): boolean => statuses.has(status);

/** Redirects in a row that are followed. */
export const mostHops = 20;

/** A redirect: an entry of its own, and its target a URL of the run at the same depth when it is in scope. */
export async function redirected(context: FetchContext, of: ClaimedUrl, answer: FetchedAnswer): Promise<Outcome> {
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
  const draft = draftOf(context.discovery, target, {
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
