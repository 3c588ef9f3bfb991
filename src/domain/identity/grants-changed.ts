import type { EntityManager } from '@mikro-orm/postgresql';
import { grantChannel } from './grant-cache.ts';

/** Tells every process, when the transaction commits, that rights or names in an organisation changed. */
export async function grantsChanged(em: EntityManager, organizationId: number): Promise<void> {
  await em.execute(`select pg_notify('${grantChannel}', ?)`, [String(organizationId)]);
}
