import type { EntityManager } from '@mikro-orm/postgresql';
import { siblingOf } from '../../config/host.ts';
import type { SnapshotOrigins } from '../snapshot.entity.ts';

/** Whether an entry of `allowed_domains` (a host, or `*.host` for all below it) means a host. */
const allows = (pattern: string, host: string) =>
  pattern.startsWith('*.') ? host.endsWith(pattern.slice(1)) : host === pattern;

/** Place of a host in the order in which addresses win; -1 for one that is not part of the tree. */
function rankOf(host: string, primary: string, allowed: readonly string[]): number {
  if (host === primary) return 0;
  if (host === siblingOf(primary)) return 1;
  const at = allowed.findIndex((pattern) => allows(pattern, host));
  return at < 0 ? -1 : at + 2;
}

/** Puts origins in the order in which their addresses win. */
export function orderOrigins(
  found: readonly string[],
  origin: string,
  allowed: readonly string[],
): Omit<SnapshotOrigins, 'home'> {
  const primary = new URL(origin).host;
  const ranked = found.map((each) => ({ each, rank: rankOf(new URL(each).host, primary, allowed) }));
  const inOrder = ranked.sort(
    (a, b) => a.rank - b.rank || Number(b.each === origin) - Number(a.each === origin) || (a.each < b.each ? -1 : 1),
  );
  return {
    tree: inOrder.filter(({ rank }) => rank >= 0).map(({ each }) => each),
    others: inOrder.filter(({ rank }) => rank < 0).map(({ each }) => each),
  };
}

/** Every scheme and host a snapshot has entries of. */
export async function originsOf(
  em: EntityManager,
  snapshot: { id: number; origin: string },
  allowed: readonly string[],
): Promise<Omit<SnapshotOrigins, 'home'>> {
  const rows = await em.execute<{ origin: string }[]>(
    `select distinct split_part(url, '/', 1) || '//' || split_part(url, '/', 3) as origin
     from snapshot_entry where snapshot_id = ?`,
    [snapshot.id],
  );
  return orderOrigins(
    rows.map(({ origin }) => origin),
    snapshot.origin,
    allowed,
  );
}
