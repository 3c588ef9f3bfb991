import type { EntryDraft } from './insert-entries.ts';

/** What a run needs to know of the entry an earlier snapshot has of a URL: enough to ask whether it has changed. */
export interface EarlierEntry
  extends Pick<
    EntryDraft,
    | 'http_status'
    | 'content_type'
    | 'sha256'
    | 'bytes'
    | 'etag'
    | 'last_modified'
    | 'outlinks_sha256'
    | 'request_hash'
    | 'first_seen_run'
  > {
  /** Not so old that the whole content is asked for again. */
  is_young: boolean;
}

const names: readonly (keyof EarlierEntry)[] = [
  'http_status',
  'content_type',
  'sha256',
  'bytes',
  'etag',
  'last_modified',
  'outlinks_sha256',
  'request_hash',
  'first_seen_run',
  'is_young',
];

const columns = names.map((name) => [name, `was_${name}`] as const);

/**
 * A query for one such entry.
 * @param snapshot parameter or expression that names it; `hash` that of the URL
 */
export const earlierEntrySql = (snapshot: string, hash: string): string => `
  select http_status, content_type, sha256, bytes::double precision as bytes, etag, last_modified, outlinks_sha256, request_hash,
    first_seen_run, fetched_at > now() - interval '30 days' as is_young
  from snapshot_entry where snapshot_id = ${snapshot} and url_hash = ${hash} limit 1`;

/** The columns of such a query under names of their own: a statement that joins it may have some of these names already. */
export const earlierColumns = (query: string): string =>
  columns.map(([name, column]) => `${query}.${name} as ${column}`).join(', ');

/** Takes an earlier entry out of a row that has `earlierColumns`. @returns null: there was none */
export function takeEarlier(row: Record<string, unknown>): EarlierEntry | null {
  if (row.was_http_status === null) return null;
  const entry: Record<string, unknown> = {};
  for (const [name, column] of columns) entry[name] = row[column];
  return entry as unknown as EarlierEntry;
}
