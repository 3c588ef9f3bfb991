import type { EntityManager } from '@mikro-orm/postgresql';
import type { Sha256 } from '../../ports/blobs.ts';

/**
 * Blobs that hold bodies of deliveries.
 * @param prefix first digits of their names, at least one; hexadecimal, lower-case
 */
export async function deliveryBlobs(em: EntityManager, prefix: string): Promise<Set<Sha256>> {
  // Every hexadecimal digit sorts before `g`.
  const sql = 'select body_sha256 as sha256 from delivery where body_sha256 >= ? and body_sha256 < ?';
  const rows = await em.execute<{ sha256: Sha256 }[]>(sql, [prefix, `${prefix}g`]);
  return new Set(rows.map(({ sha256 }) => sha256));
}
