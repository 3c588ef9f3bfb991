import type { EntityManager } from '@mikro-orm/postgresql';
import { z } from 'zod';
import { DomainError } from '../../../kernel/errors.ts';
import { findPage, maxPerPage, pageOf, wholePageInput, wholeWindowOf } from '../../../kernel/paging.ts';
import { idsThere } from '../../../kernel/sql.ts';
import { Pace } from '../../../lib/concurrency.ts';
import type { ProjectContext } from '../../projects/operation.ts';
import { describeCron, parseCron } from '../../schedules/cron-expression.ts';
import { nextFireOf, nextFires } from '../../schedules/next-fires.ts';
import { ScheduleFire } from '../../schedules/schedule-fire.entity.ts';
import { Crawler } from '../config/crawler.entity.ts';
import { crawlerName } from '../config/crawler.schema.ts';
import { contents, findCrawler, type LocatedCrawler, locateCrawler, namedCrawler } from '../config/find-crawler.ts';
import { crawlerOperation } from '../crawlers.ts';
import { CrawlerRun } from '../runs/crawler-run.entity.ts';
import { CrawlerSchedule } from './crawler-schedule.entity.ts';
import {
  crawlerFire,
  crawlerSchedule,
  firesWanted,
  mostSchedules,
  scheduleChange,
  scheduleDraft,
  scheduleName,
  schedulePreview,
  scheduleQuestion,
} from './schedules.schema.ts';

type ScheduleRecord = z.output<typeof crawlerSchedule>;
type Context = Pick<ProjectContext, 'em'>;

const nextShown = 5;
const idForm = /^[1-9]\d{0,9}$/;
const maxId = 2 ** 31 - 1;

async function recordOf(
  row: CrawlerSchedule,
  crawler: LocatedCrawler,
  now: Date,
  runs: ReadonlySet<number>,
): Promise<ScheduleRecord> {
  const { id, name, schedule_cron_string, timezone, enabled, created_at, updated_at } = row;
  return {
    id,
    name,
    crawler_config_id: crawler.id,
    crawler_uuid: crawler.uuid,
    project_id: crawler.project_id,
    crawler_last_run_id: row.last_run_id != null && runs.has(row.last_run_id) ? row.last_run_id : 0,
    schedule_cron_string,
    timezone,
    enabled,
    description: describeCron(parseCron(schedule_cron_string)),
    next_runs: enabled ? [...(await nextFires(row, now, nextShown))] : [],
    created_at,
    updated_at,
  };
}

/** Schedules as callers see them, in the order given. @param crawlers those they are of */
async function scheduleRecords(
  em: EntityManager,
  rows: readonly CrawlerSchedule[],
  crawlers: readonly LocatedCrawler[],
  now: Date,
): Promise<ScheduleRecord[]> {
  const runs = await idsThere(
    em,
    CrawlerRun,
    rows.map(({ last_run_id }) => last_run_id),
  );
  const records: ScheduleRecord[] = [];
  const pace = new Pace();
  for (const row of rows) {
    if (pace.isDue) await pace.yield();
    const crawler = crawlers.find(({ id }) => id === row.crawler_id);
    if (crawler) records.push(await recordOf(row, crawler, now, runs));
  }
  return records;
}

/** A schedule as callers see it. */
async function scheduleRecord(
  em: EntityManager,
  row: CrawlerSchedule,
  crawler: LocatedCrawler,
  now: Date,
): Promise<ScheduleRecord> {
  const [record] = await scheduleRecords(em, [row], [crawler], now);
  return record as ScheduleRecord;
}

/** @throws DomainError `not_found` for one that is unknown or of another crawler, and for a text that names none */
async function findSchedule({ em }: Context, crawler: Pick<Crawler, 'id'>, id: string): Promise<CrawlerSchedule> {
  const isId = idForm.test(id) && Number(id) <= maxId;
  const row =
    isId && (await em.findOne(CrawlerSchedule, { id: Number(id), crawler_id: crawler.id }, { refresh: true }));
  if (!row) throw new DomainError('not_found', 'Schedule not found');
  return row;
}

/** Looks up the crawler an input that was refused names, and its schedule. @throws DomainError `not_found` */
async function namedSchedule(context: ProjectContext, given: Record<string, unknown>): Promise<void> {
  const crawler = await namedCrawler(context, given);
  const { crawler_schedule: id } = given;
  if (crawler && typeof id === 'string') await findSchedule(context, crawler, id);
}

export const listSchedules = crawlerOperation({
  name: 'crawlers.listSchedules',
  kind: 'query',
  permission: 'browse_crawlers',
  summary: 'List the schedules of a crawler',
  input: z.object({ ...crawlerName, ...wholePageInput }),
  output: pageOf(crawlerSchedule),
  find: namedCrawler,
  async execute(context, { crawler: name, ...paging }) {
    const { em, services } = context;
    const crawler = await locateCrawler(context, name);
    const where = { crawler_id: crawler.id };
    const { rows, asPage } = await findPage(em, wholeWindowOf(paging), CrawlerSchedule, where, {
      orderBy: { id: 'asc' },
    });
    return asPage(await scheduleRecords(em, rows, [crawler], await services.sharedClock.now(em)));
  },
});

export const listSchedulesOf = crawlerOperation({
  name: 'crawlers.listSchedulesOf',
  kind: 'query',
  permission: 'browse_crawlers',
  notInSteps: true,
  summary: 'List the schedules of many crawlers, a list for each',
  input: z.object({ crawlers: z.array(z.int32()).max(maxPerPage) }),
  output: z.array(z.array(crawlerSchedule)),
  async execute({ em, services, project }, { crawlers: ids }) {
    const among = { id: { $in: ids }, project_id: project.id, deleted_at: null };
    const crawlers = await em.find(Crawler, among, { exclude: contents });
    const where = { crawler_id: { $in: crawlers.map(({ id }) => id) } };
    const rows = await em.find(CrawlerSchedule, where, { orderBy: { id: 'asc' } });
    const records = await scheduleRecords(em, rows, crawlers, await services.sharedClock.now(em));
    return ids.map((id) => records.filter(({ crawler_config_id }) => crawler_config_id === id));
  },
});

export const getSchedule = crawlerOperation({
  name: 'crawlers.getSchedule',
  kind: 'query',
  permission: 'browse_crawlers',
  summary: 'Get one schedule',
  input: z.object(scheduleName),
  output: crawlerSchedule,
  find: namedSchedule,
  async execute(context, { crawler: name, crawler_schedule }) {
    const { em, services } = context;
    const crawler = await locateCrawler(context, name);
    const row = await findSchedule(context, crawler, crawler_schedule);
    return scheduleRecord(em, row, crawler, await services.sharedClock.now(em));
  },
});

export const previewSchedule = crawlerOperation({
  name: 'crawlers.previewSchedule',
  kind: 'query',
  permission: 'browse_crawlers',
  summary: 'Show when a schedule would run',
  input: scheduleQuestion,
  output: schedulePreview,
  find: namedCrawler,
  async execute(context, { crawler: name, cron, timezone = 'UTC', count }) {
    const { em, services } = context;
    await locateCrawler(context, name);
    const now = await services.sharedClock.now(em);
    return {
      description: describeCron(parseCron(cron)),
      next_runs: [...(await nextFires({ schedule_cron_string: cron, timezone }, now, count))],
    };
  },
});

export const listFires = crawlerOperation({
  name: 'crawlers.listFires',
  kind: 'query',
  permission: 'browse_crawlers',
  summary: 'List the times a schedule was due, each with its result, the newest first',
  input: firesWanted,
  output: pageOf(crawlerFire),
  find: namedSchedule,
  async execute(context, { crawler: name, crawler_schedule, ...paging }) {
    const row = await findSchedule(context, await locateCrawler(context, name), crawler_schedule);
    const { rows: fires, asPage } = await findPage(
      context.em,
      paging,
      ScheduleFire,
      { source: 'crawler', source_id: String(row.id) },
      { orderBy: { id: 'desc' } },
    );
    const items = fires.map(({ fire_at, outcome, started_id, missed, created_at }) => ({
      fire_at,
      outcome,
      run_id: started_id == null ? null : Number(started_id),
      missed,
      created_at,
    }));
    return asPage(items);
  },
});

const usualName = ({ name }: Pick<Crawler, 'name'>) => `Schedule ${name}`;

const subject = (id: number | string | null) => ({ type: 'crawler_schedule', id: id === null ? null : String(id) });

export const createSchedule = crawlerOperation({
  name: 'crawlers.createSchedule',
  kind: 'command',
  permission: 'edit_crawlers',
  summary: 'Create a schedule of a crawler',
  input: scheduleDraft,
  output: crawlerSchedule,
  audit: (_input, output) => subject(output?.id ?? null),
  find: namedCrawler,
  async execute(context, { crawler: name, schedule_cron_string, ...draft }) {
    const { em, services } = context;
    const crawler = await findCrawler(context, name, { lock: true });
    if ((await em.count(CrawlerSchedule, { crawler_id: crawler.id })) >= mostSchedules)
      throw new DomainError('limit_reached', `A crawler has at most ${mostSchedules} schedules; delete one first`);
    const now = await services.sharedClock.now(em);
    const timing = { schedule_cron_string, timezone: draft.timezone ?? 'UTC' };
    const enabled = draft.enabled ?? true;
    const row = em.create(CrawlerSchedule, {
      ...timing,
      crawler_id: crawler.id,
      name: draft.name ?? usualName(crawler),
      enabled,
      next_fire_at: nextFireOf({ enabled, ...timing }, now),
      created_at: services.clock.now(),
      updated_at: services.clock.now(),
    });
    await em.persist(row).flush();
    return scheduleRecord(em, row, crawler, now);
  },
});

export const updateSchedule = crawlerOperation({
  name: 'crawlers.updateSchedule',
  kind: 'command',
  permission: 'edit_crawlers',
  summary: 'Edit a schedule',
  input: scheduleChange,
  output: crawlerSchedule,
  audit: ({ crawler_schedule }) => subject(crawler_schedule),
  find: namedSchedule,
  async execute(context, { crawler: name, crawler_schedule, schedule_cron_string, ...change }) {
    const { em, services } = context;
    const crawler = await findCrawler(context, name);
    const { id } = await findSchedule(context, crawler, crawler_schedule);
    // Waits for a fire in progress, so that neither write undoes the other.
    await em.execute('select id from crawler_schedule where id = ? for update', [id]);
    const row = await findSchedule(context, crawler, crawler_schedule);
    const before = { ...row };
    const now = await services.sharedClock.now(em);
    em.assign(row, {
      schedule_cron_string,
      // The interface says so: here, absent does not mean unchanged.
      name: change.name ?? usualName(crawler),
      ...(change.timezone !== undefined && { timezone: change.timezone ?? 'UTC' }),
      ...(change.enabled !== undefined && { enabled: change.enabled ?? true }),
      updated_at: services.clock.now(),
    });
    const timingKeys = ['schedule_cron_string', 'timezone', 'enabled'] as const;
    if (timingKeys.some((key) => row[key] !== before[key])) row.next_fire_at = nextFireOf(row, now);
    await em.flush();
    return scheduleRecord(em, row, crawler, now);
  },
});

export const deleteSchedule = crawlerOperation({
  name: 'crawlers.deleteSchedule',
  kind: 'command',
  permission: 'delete_crawlers',
  irreversible: true,
  summary: 'Delete a schedule; the runs it has started stay',
  input: z.object(scheduleName),
  output: crawlerSchedule,
  audit: ({ crawler_schedule }) => subject(crawler_schedule),
  find: namedSchedule,
  async execute(context, { crawler: name, crawler_schedule }) {
    const { em, services } = context;
    const crawler = await findCrawler(context, name);
    const row = await findSchedule(context, crawler, crawler_schedule);
    const deleted = await scheduleRecord(em, row, crawler, await services.sharedClock.now(em));
    await em.nativeDelete(CrawlerSchedule, { id: row.id });
    await em.nativeDelete(ScheduleFire, { source: 'crawler', source_id: String(row.id) });
    return deleted;
  },
});
