import type { EntityManager } from '@mikro-orm/postgresql';
import type { Services } from '../../services.ts';
import type { Crawler } from '../config/crawler.entity.ts';
import { activeStatuses, CrawlerRun } from './crawler-run.entity.ts';
import { endRun } from './end-run.ts';

/** Ends every run of a crawler that is deleted, in the caller's transaction: those that wait at once, one at work within seconds. */
export async function cancelRunsOf(em: EntityManager, services: Services, { id }: Pick<Crawler, 'id'>): Promise<void> {
  const waiting = await em.find(CrawlerRun, { crawler_id: id, status: 'queued' }, { disableIdentityMap: true });
  for (const run of waiting)
    await endRun(em, services, run, { status: 'canceled', reason: 'crawler_deleted', message: null });
  await em.nativeUpdate(
    CrawlerRun,
    { crawler_id: id, status: { $in: [...activeStatuses] } },
    { stop_requested: 'cancel', finish_reason: 'crawler_deleted', updated_at: services.clock.now() },
  );
}
