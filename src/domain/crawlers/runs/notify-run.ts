import type { EntityManager } from '@mikro-orm/postgresql';
import type { EventData, EventType } from '../../notifications/event-payload.ts';
import { notify } from '../../notifications/notify.ts';
import type { Services } from '../../services.ts';
import type { CrawlerRun } from './crawler-run.entity.ts';
import { unix } from './run-record.ts';

type Told = Pick<
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
  services: Services,
  run: Told,
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
