import type { EntityManager } from '@mikro-orm/postgresql';

interface BeginningRun {
  id: number;
  crawler_id: number;
  /** Scheme and host the run has settled on. */
  origin: string;
}

const beginSql = `
  with begun as (
    insert into snapshot (crawler_id, run_id, state, host, origin, base_id, created_at)
    select ?, ?, 'building', ?, ?,
      (select max(id) from snapshot where crawler_id = ? and state in ('ready', 'held', 'partial')), ?
    returning id, base_id
  ), noted as (
    update crawler_run set snapshot_id = (select id from begun) where id = ?
  )
  select id, base_id from begun`;

/**
 * Begins the snapshot of a run and notes it on the run's row: once, in the transaction that settles the run's origin.
 * @returns its id, and the newest sealed snapshot of the crawler (null: none), whose validators the run may use
 */
export async function beginSnapshot(
  em: EntityManager,
  { id, crawler_id, origin }: BeginningRun,
  now: Date,
): Promise<{ id: number; base_id: number | null }> {
  const { host } = new URL(origin);
  const rows = await em.execute<{ id: number; base_id: number | null }[]>(beginSql, [
    crawler_id,
    id,
    host,
    origin,
    crawler_id,
    now,
    id,
  ]);
  const [begun] = rows;
  if (!begun) throw new Error(`the snapshot of run ${id} was not begun`);
  return begun;
}
