import type { EntityManager } from '@mikro-orm/postgresql';
import { executeBound } from '../../../bound-query.ts';
import type { Sha256 } from '../../../ports/blobs.ts';
import { storableJson } from '../../storable-json.ts';
import type { EntryKind } from '../snapshot.entity.ts';

/** One URL of a snapshot. Contents must be durable in the blob store before its row is written. */
export interface EntryDraft {
  /** Normalised. */
  url: string;
  /** SHA-256 of the URL. */
  url_hash: Uint8Array;
  kind: EntryKind;
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
  /** Of the request headers: validators are only sent to those that asked alike. */
  request_hash: string | null;
  /** Run that was the first to find this content here. */
  first_seen_run: number;
  fetched_at: Date;
}

const columns = `url text, url_hash text, kind text, http_status integer, content_type text, charset text, headers json, sha256 text,
  bytes bigint, redirect_to text, etag text, last_modified text, outlinks_sha256 text, request_hash text, first_seen_run integer,
  fetched_at timestamptz`;

const insertSql = `
  insert into snapshot_entry (snapshot_id, url_hash, url, kind, http_status, content_type, charset, headers, sha256, bytes, redirect_to,
    etag, last_modified, outlinks_sha256, request_hash, first_seen_run, fetched_at)
  select $1::integer, decode(url_hash, 'hex'), url, kind, http_status, content_type, charset, headers, sha256, bytes, redirect_to,
    etag, last_modified, outlinks_sha256, request_hash, first_seen_run, fetched_at
  from json_to_recordset($2::json) as entry (${columns})
  on conflict (snapshot_id, url_hash) do nothing`;

/**
 * Writes entries of a snapshot that is being built, in one statement: meant for the transaction that completes a batch of a run. A URL that
 * is there already stays as it is.
 */
export async function insertEntries(
  em: EntityManager,
  snapshot_id: number,
  entries: readonly EntryDraft[],
): Promise<void> {
  if (entries.length === 0) return;
  const rows = entries.map((entry) => ({ ...entry, url_hash: Buffer.from(entry.url_hash).toString('hex') }));
  await executeBound(em, insertSql, [snapshot_id, storableJson(rows)]);
}
