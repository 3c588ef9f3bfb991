import { randomBytes, randomUUID } from 'node:crypto';
import { raw, UniqueConstraintViolationException } from '@mikro-orm/core';
import type { EntityManager } from '@mikro-orm/postgresql';
import { KeyError, type KeyFault, type Kms } from '../../ports/kms.ts';
import { DataKey } from './data-key.entity.ts';

/** The context a data key is wrapped under; the last part is the version of this form. */
export function dataKeyContext({ id, organization_id }: Pick<DataKey, 'id' | 'organization_id'>): string {
  return `data-key|${organization_id}|${id}|1`;
}

/** The organisation's active data key, created when missing; of concurrent callers one creates it and all get the same. */
export async function activeDataKey(em: EntityManager, kms: Kms, organization_id: number, now: Date): Promise<DataKey> {
  const found = await em.findOne(DataKey, { organization_id, state: 'active' }, { disableIdentityMap: true });
  if (found !== null) return found;
  const fresh = await freshDataKey(kms, organization_id, now);
  try {
    await em.insert(DataKey, fresh);
    return fresh;
  } catch (error) {
    if (!(error instanceof UniqueConstraintViolationException)) throw error;
    return em.findOneOrFail(DataKey, { organization_id, state: 'active' }, { disableIdentityMap: true });
  }
}

/**
 * Reserves `count` encryptions with a key.
 * @returns false when the key is no longer the active one or would be used more than `most` times.
 */
export async function reserveUses(em: EntityManager, id: string, count: number, most: number): Promise<boolean> {
  const where = { id, state: 'active' as const, uses: { $lte: most - count } };
  return (await em.nativeUpdate(DataKey, where, { uses: raw<number>('uses + ?', [count]) })) === 1;
}

/** Retires a data key and makes the next one active; does nothing when another process has done so already. */
export async function replaceDataKey(em: EntityManager, kms: Kms, old: DataKey, now: Date): Promise<void> {
  // The provider may be slow: its answer is there before the row is locked.
  const fresh = await freshDataKey(kms, old.organization_id, now);
  await em.transactional(async (inner) => {
    const retired = await inner.nativeUpdate(DataKey, { id: old.id, state: 'active' }, { state: 'retired' });
    if (retired === 1) await inner.insert(DataKey, fresh);
  });
}

/**
 * Moves up to `limit` data keys to the active key-encryption key; call again until none is left, also after a crash.
 * @returns how many were moved and how many still wait.
 */
export async function rewrapDataKeys(
  em: EntityManager,
  kms: Kms,
  limit: number,
): Promise<{ moved: number; left: number }> {
  const active = (await kms.describe()).keys.find((key) => key.state === 'active');
  if (active === undefined) throw new Error('the key provider has no active key');
  const waiting = { kek_id: { $ne: active.id } };
  const rows = await em.find(DataKey, waiting, { limit, orderBy: { id: 'asc' }, disableIdentityMap: true });
  for (const row of rows) {
    const { blob, kek_id } = await kms.rewrap(row.wrapped, dataKeyContext(row));
    await em.nativeUpdate(DataKey, { id: row.id, kek_id: row.kek_id }, { wrapped: Buffer.from(blob), kek_id });
  }
  return { moved: rows.length, left: await em.count(DataKey, waiting) };
}

async function freshDataKey(kms: Kms, organization_id: number, now: Date): Promise<DataKey> {
  const id = randomUUID();
  const key = randomBytes(32);
  try {
    const { blob, kek_id } = await kms.wrap(key, dataKeyContext({ id, organization_id }));
    return {
      id,
      organization_id,
      kek_id,
      wrapped: Buffer.from(blob),
      state: 'active',
      uses: 0,
      created_at: now,
    };
  } finally {
    key.fill(0);
  }
}

interface KeyCheck {
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
