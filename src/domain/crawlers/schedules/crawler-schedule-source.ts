import type { EntityManager } from '@mikro-orm/postgresql';
import { notify } from '../../notifications/notify.ts';
import {
  type ScheduleRow,
  type ScheduleSource,
  scheduleOf,
  type TimedSchedule,
} from '../../schedules/schedule-source.ts';
import { Crawler } from '../config/crawler.entity.ts';
import { activeStatuses, CrawlerRun } from '../runs/crawler-run.entity.ts';
import { queueFirstRuns } from '../runs/queue-run.ts';

interface DueRow extends ScheduleRow {
  crawler_id: number;
  name: string;
}

interface Due extends TimedSchedule {
  name: string;
  crawler: Crawler;
  /** Numbers of crawlers with a run at work or waiting; one for all that were claimed together. */
  busy: Set<number>;
}

const dueSql = `
  from crawler_schedule schedule
  join crawler on crawler.id = crawler_id and crawler.deleted_at is null
  join project on project.id = crawler.project_id and project.deleted_at is null
  where enabled and next_fire_at <= ? and not schedule.id = any(string_to_array(?, ' ')::int[])`;

/**
 * Locks the crawlers too, so that no run of theirs is queued meanwhile. Locked rows are skipped: deleting a crawler locks its row before
 * those of its schedules.
 */
const claimSql = `
  select schedule.id, crawler_id, schedule.name, schedule_cron_string, timezone, next_fire_at ${dueSql}
  order by next_fire_at, schedule.id limit ?
  for update of schedule, crawler skip locked`;

/** After the crawlers have been locked: whatever was queued before is seen, and nothing is queued meanwhile. */
async function busyOf(em: EntityManager, crawlers: readonly number[]): Promise<Set<number>> {
  const where = { crawler_id: { $in: [...crawlers] }, status: { $in: ['queued', ...activeStatuses] as const } };
  const runs = await em.find(CrawlerRun, where, { fields: ['crawler_id'], disableIdentityMap: true });
  return new Set(runs.map(({ crawler_id }) => crawler_id));
}

const aheadSql = `
  select id, schedule_cron_string, timezone, next_fire_at from crawler_schedule
  where enabled and next_fire_at > ? and (?::integer is null or id > ?::integer)
  order by id limit ? for update`;

const setNextSql = `
  update crawler_schedule
  set next_fire_at = next.next_fire_at, last_run_id = coalesce(next.started_id, crawler_schedule.last_run_id)
  from json_to_recordset(?::json) as next (id integer, next_fire_at timestamptz, started_id integer)
  where crawler_schedule.id = next.id`;

async function claim(em: EntityManager, now: Date, limit: number, without: readonly string[]): Promise<Due[]> {
  const rows = await em.execute<DueRow[]>(claimSql, [now, without.join(' '), limit]);
  if (rows.length === 0) return [];
  const ids = [...new Set(rows.map(({ crawler_id }) => crawler_id))];
  const crawlers = await em.find(Crawler, { id: { $in: ids } }, { disableIdentityMap: true });
  const busy = await busyOf(em, ids);
  return rows.flatMap(({ crawler_id, ...row }) => {
    const crawler = crawlers.find((one) => one.id === crawler_id);
    return crawler ? { ...scheduleOf(row), crawler, busy } : [];
  });
}

/** Schedules of crawlers: a fire queues a run, unless one is at work or waits. */
export const crawlerScheduleSource: ScheduleSource<Due> = {
  name: 'crawler',
  claim,
  async anyDue(em, now, without) {
    return (await em.execute<unknown[]>(`select 1 ${dueSql} limit 1`, [now, without.join(' ')])).length > 0;
  },
  async ahead(em, now, limit, beyond) {
    return (await em.execute<ScheduleRow[]>(aheadSql, [now, beyond, beyond, limit])).map(scheduleOf);
  },
  async start(em, services, due) {
    // Of several due schedules of one crawler only the first starts a run.
    const first = due.filter(({ schedule: { crawler, busy } }) => !busy.has(crawler.id) && busy.add(crawler.id));
    const requests = first.map(({ schedule: { id, crawler }, fire_at }) => ({
      crawler,
      request: { trigger: 'schedule' as const, schedule_id: Number(id), fire_at },
    }));
    const runs = await queueFirstRuns(em, services, requests);
    const started = new Map(first.map((fire, at) => [fire, runs[at]]));
    return due.map((fire) => {
      const run = started.get(fire);
      return run === undefined ? { outcome: 'skipped_overlap' } : { outcome: 'started', started_id: String(run) };
    });
  },
  async skipped(em, services, { id, crawler, name }, { fire_at, reason, missed }) {
    const schedule = { id: Number(id), name, fire_at: fire_at.toISOString(), reason, missed };
    services.log.info({ crawler: crawler.id, schedule }, 'a fire of a schedule started no run');
    await notify(em, services, crawler, 'crawler.run.skipped', { schedule });
  },
  async setNext(em, next) {
    await em.execute(setNextSql, [JSON.stringify(next)]);
  },
};
