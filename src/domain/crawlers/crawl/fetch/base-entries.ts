import type { EntityManager } from '@mikro-orm/postgresql';
import { executeBound } from '../../../bound-query.ts';
import type { BlobStore } from '../../../ports/blobs.ts';
import type { Services } from '../../../services.ts';
import type { ClaimedUrl } from '../../frontier/claim.ts';
import { urlHash } from '../../frontier/url-draft.ts';
import type { EntryDraft } from '../../snapshots/entries/insert-entries.ts';

/** What the newest sealed snapshot holds of a URL. */
export interface BaseEntry extends Omit<EntryDraft, 'url' | 'url_hash' | 'kind' | 'redirect_to'> {
  /** Young enough to be asked after, and its content is still there. */
  isFresh: boolean;
}

/** One look-up for each URL: the statistics may not know yet how many entries the snapshot has. */
const entriesSql = `
  select entry.* from unnest(string_to_array($2, ' ')) as asked (hash) cross join lateral (
    select url, http_status, content_type, charset, headers, sha256, bytes::double precision as bytes, etag, last_modified, outlinks_sha256,
      request_hash, first_seen_run, fetched_at, fetched_at > now() - interval '30 days' as is_young
    from snapshot_entry where snapshot_id = $1 and url_hash = decode(asked.hash, 'hex') limit 1) as entry`;

interface Row extends Omit<BaseEntry, 'isFresh' | 'fetched_at'> {
  url: string;
  is_young: boolean;
  fetched_at: string | Date;
}

/** What an earlier snapshot holds of claimed URLs, by URL. */
export async function baseEntries(
  em: EntityManager,
  blobs: BlobStore,
  snapshot_id: number,
  claimed: readonly Pick<ClaimedUrl, 'url'>[],
): Promise<Map<string, BaseEntry>> {
  if (claimed.length === 0) return new Map();
  const hashes = claimed.map(({ url }) => urlHash(url).toString('hex')).join(' ');
  const rows = await executeBound<Row>(em, entriesSql, [snapshot_id, hashes]);
  const wanted = rows.filter(({ is_young }) => is_young).flatMap(({ sha256 }) => sha256 ?? []);
  const missing = await blobs.missing(wanted);
  return new Map(
    rows.map(({ url, is_young, fetched_at, ...row }) => {
      const isFresh = is_young && row.sha256 !== null && !missing.has(row.sha256);
      return [url, { ...row, fetched_at: new Date(fetched_at), isFresh }];
    }),
  );
}

/** Leased URLs with what the newest sealed snapshot holds of them, if there is one; without it they are asked for whole. */
export async function withBase<T extends { of: Pick<ClaimedUrl, 'url'> }>(
  { orm, blobs }: Pick<Services, 'orm' | 'blobs'>,
  { base_id }: { base_id: number | null },
  slots: readonly T[],
): Promise<(T & { base: BaseEntry | undefined })[]> {
  const claimed = slots.map(({ of }) => of);
  const none = new Map<string, BaseEntry>();
  const base = base_id === null ? none : await baseEntries(orm.em.fork(), blobs, base_id, claimed).catch(() => none);
  return slots.map((slot) => ({ ...slot, base: base.get(slot.of.url) }));
}
