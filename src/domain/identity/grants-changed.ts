import type { EntityManager } from '@mikro-orm/postgresql';
import { grantChannel } from './grant-cache.ts';

const changed = new WeakMap<EntityManager, Set<number>>();

/** Tells every process, when the transaction commits, that rights or names in an organisation changed. */
export async function grantsChanged(em: EntityManager, organizationId: number): Promise<void> {
  changed.set(em, (changed.get(em) ?? new Set()).add(organizationId));
  await em.execute(`select pg_notify('${grantChannel}', ?)`, [String(organizationId)]);
}

/** Organisations the transaction of this manager told the others about: the notification reaches its own process only later. */
export const organizationsChanged = (em: EntityManager): Iterable<number> => changed.get(em) ?? [];
