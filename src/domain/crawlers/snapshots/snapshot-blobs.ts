import type { EntityManager } from '@mikro-orm/postgresql';
import type { Sha256 } from '../../ports/blobs.ts';

/**
 * Blobs that entries of snapshots refer to, contents and lists of links alike.
 * @param prefix first two digits of their names; hexadecimal, lower-case
 */
export async function snapshotBlobs(em: EntityManager, prefix: string): Promise<Set<Sha256>> {
  const rows = await em.execute<{ sha256: Sha256 }[]>(
    `select sha256 from snapshot_entry where left(sha256, 2) = ?
     union select outlinks_sha256 from snapshot_entry where left(outlinks_sha256, 2) = ?`,
    [prefix, prefix],
  );
  return new Set(rows.map(({ sha256 }) => sha256));
}
