import type { EntityManager } from '@mikro-orm/postgresql';
import type { EventData, EventType } from '../../notifications/event-payload.ts';
import { notify } from '../../notifications/notify.ts';
import type { Crawler } from '../config/crawler.entity.ts';
import type { CrawlerServices } from '../crawlers.ts';
import type { Collisions } from '../snapshots/seal-checks.ts';
import { sealSnapshot } from '../snapshots/seal-snapshot.ts';
import { activeStatuses, CrawlerRun, type FinishReason, type TerminalStatus } from './crawler-run.entity.ts';
import { wakeRun } from './queue-run.ts';
import { announceRun, type LogLine, writeLog } from './run-feed.ts';
import { unix } from './run-record.ts';

/**
 * Ends a transaction that idles for 5 s: a process that is suspended in the middle of one would keep its locks from the worker that
 * takes its runs over.
 */
export async function limitIdleTransaction(em: EntityManager): Promise<void> {
  await em.execute(`set local idle_in_transaction_session_timeout = '5s'`);
}

/** Locks the crawler of a run until the transaction ends. Lock order: the crawler before its runs. */
export async function lockCrawlerOf(em: EntityManager, run_id: number): Promise<void> {
  await em.execute('select id from crawler where id = (select crawler_id from crawler_run where id = ?) for update', [
    run_id,
  ]);
}

type NotifiedRun = Pick<
  CrawlerRun,
  | 'id'
  | 'crawler_id'
  | 'trigger'
  | 'schedule_id'
  | 'status'
  | 'finish_reason'
  | 'started_at'
  | 'completed_at'
  | 'counts'
>;

/** Examples of what went wrong, the first ones. */
async function firstErrors(em: EntityManager, run_id: number): Promise<{ url: string; error: string }[]> {
  return em.execute<{ url: string; error: string }[]>(
    `select url, error from crawl_url where run_id = ? and state = 'error' and error is not null order by id limit 10`,
    [run_id],
  );
}

/** Tells the webhook of a run's crawler how the run stands, with the caller's transaction. */
export async function notifyRun(
  em: EntityManager,
  services: CrawlerServices,
  run: NotifiedRun,
  type: EventType,
  snapshot?: EventData['snapshot'],
): Promise<void> {
  const { id, crawler_id, trigger, schedule_id, status, finish_reason, started_at, completed_at, counts } = run;
  const duration_ms = started_at && completed_at ? completed_at.getTime() - started_at.getTime() : null;
  const errors = counts.errors > 0 ? await firstErrors(em, id) : [];
  await notify(em, services, { id: crawler_id }, type, {
    run: {
      id,
      trigger,
      schedule_id: schedule_id ?? null,
      status,
      reason: finish_reason ?? null,
      started_at: unix(started_at),
      completed_at: unix(completed_at),
      duration_ms,
    },
    counts,
    ...(snapshot && { snapshot }),
    ...(completed_at && { first_errors: errors }),
  });
}

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
async function wakeNext(em: EntityManager, services: CrawlerServices, crawler_id: number): Promise<void> {
  const next = await em.findOne(
    CrawlerRun,
    { crawler_id, status: 'queued' },
    { orderBy: { id: 'asc' }, fields: ['id'], disableIdentityMap: true },
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
  services: CrawlerServices,
  { id, epoch }: Pick<CrawlerRun, 'id' | 'epoch'>,
  { status, reason, message }: RunEnding,
): Promise<boolean> {
  const now = services.clock.now();
  await lockCrawlerOf(em, id);
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

/** Ends every run of a deleted crawler, in the caller's transaction: queued ones at once, an active one within seconds. */
export async function cancelRunsOf(
  em: EntityManager,
  services: CrawlerServices,
  { id }: Pick<Crawler, 'id'>,
): Promise<void> {
  const options = { fields: ['id', 'epoch'], disableIdentityMap: true } as const;
  const waiting = await em.find(CrawlerRun, { crawler_id: id, status: 'queued' }, options);
  for (const run of waiting)
    await endRun(em, services, run, { status: 'canceled', reason: 'crawler_deleted', message: null });
  await em.nativeUpdate(
    CrawlerRun,
    { crawler_id: id, status: { $in: [...activeStatuses] } },
    { stop_requested: 'cancel', finish_reason: 'crawler_deleted', updated_at: services.clock.now() },
  );
}
