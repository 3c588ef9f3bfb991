import type { EntityManager } from '@mikro-orm/postgresql';
import { DomainError } from '../../errors.ts';
import type { Services } from '../../services.ts';
import type { CrawlerRun, StopRequest } from './crawler-run.entity.ts';
import { endRun } from './end-run.ts';
import { holdCrawlerOf } from './hold-crawler.ts';
import { announceRun, writeLog } from './run-feed.ts';

const askSql = `
  update crawler_run set stop_requested = ?, updated_at = ?
  where id = ? and status in ('provisioning', 'running') and (stop_requested is null or (stop_requested = 'stop' and ? = 'cancel'))
  returning id`;

/**
 * Asks whoever works on a run to end it, in the caller's transaction; one that waits is canceled at once. Asking again changes nothing, and
 * after a stop it may still be canceled.
 * @throws DomainError `in_use` when the run has ended
 */
export async function requestEnd(
  em: EntityManager,
  services: Services,
  run: CrawlerRun,
  request: StopRequest,
): Promise<void> {
  await holdCrawlerOf(em, run.id);
  const [now] = await em.execute<Pick<CrawlerRun, 'status' | 'epoch'>[]>(
    'select status, epoch from crawler_run where id = ? for update',
    [run.id],
  );
  if (now?.status === 'queued') {
    await endRun(em, services, { id: run.id, epoch: now.epoch }, { status: 'canceled', reason: 'user', message: null });
    return;
  }
  if (now?.status !== 'provisioning' && now?.status !== 'running')
    throw new DomainError('in_use', `Run ${run.id} is ${now?.status ?? 'gone'}: it cannot be ended any more`);
  const asked = await em.execute<unknown[]>(askSql, [request, services.clock.now(), run.id, request]);
  if (asked.length === 0) return;
  const message = request === 'stop' ? 'The run is to stop' : 'The run is to be canceled';
  await writeLog(em, services, run, [{ level: 'info', event: `run.${request}_requested`, message }]);
  await announceRun(em, services, run);
  if (request === 'cancel') services.crawling.cancel(run.id);
}
