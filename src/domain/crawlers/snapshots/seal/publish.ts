import type { EntityManager } from '@mikro-orm/postgresql';

const lockSql = `
  select crawler.published_snapshot_id as live, snapshot.run_id
  from crawler left join snapshot on snapshot.id = crawler.published_snapshot_id
  where crawler.id = ? for update of crawler`;

/** The live copy of a crawler. Holds the crawler's row until the transaction ends, so that publications come one after another. */
export async function liveCopy(
  em: EntityManager,
  crawler_id: number,
): Promise<{ snapshot_id: number; run_id: number } | null> {
  const [row] = await em.execute<{ live: number | null; run_id: number | null }[]>(lockSql, [crawler_id]);
  return row?.live != null && row.run_id !== null ? { snapshot_id: row.live, run_id: row.run_id } : null;
}

/** Makes a snapshot the live copy of its crawler: readers see the copy before or this one, never a mixture. */
export async function makeLive(em: EntityManager, crawler_id: number, snapshot_id: number, now: Date): Promise<void> {
  await em.execute('update snapshot set published_at = ? where id = ?', [now, snapshot_id]);
  await em.execute('update crawler set published_snapshot_id = ? where id = ?', [snapshot_id, crawler_id]);
}
