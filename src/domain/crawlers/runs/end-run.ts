import type { EntityManager } from '@mikro-orm/postgresql';
import type { Services } from '../../services.ts';
import type { Collisions } from '../snapshots/seal/collisions.ts';
import { sealSnapshot } from '../snapshots/seal/seal-snapshot.ts';
import { CrawlerRun, type FinishReason, type TerminalStatus } from './crawler-run.entity.ts';
import { holdCrawlerOf } from './hold-crawler.ts';
import { notifyRun } from './notify-run.ts';
import { wakeRun } from './queue-run.ts';
import { announceRun, type LogLine, writeLog } from './run-feed.ts';

/** How a run ends. */
export interface RunEnding {
  status: TerminalStatus;
  reason: FinishReason;
  /** In words for people. */
  message: string | null;
}

const endSql = `
  update crawler_run set status = ?, finish_reason = ?, finish_message = ?, completed_at = ?, updated_at = ?, heartbeat_at = null, cookies = null
  where id = ? and epoch = ? and status not in ('completed', 'stopped', 'canceled', 'failed')
  returning id`;

/** The run of a crawler whose turn it is once none is active. */
async function wakeNext(em: EntityManager, services: Services, crawler_id: number): Promise<void> {
  const next = await em.findOne(
    CrawlerRun,
    { crawler_id, status: 'queued' },
    { orderBy: { id: 'asc' }, disableIdentityMap: true },
  );
  if (next) await wakeRun(em, services, next.id);
}

/** Says which paths hosts that share one tree have both: who looks for a page there may find another one. */
const collided = ({ count, examples }: Collisions): LogLine[] =>
  count === 0
    ? []
    : [
        {
          level: 'warn',
          event: 'merge_collision',
          message: `${count} paths have other contents on other hosts; the first host's are served, as of ${examples[0]}`,
          data: { count, examples },
        },
      ];

/**
 * Ends a run in the caller's transaction: its last state, its snapshot, its one last notification, and the wake of the next run that waits.
 * @returns false when it has ended, or been taken over, before: nothing is changed then
 */
export async function endRun(
  em: EntityManager,
  services: Services,
  { id, epoch }: Pick<CrawlerRun, 'id' | 'epoch'>,
  { status, reason, message }: RunEnding,
): Promise<boolean> {
  const now = services.clock.now();
  await holdCrawlerOf(em, id);
  const ended = await em.execute<unknown[]>(endSql, [status, reason, message, now, now, id, epoch]);
  if (ended.length === 0) return false;
  const run = await em.findOneOrFail(CrawlerRun, { id }, { refresh: true });
  const sealed = await sealSnapshot(em, services, {
    id,
    crawler_id: run.crawler_id,
    snapshot_id: run.snapshot_id ?? null,
    mode: run.mode,
    status,
    origin: run.origin ?? null,
    settings: run.settings,
  });
  if (sealed && sealed.removed > 0) {
    run.counts = { ...run.counts, removed: sealed.removed };
    await em.flush();
  }
  const snapshot = sealed && { id: sealed.id, state: sealed.state, published: sealed.published };
  await notifyRun(em, services, run, `crawler.run.${status}`, snapshot ?? undefined);
  const checked = snapshot && { ...snapshot, checks: sealed.checks };
  if (checked?.published) await notifyRun(em, services, run, 'crawler.snapshot.published', checked);
  if (checked?.state === 'held') await notifyRun(em, services, run, 'crawler.snapshot.held', checked);
  await writeLog(em, services, run, [
    ...(sealed ? collided(sealed.collisions) : []),
    {
      level: status === 'failed' ? 'error' : 'info',
      event: `run.${status}`,
      message: message ?? `The run is ${status}: ${reason}`,
      data: { reason },
    },
  ]);
  await announceRun(em, services, run);
  await wakeNext(em, services, run.crawler_id);
  return true;
}
