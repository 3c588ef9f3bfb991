import type { FetchedAnswer } from '../../../ports/fetcher.ts';
import type { ClaimedUrl } from '../../frontier/claim.ts';
import { urlHash } from '../../frontier/url-draft.ts';
import type { EntryDraft } from '../../snapshots/entries/insert-entries.ts';
import type { FetchContext } from './fetch-context.ts';

/** Headers worth replaying; those of cookies and of the connection are none. */
const replayed = [
  'access-control-allow-origin',
  'cache-control',
  'content-disposition',
  'content-language',
  'content-security-policy',
  'expires',
  'link',
  'x-robots-tag',
];

const textOf = (value: string | string[] | undefined): string | null =>
  value === undefined ? null : Array.isArray(value) ? value.join(', ') : value;

function replayedHeaders({ headers }: FetchedAnswer): Record<string, string> | null {
  const kept = replayed.flatMap((name) => {
    const value = textOf(headers[name]);
    return value === null ? [] : [[name, value] as const];
  });
  return kept.length === 0 ? null : Object.fromEntries(kept);
}

/** What an answer leaves in the snapshot. */
export function entryOf(
  context: FetchContext,
  of: ClaimedUrl,
  answer: FetchedAnswer,
  given: Partial<EntryDraft>,
): EntryDraft {
  return {
    url: of.url,
    url_hash: urlHash(of.url),
    kind: of.kind,
    http_status: answer.status,
    content_type: answer.contentType,
    charset: null,
    headers: replayedHeaders(answer),
    sha256: null,
    bytes: 0,
    redirect_to: null,
    etag: textOf(answer.headers.etag),
    last_modified: textOf(answer.headers['last-modified']),
    outlinks_sha256: null,
    request_hash: context.headersFor(of.host).hash,
    first_seen_run: context.run.id,
    fetched_at: context.services.clock.now(),
    ...given,
  };
}
