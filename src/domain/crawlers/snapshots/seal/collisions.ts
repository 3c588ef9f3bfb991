import type { EntityManager } from '@mikro-orm/postgresql';

/** Paths that several hosts of one tree have with different contents: only the first of them is served there, and imported. */
export interface Collisions {
  count: number;
  /** The first of them in the order of their paths. */
  examples: string[];
}

const mostExamples = 10;

const collisionsSql = `
  select path, count(*) over () as count from (
    select substring(url from '^[^/]*//[^/]*(.*)$') as path from snapshot_entry
    where snapshot_id = ? and sha256 is not null
      and split_part(url, '/', 1) || '//' || split_part(url, '/', 3) = any (string_to_array(?, ' '))
    group by 1 having count(distinct sha256) > 1) as found
  order by path collate "C" limit ${mostExamples}`;

/** Looks for paths of a snapshot on which its hosts collide. @param tree schemes and hosts that share one tree */
export async function collisionsIn(
  em: EntityManager,
  snapshot_id: number,
  tree: readonly string[],
): Promise<Collisions> {
  if (tree.length < 2) return { count: 0, examples: [] };
  const rows = await em.execute<{ path: string; count: string }[]>(collisionsSql, [snapshot_id, tree.join(' ')]);
  return { count: Number(rows[0]?.count ?? 0), examples: rows.map(({ path }) => path) };
}
