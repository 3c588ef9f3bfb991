import type { EntityManager } from '@mikro-orm/postgresql';
import type { Services } from '../../../kernel/services.ts';
import type { CrawlerServices } from '../crawlers.ts';
import { returnLeases } from '../frontier/lease.ts';
import { Ledger } from '../frontier/ledger.ts';
import { CrawlerRun } from './crawler-run.entity.ts';
import { endRun, limitIdleTransaction, lockCrawlerOf } from './end-run.ts';

/** Seconds without a heartbeat after which a worker counts as dead. */
export const heartbeatTimeout = 8;

/**
 * An active run can be acquired when its worker is dead; a queued one, when it is its crawler's first and none is active. Time in
 * which it had no worker does not count as time without progress.
 */
const acquireSql = `
  update crawler_run set epoch = epoch + 1, heartbeat_at = now(),
    status = case status when 'queued' then 'provisioning' else status end,
    takeovers = case when heartbeat_at is null then takeovers else takeovers + 1 end,
    progress_at = case when progress_at is not null and greatest(updated_at, heartbeat_at) < now() - interval '1 minute'
      then now() else progress_at end
  where id = ? and (
    (status in ('provisioning', 'running') and (heartbeat_at is null or heartbeat_at < now() - interval '${heartbeatTimeout} seconds'))
    or (status = 'queued' and not exists (select 1 from crawler_run as other
      where other.crawler_id = crawler_run.crawler_id
        and (other.status in ('provisioning', 'running') or (other.status = 'queued' and other.id < crawler_run.id)))))
  returning id`;

/**
 * Makes the caller a run's worker, and puts back the URLs that its last worker had leased.
 * @returns null when the run has a worker, is not the first of its crawler, or has ended
 */
export async function acquireRun(em: EntityManager, id: number): Promise<CrawlerRun | null> {
  return em.transactional(async (within) => {
    await limitIdleTransaction(within);
    // Serialises workers that would begin runs of the same crawler.
    await lockCrawlerOf(within, id);
    const free = await within.execute<unknown[]>('select id from crawler_run where id = ? for update skip locked', [
      id,
    ]);
    if (free.length === 0) return null;
    const taken = await within.execute<unknown[]>(acquireSql, [id]);
    if (taken.length === 0) return null;
    const run = await within.findOneOrFail(CrawlerRun, { id }, { refresh: true });
    const ledger = new Ledger(run.counts);
    if ((await returnLeases(within, id, ledger)) > 0) {
      run.counts = ledger.counts;
      await within.flush();
    }
    return run;
  });
}

/** Gives a run back, so that the next worker need not wait for the heartbeat's timeout. */
export async function releaseRun(em: EntityManager, { id, epoch }: Pick<CrawlerRun, 'id' | 'epoch'>): Promise<void> {
  await em.execute(
    `update crawler_run set heartbeat_at = null, updated_at = now() where id = ? and epoch = ? and status in ('provisioning', 'running')`,
    [id, epoch],
  );
}

/** Take-overs without progress after which a run is given up. */
const maxTakeovers = 3;

/** With no host of the project that pauses, half an hour of work without an answer is too long. */
const isStalled = `status in ('provisioning', 'running') and (
    takeovers >= ${maxTakeovers}
    or (coalesce(progress_at, started_at) < now() - interval '30 minutes' and heartbeat_at > now() - interval '${heartbeatTimeout} seconds'
      and not exists (select 1 from crawl_host where crawl_host.project_id = crawler_run.project_id
        and paused_until > now() - interval '30 minutes')))`;

// A worker that is still active writes nothing under the old epoch.
const giveUpSql = `update crawler_run set epoch = epoch + 1 where id = ? and ${isStalled} returning epoch`;

/** Ends runs that make no progress; called every minute. */
export async function watchRuns(services: CrawlerServices): Promise<void> {
  const em = services.orm.em.fork();
  const stalled = await em.execute<{ id: number }[]>(`select id from crawler_run where ${isStalled}`);
  for (const { id } of stalled)
    await em.fork().transactional(async (within) => {
      await lockCrawlerOf(within, id);
      // Checked again under the lock: it may have made progress meanwhile.
      const [given] = await within.execute<{ epoch: number }[]>(giveUpSql, [id]);
      if (!given) return;
      const message = 'The run made no progress any more';
      await endRun(within, services, { id, epoch: given.epoch }, { status: 'failed', reason: 'stalled', message });
    });
}

/** Milliseconds between heartbeats. */
const heartbeatInterval = 2_000;

/** A run whose project was deleted is cancelled, as those of a deleted crawler are. */
const heartbeatSql = `
  update crawler_run set heartbeat_at = now(),
    stop_requested = case when is_deleted then 'cancel' else stop_requested end,
    finish_reason = case when is_deleted then 'crawler_deleted' else finish_reason end
  from (select id as of, deleted_at is not null as is_deleted from project) as project
  where project.of = crawler_run.project_id
    and id = ? and epoch = ? and status in ('provisioning', 'running') and heartbeat_at is not null
  returning stop_requested`;

/**
 * Writes a run's heartbeat, and reads requests to end it. @param onSignal `lost` when the run was taken over or has ended, else the request
 * @returns ends the heartbeat
 */
export function keepAlive(
  { orm, log }: Pick<Services, 'orm' | 'log'>,
  { id, epoch }: Pick<CrawlerRun, 'id' | 'epoch'>,
  onSignal: (signal: 'lost' | 'cancel' | 'stop') => void,
): () => void {
  const beat = async () => {
    const [row] = await orm.em.fork().execute<Pick<CrawlerRun, 'stop_requested'>[]>(heartbeatSql, [id, epoch]);
    if (!row) onSignal('lost');
    else if (row.stop_requested) onSignal(row.stop_requested);
  };
  const timer = setInterval(() => {
    beat().catch((err: unknown) => log.debug({ err, run: id }, 'heartbeat of a run not written'));
  }, heartbeatInterval);
  return () => clearInterval(timer);
}
