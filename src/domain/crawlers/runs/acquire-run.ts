import type { EntityManager } from '@mikro-orm/postgresql';
import { returnLeases } from '../frontier/claim.ts';
import { Ledger } from '../frontier/ledger.ts';
import { CrawlerRun } from './crawler-run.entity.ts';
import { holdCrawlerOf, letGo } from './hold-crawler.ts';

/** Seconds after which a worker that shows no life counts as gone. */
export const patience = 8;

/**
 * A run that is at work goes to whoever comes when its worker is gone; one that waits, when it is the first and none is at work. A time in
 * which nobody worked on it is none without progress.
 */
const acquireSql = `
  update crawler_run set epoch = epoch + 1, heartbeat_at = now(),
    status = case status when 'queued' then 'provisioning' else status end,
    takeovers = case when heartbeat_at is null then takeovers else takeovers + 1 end,
    progress_at = case when progress_at is not null and greatest(updated_at, heartbeat_at) < now() - interval '1 minute'
      then now() else progress_at end
  where id = ? and (
    (status in ('provisioning', 'running') and (heartbeat_at is null or heartbeat_at < now() - interval '${patience} seconds'))
    or (status = 'queued' and not exists (select 1 from crawler_run as other
      where other.crawler_id = crawler_run.crawler_id
        and (other.status in ('provisioning', 'running') or (other.status = 'queued' and other.id < crawler_run.id)))))
  returning id`;

/**
 * Makes the caller the one who works on a run, and puts back what its last worker had leased.
 * @returns null when somebody works on it, when it is not its turn, or when it has ended
 */
export async function acquireRun(em: EntityManager, id: number): Promise<CrawlerRun | null> {
  return em.transactional(async (within) => {
    await letGo(within);
    // Of two that would begin runs of the same crawler, one comes after the other.
    await holdCrawlerOf(within, id);
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

/** Gives a run back, so that the next worker need not wait for the last one's death. */
export async function handBack(em: EntityManager, { id, epoch }: Pick<CrawlerRun, 'id' | 'epoch'>): Promise<void> {
  await em.execute(
    `update crawler_run set heartbeat_at = null, updated_at = now() where id = ? and epoch = ? and status in ('provisioning', 'running')`,
    [id, epoch],
  );
}
