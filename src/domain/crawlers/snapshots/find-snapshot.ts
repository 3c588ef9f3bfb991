import type { EntityManager } from '@mikro-orm/postgresql';
import { DomainError } from '../../errors.ts';
import { CrawlSnapshot } from './snapshot.entity.ts';

/** Not one that has been discarded, and only waits for its rows to be removed. */
export const notDiscarded = { $or: [{ state: { $ne: 'expired' as const } }, { sealed_at: { $ne: null } }] };

/**
 * A snapshot of a crawler.
 * @throws DomainError `not_found` for one that is unknown, deleted, or of another crawler
 */
export async function findSnapshot(em: EntityManager, crawler_id: number, id: number): Promise<CrawlSnapshot> {
  const row = await em.findOne(CrawlSnapshot, { id, crawler_id, ...notDiscarded }, { refresh: true });
  if (row) return row;
  throw new DomainError('not_found', 'Snapshot not found');
}
