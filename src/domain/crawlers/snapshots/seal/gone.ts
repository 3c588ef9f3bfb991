import type { EntityManager } from '@mikro-orm/postgresql';

/**
 * Counts URLs of one snapshot that another one lacks. Each side is read once, whatever the database knows of them: of a snapshot that has just
 * been written its statistics say that it is empty, and a join planned by them would read all of one side for every row of the other.
 * @param which condition on `entry`, without parameters, that both sides are looked at under
 */
export async function countGone(
  em: EntityManager,
  { before, after }: { before: number; after: number },
  which: string,
): Promise<number> {
  const [row] = await em.execute<{ count: string }[]>(
    `select count(*) from (
       select url_hash from snapshot_entry as entry where snapshot_id = ? and ${which}
       except select url_hash from snapshot_entry as entry where snapshot_id = ? and ${which}) as gone`,
    [before, after],
  );
  return Number(row?.count ?? 0);
}
