import type { EntityData } from '@mikro-orm/core';
import type { EntityManager } from '@mikro-orm/postgresql';
import { SnapshotImport } from '../snapshot.entity.ts';

/** An import this process works on. */
export interface ImportClaim {
  row: SnapshotImport;
  /** Another process has begun it, and may have committed it. */
  wasBegun: boolean;
  /** @returns false when another process has taken the import over, or is done with it: nothing was written. */
  write(change: EntityData<SnapshotImport>): Promise<boolean>;
}

const claimSql = `
  update snapshot_import set state = 'running', attempt = attempt + 1
  where id = ? and state in ('queued', 'running') returning attempt`;

/**
 * Takes an import that is not done, also from a process that has it: the process may be dead, and when it is not, what it writes from now on
 * counts no longer.
 * @returns null when it is done, or gone
 */
export async function claimImport(em: EntityManager, id: number): Promise<ImportClaim | null> {
  const [claimed] = await em.execute<{ attempt: number }[]>(claimSql, [id]);
  if (!claimed) return null;
  const { attempt } = claimed;
  return {
    row: await em.findOneOrFail(SnapshotImport, { id }, { refresh: true }),
    wasBegun: attempt > 1,
    write: async (change) => (await em.nativeUpdate(SnapshotImport, { id, attempt, state: 'running' }, change)) > 0,
  };
}
