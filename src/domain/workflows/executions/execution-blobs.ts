import type { EntityManager } from '@mikro-orm/postgresql';
import type { Sha256 } from '../../ports/blobs.ts';

/**
 * Blobs that hold outputs of executions and their steps.
 * @param prefix first digits of their names, at least one; hexadecimal, lower-case
 */
export async function executionBlobs(em: EntityManager, prefix: string): Promise<Set<Sha256>> {
  // Every hexadecimal digit sorts before `g`.
  const range = [prefix, `${prefix}g`];
  const rows = await em.execute<{ sha256: Sha256 }[]>(
    `select output_sha256 as sha256 from step_run where output_sha256 >= ? and output_sha256 < ?
     union select output_sha256 from execution where output_sha256 >= ? and output_sha256 < ?`,
    [...range, ...range],
  );
  return new Set(rows.map(({ sha256 }) => sha256));
}
