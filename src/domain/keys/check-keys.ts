import type { EntityManager } from '@mikro-orm/postgresql';
import { KeyError, type KeyFault, type Kms } from '../../ports/kms.ts';
import { DataKey } from './data-key.entity.ts';
import { dataKeyContext } from './data-keys.ts';

export interface KeyCheck {
  /** Key-encryption keys the table names and the provider does not have, or has disabled. */
  missing: string[];
  /** Active data keys that do not open, one per organisation at most. */
  unreadable: { organization_id: number; data_key_id: string; kek_id: string; fault: KeyFault }[];
}

/** How many data keys each key-encryption key holds, by its id. */
export async function countByKek(em: EntityManager): Promise<Map<string, number>> {
  const sql = 'select kek_id, count(*)::int as rows from data_key group by kek_id order by kek_id';
  const rows: { kek_id: string; rows: number }[] = await em.getConnection().execute(sql);
  return new Map(rows.map(({ kek_id, rows: count }) => [kek_id, count]));
}

/**
 * The check at start: every key-encryption key named in the database must be there, and the active data key of every organisation
 * must open. Both lists empty: secrets can be read.
 * @throws KeyError `unavailable` when the provider does not answer, which says nothing about the keys.
 */
export async function checkKeys({ kms, em }: { kms: Kms; em: EntityManager }): Promise<KeyCheck> {
  const fork = em.fork();
  const named = [...(await countByKek(fork)).keys()];
  const { keys } = await kms.describe(named);
  const usable = new Set(keys.filter((key) => key.state !== 'disabled').map((key) => key.id));
  const unreadable: KeyCheck['unreadable'] = [];
  const canaries = await fork.find(
    DataKey,
    { state: 'active' },
    { orderBy: { organization_id: 'asc' }, disableIdentityMap: true },
  );
  for (const row of canaries) {
    try {
      (await kms.unwrap(row.wrapped, dataKeyContext(row))).fill(0);
    } catch (error) {
      if (!(error instanceof KeyError) || error.fault === 'unavailable') throw error;
      const { organization_id, id: data_key_id, kek_id } = row;
      unreadable.push({ organization_id, data_key_id, kek_id, fault: error.fault });
    }
  }
  return { missing: named.filter((id) => !usable.has(id)), unreadable };
}
