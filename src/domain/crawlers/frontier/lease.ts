import type { EntityManager } from '@mikro-orm/postgresql';
import { executeBound } from '../../../kernel/sql.ts';
import { type EarlierEntry, earlierColumns, earlierEntrySql, takeEarlier } from '../snapshots/snapshot-entries.ts';
import type { UrlKind } from './crawl-url.entity.ts';
import type { Ledger } from './ledger.ts';
import type { UrlDraft } from './url-draft.ts';

/** A URL that a worker is about to fetch. */
export interface LeasedUrl extends Omit<UrlDraft, 'parent_id' | 'rule'> {
  id: number;
  /** Where its row is (`ctid`) until it is updated: PostgreSQL finds it there without an index. */
  place: string;
  host: string;
  /** Requests before. */
  attempts: number;
  /** What the newest sealed snapshot holds of it; absent: nothing, or not read. */
  earlier?: EarlierEntry;
}

// Rows are found again by their place: a join would be planned by statistics, which know nothing of a run that has just begun, and read all
// of its rows for each claim.
const leaseSql = `
  with claimed as (
  update crawl_url set state = 'leased' where ctid = any (array(
    select waiting.place from json_to_recordset($1::json) as wanted (host text, most integer)
    cross join lateral (
      select ctid as place, id, depth, priority from crawl_url
      where run_id = $2 and host = wanted.host and state = 'pending' and depth <= $3
        and (not_before is null or not_before <= now())
      order by depth, priority, id limit wanted.most) as waiting
    order by waiting.depth, waiting.priority, waiting.id limit $4))
  returning ctid as place, id, url, url_hash, host, kind, is_entry, follows, depth, priority, hop, level, attempts
  )
  select place, id, url, host, kind, is_entry, follows, depth, priority, hop, level, attempts, ${earlierColumns('entry')}
  from claimed left join lateral (${earlierEntrySql('$5::integer', 'claimed.url_hash')}) as entry on true`;

function leasedUrlOf(row: Record<string, unknown>): LeasedUrl {
  const { place, url, host, kind, is_entry, follows, depth, priority, hop, level, attempts } =
    row as unknown as LeasedUrl;
  const of = { id: Number(row.id), place, url, host, kind, is_entry, follows, depth, priority, hop, level, attempts };
  const earlier = takeEarlier(row);
  return earlier ? { ...of, earlier } : of;
}

/** What may be claimed now. */
export interface LeaseLimits {
  /** In all. */
  most: number;
  /** None deeper. */
  depth: number;
  hosts: readonly { host: string; most: number }[];
  /** The snapshot whose entries of them come along. */
  base_id?: number | null;
}

/** Leases the next URLs of a run, the least deep first. The caller holds the run's row. */
export async function leaseUrls(
  em: EntityManager,
  run_id: number,
  { most, depth, hosts, base_id = null }: LeaseLimits,
  ledger: Ledger,
): Promise<LeasedUrl[]> {
  if (most <= 0 || hosts.length === 0) return [];
  const given = [JSON.stringify(hosts), run_id, depth, most, base_id];
  const claimed = (await executeBound<Record<string, unknown>>(em, leaseSql, given)).map(leasedUrlOf);
  claimed.sort((a, b) => a.depth - b.depth || a.priority - b.priority || a.id - b.id);
  for (const { kind, host, depth: at } of claimed) {
    const standing = { kind, host, depth: at, rule: null };
    ledger.move({ ...standing, state: 'pending' }, { ...standing, state: 'leased' });
  }
  return claimed;
}

/** Puts back the URLs that a lost worker had leased. @returns how many */
export async function returnLeases(em: EntityManager, run_id: number, ledger: Ledger): Promise<number> {
  const rows = await em.execute<{ kind: UrlKind; host: string; depth: number }[]>(
    `update crawl_url set state = 'pending' where run_id = ? and state = 'leased' returning kind, host, depth`,
    [run_id],
  );
  for (const { kind, host, depth } of rows) {
    const standing = { kind, host, depth, rule: null };
    ledger.move({ ...standing, state: 'leased' }, { ...standing, state: 'pending' });
  }
  return rows.length;
}

/** Skips what still waits. @returns how many */
export async function skipWaiting(
  em: EntityManager,
  run_id: number,
  { rule, kind }: { rule: string; kind?: UrlKind },
  ledger: Ledger,
): Promise<number> {
  const rows = await em.execute<{ kind: UrlKind; host: string; depth: number; count: number }[]>(
    `with skipped as (
       update crawl_url set state = 'skipped', rule = ?, not_before = null
       where run_id = ? and state = 'pending' and (?::text is null or kind = ?) returning kind, host, depth)
     select kind, host, depth, count(*)::integer as count from skipped group by kind, host, depth`,
    [rule, run_id, kind ?? null, kind ?? null],
  );
  let all = 0;
  for (const { count, ...standing } of rows) {
    ledger.move({ ...standing, state: 'pending', rule: null }, { ...standing, state: 'skipped', rule }, count);
    all += count;
  }
  return all;
}

/** Ends what still waits for a host that is given up in an error. @returns how many */
export async function failWaiting(em: EntityManager, run_id: number, host: string, ledger: Ledger): Promise<number> {
  const rows = await em.execute<{ kind: UrlKind; depth: number; count: number }[]>(
    `with failed as (
       update crawl_url set state = 'error', error = 'host_down', not_before = null,
         error_message = 'The host did not answer any more'
       where run_id = ? and state = 'pending' and host = ? returning kind, depth)
     select kind, depth, count(*)::integer as count from failed group by kind, depth`,
    [run_id, host],
  );
  let all = 0;
  for (const { count, ...at } of rows) {
    const standing = { ...at, host, rule: null };
    ledger.move({ ...standing, state: 'pending' }, { ...standing, state: 'error' }, count);
    all += count;
  }
  return all;
}
