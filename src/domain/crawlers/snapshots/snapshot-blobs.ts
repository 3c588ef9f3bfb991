import type { EntityManager } from '@mikro-orm/postgresql';
import type { Sha256 } from '../../ports/blobs.ts';

/**
 * Blobs that entries of snapshots refer to, contents and lists of links alike.
 * @param prefix first digits of their names, at least one; hexadecimal, lower-case
 */
export async function snapshotBlobs(em: EntityManager, prefix: string): Promise<Set<Sha256>> {
  // Every hexadecimal digit sorts before `g`.
  const range = [prefix, `${prefix}g`];
  const rows = await em.execute<{ sha256: Sha256 }[]>(
    `select sha256 from snapshot_entry where sha256 >= ? and sha256 < ?
     union select outlinks_sha256 from snapshot_entry where outlinks_sha256 >= ? and outlinks_sha256 < ?`,
    [...range, ...range],
  );
  return new Set(rows.map(({ sha256 }) => sha256));
}
