import type { EntityManager } from '@mikro-orm/postgresql';
import { executeBound } from '../../../kernel/sql.ts';
import type { Sha256 } from '../../../ports/blobs.ts';
import type { UrlKind } from '../frontier/crawl-url.entity.ts';

/**
 * Rows as JSON that PostgreSQL can store: text of peers may hold NUL or lone surrogates, which go. Hardly any does, and a look at each value
 * takes longer than all the rest, so values are only looked at where the text shows an escape of that kind.
 */
export function storableJson(rows: readonly object[]): string {
  const text = JSON.stringify(rows);
  return text.includes('\\u') ? JSON.stringify(rows, storable) : text;
}

const storable = (_key: string, value: unknown) =>
  typeof value === 'string' ? value.replaceAll('\u0000', '').toWellFormed() : value;

/** What a run needs to know of the entry an earlier snapshot has of a URL: enough to request it only if it has changed. */
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
  /** Young enough for a conditional request. */
  is_young: boolean;
}

const earlierNames: readonly (keyof EarlierEntry)[] = [
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

const earlierAliases = earlierNames.map((name) => [name, `was_${name}`] as const);

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
  earlierAliases.map(([name, column]) => `${query}.${name} as ${column}`).join(', ');

/** Takes an earlier entry out of a row that has `earlierColumns`. @returns null: there was none */
export function takeEarlier(row: Record<string, unknown>): EarlierEntry | null {
  if (row.was_http_status === null) return null;
  const entry: Record<string, unknown> = {};
  for (const [name, column] of earlierAliases) entry[name] = row[column];
  return entry as unknown as EarlierEntry;
}

/** One URL of a snapshot. Contents must be durable in the blob store before its row is written. */
export interface EntryDraft {
  /** Normalised. */
  url: string;
  /** SHA-256 of the URL. */
  url_hash: Uint8Array;
  kind: UrlKind;
  http_status: number;
  /** As it was received, parameters included. */
  content_type: string | null;
  charset: string | null;
  /** Those worth replaying: never Set-Cookie. */
  headers: Record<string, string> | null;
  /** Null for redirects. */
  sha256: Sha256 | null;
  /** Size of the content, decoded. */
  bytes: number;
  /** Absolute and normalised. */
  redirect_to: string | null;
  etag: string | null;
  last_modified: string | null;
  /** The blob that lists what a page links to, so that a 304 needs no body. */
  outlinks_sha256: Sha256 | null;
  /** Of the request headers: validators are only sent with requests of the same hash. */
  request_hash: string | null;
  /** Run that was the first to find this content here. */
  first_seen_run: number;
  fetched_at: Date;
}

const entryNames = `url_hash, url, kind, http_status, content_type, charset, headers, sha256, bytes, redirect_to, etag, last_modified,
    outlinks_sha256, request_hash, first_seen_run, fetched_at`;

const entryColumns = `url text, url_hash text, kind text, http_status integer, content_type text, charset text, headers json, sha256 text,
  bytes bigint, redirect_to text, etag text, last_modified text, outlinks_sha256 text, request_hash text, first_seen_run integer,
  fetched_at timestamptz, from_id bigint`;

/**
 * A statement that writes entries of a snapshot; one that is there already stays as it is.
 * @param snapshot the parameter that names it; `rows` the one that holds `entryRow`s as JSON
 * @param which condition on `from_id`, the URL of the frontier an entry comes from
 */
export const insertEntriesSql = (snapshot: string, rows: string, which = 'true'): string => `
  insert into snapshot_entry (snapshot_id, ${entryNames})
  select ${snapshot}::integer, ${entryNames.replace('url_hash', `decode(url_hash, 'hex')`)}
  from json_to_recordset(${rows}::json) as entry (${entryColumns}) where ${which}
  on conflict (snapshot_id, url_hash) do nothing`;

/** @param from_id URL of the frontier it comes from; null: of none */
export const entryRow = (entry: EntryDraft, from_id: number | null): object => ({
  ...entry,
  url_hash: Buffer.from(entry.url_hash).toString('hex'),
  from_id,
});

const insertSql = insertEntriesSql('$1', '$2');

/** Writes entries of a snapshot that is being built, in one statement. */
export async function insertEntries(
  em: EntityManager,
  snapshot_id: number,
  entries: readonly EntryDraft[],
): Promise<void> {
  if (entries.length === 0) return;
  await executeBound(em, insertSql, [snapshot_id, storableJson(entries.map((entry) => entryRow(entry, null)))]);
}

/**
 * Blobs that entries of snapshots refer to, contents and lists of links alike.
 * @param prefix first two digits of their names; hexadecimal, lower-case
 */
export async function snapshotBlobs(em: EntityManager, prefix: string): Promise<Set<Sha256>> {
  const rows = await em.execute<{ sha256: Sha256 }[]>(
    `select sha256 from snapshot_entry where left(sha256, 2) = ?
     union select outlinks_sha256 from snapshot_entry where left(outlinks_sha256, 2) = ?`,
    [prefix, prefix],
  );
  return new Set(rows.map(({ sha256 }) => sha256));
}
