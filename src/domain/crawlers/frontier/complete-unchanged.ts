import type { EntityManager } from '@mikro-orm/postgresql';
import { executeBound } from '../../bound-query.ts';
import { storableJson } from '../storable-json.ts';
import { isLeased, leasedRows } from './leased-rows.ts';
import { insertLinksSql, linkRows } from './link-rows.ts';
import type { Outcome } from './outcome.ts';

/** Of an entry that is written again: everything but what the answer may have said anew. */
const same = `http_status, content_type, charset, headers, sha256, bytes, request_hash, first_seen_run, fetched_at`;

/**
 * The rows an unchanged URL leaves are those of the earlier snapshot: they are copied where they are, which costs both sides a fraction of
 * reading and sending them. Without the earlier entry the URL stays leased.
 */
const completeSql = `
  with found as materialized (
    select leased.place, leased.id, leased.url_hash, leased.url, leased.kind, given.duration_ms, given.canonical,
      coalesce(given.etag, entry.etag) as etag, coalesce(given.last_modified, entry.last_modified) as last_modified,
      coalesce(given.outlinks_sha256, entry.outlinks_sha256) as outlinks_sha256, ${same.replaceAll(/\w+/g, 'entry.$&')}
    from json_to_recordset($5::json) as given
        (id bigint, place tid, duration_ms integer, canonical text, etag text, last_modified text, outlinks_sha256 text)
      ${leasedRows}
      cross join lateral (
        select * from snapshot_entry where snapshot_id = $2 and url_hash = leased.url_hash and sha256 is not null limit 1) as entry
    where ${isLeased('$1', '$4')}
  ), done as (
    update crawl_url set state = 'done', attempts = attempts + 1, not_before = null, rule = null, http_status = found.http_status,
      content_type = found.content_type, bytes = found.bytes, sha256 = found.sha256, redirect_to = null, canonical = found.canonical,
      error = null, error_message = null, change = 'unchanged_304', from_cache = true, duration_ms = found.duration_ms, fetched_at = now()
    from found where crawl_url.ctid = found.place
    returning crawl_url.id
  ), kept as (
    insert into snapshot_entry (snapshot_id, url_hash, url, kind, etag, last_modified, outlinks_sha256, ${same})
    select $3::integer, url_hash, url, kind, etag, last_modified, outlinks_sha256, ${same} from found
    on conflict (snapshot_id, url_hash) do nothing
  ), linked as (${insertLinksSql('$1', '$6', '$7', '$8', 'from_id in (select id from found)')}
  )
  select id from done`;

/** What has come of an unchanged URL beside what its earlier entry says. */
const rowOf = ({ of, duration_ms, canonical, again }: Outcome) => ({
  id: of.id,
  place: of.place,
  ...(duration_ms !== null && { duration_ms }),
  ...(canonical !== null && { canonical }),
  ...again,
});

/**
 * Writes outcomes that leave an earlier snapshot's entry as it was (`again`).
 * @returns ids of those that were still leased, and whose earlier entry is still there
 */
export async function completeUnchanged(
  em: EntityManager,
  {
    run_id,
    snapshot_id,
    base_id,
    epoch,
  }: { run_id: number; snapshot_id: number; base_id: number | null; epoch: number },
  outcomes: readonly Outcome[],
): Promise<Set<number>> {
  if (outcomes.length === 0) return new Set();
  const rows = storableJson(outcomes.map(rowOf));
  const given = [run_id, base_id, snapshot_id, epoch, rows, ...linkRows(outcomes)];
  const done = await executeBound<{ id: string }>(em, completeSql, given);
  return new Set(done.map(({ id }) => Number(id)));
}
