import type { EntityManager } from '@mikro-orm/postgresql';

const columns = `url_hash, url, kind, http_status, content_type, charset, headers, sha256, bytes, redirect_to, etag, last_modified,
  outlinks_sha256, request_hash, first_seen_run, fetched_at`;

/**
 * Fills a snapshot of some pages up with all others of the live copy. A page that was asked for again and is gone (404, 410) is left out; one
 * that could not be had just now stays as it was.
 */
export async function mergeLive(
  em: EntityManager,
  run_id: number,
  snapshot_id: number,
  live_id: number,
): Promise<void> {
  await em.execute(
    `insert into snapshot_entry (snapshot_id, ${columns})
     select ?, ${columns} from snapshot_entry as old
     where snapshot_id = ? and url_hash not in (select url_hash from crawl_url where run_id = ? and http_status in (404, 410))
     on conflict (snapshot_id, url_hash) do nothing`,
    [snapshot_id, live_id, run_id],
  );
}
