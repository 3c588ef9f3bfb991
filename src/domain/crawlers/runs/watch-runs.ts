import type { Services } from '../../services.ts';
import { patience } from './acquire-run.ts';
import { endRun } from './end-run.ts';
import { holdCrawlerOf } from './hold-crawler.ts';

/** Take-overs without progress after which a run is given up. */
const mostTakeovers = 3;

/** With no host of the project that pauses, half an hour of work without an answer is too long. */
const isStalled = `status in ('provisioning', 'running') and (
    takeovers >= ${mostTakeovers}
    or (coalesce(progress_at, started_at) < now() - interval '30 minutes' and heartbeat_at > now() - interval '${patience} seconds'
      and not exists (select 1 from crawl_host where crawl_host.project_id = crawler_run.project_id
        and paused_until > now() - interval '30 minutes')))`;

// Whoever may still work on it writes nothing any more.
const giveUpSql = `update crawler_run set epoch = epoch + 1 where id = ? and ${isStalled} returning epoch`;

/** Looks every minute for runs that get no further, and ends them. */
export async function watchRuns(services: Services): Promise<void> {
  const em = services.orm.em.fork();
  const stalled = await em.execute<{ id: number }[]>(`select id from crawler_run where ${isStalled}`);
  for (const { id } of stalled)
    await em.fork().transactional(async (within) => {
      await holdCrawlerOf(within, id);
      // Asked again: it may have got further meanwhile.
      const [given] = await within.execute<{ epoch: number }[]>(giveUpSql, [id]);
      if (!given) return;
      const message = 'The run made no progress any more';
      await endRun(within, services, { id, epoch: given.epoch }, { status: 'failed', reason: 'stalled', message });
    });
}
