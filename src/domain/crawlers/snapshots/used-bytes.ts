import type { EntityManager } from '@mikro-orm/postgresql';

/**
 * Bytes of all contents that snapshots of an organisation hold, each counted once however many hold it: what its quota is about. Reads
 * every entry, so it is asked once for a slice of a run, not for each page.
 *
 * @param run_id a run whose own snapshot does not count, because it counts itself what it adds
 */
export async function usedBytes(em: EntityManager, organization_id: number, run_id: number): Promise<number> {
  const [row] = await em.execute<{ bytes: string }[]>(
    `select coalesce(sum(bytes), 0) as bytes from (
       select distinct on (sha256) snapshot_entry.bytes from snapshot_entry join snapshot on snapshot.id = snapshot_id
         join crawler on crawler.id = crawler_id join project on project.id = project_id
       where organization_id = ? and run_id <> ? and sha256 is not null) as once`,
    [organization_id, run_id],
  );
  return Number(row?.bytes ?? 0);
}
