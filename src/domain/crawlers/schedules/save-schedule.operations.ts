import { z } from 'zod';
import { DomainError } from '../../errors.ts';
import { projectOperation } from '../../operation.ts';
import { nextFireOf } from '../../schedules/next-fire.ts';
import { ScheduleFire } from '../../schedules/schedule-fire.entity.ts';
import type { Crawler } from '../config/crawler.entity.ts';
import { findCrawler } from '../config/find-crawler.ts';
import { CrawlerSchedule } from './crawler-schedule.entity.ts';
import { findSchedule, scheduleRecord } from './schedule-record.ts';
import { crawlerSchedule, mostSchedules, scheduleChange, scheduleDraft, scheduleName } from './schedules.schema.ts';

const usualName = ({ name }: Pick<Crawler, 'name'>) => `Schedule ${name}`;

const subject = (id: number | string | null) => ({ type: 'crawler_schedule', id: id === null ? null : String(id) });

export const createSchedule = projectOperation({
  name: 'crawlers.createSchedule',
  kind: 'command',
  permission: 'edit_crawlers',
  summary: 'Create a schedule of a crawler',
  input: scheduleDraft,
  output: crawlerSchedule,
  audit: (_input, output) => subject(output?.id ?? null),
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

export const updateSchedule = projectOperation({
  name: 'crawlers.updateSchedule',
  kind: 'command',
  permission: 'edit_crawlers',
  summary: 'Edit a schedule',
  input: scheduleChange,
  output: crawlerSchedule,
  audit: ({ crawler_schedule }) => subject(crawler_schedule),
  async execute(context, { crawler: name, crawler_schedule, schedule_cron_string, ...change }) {
    const { em, services } = context;
    const crawler = await findCrawler(context, name);
    const { id } = await findSchedule(context, crawler, crawler_schedule);
    // Whoever fires it at this moment is waited for, so that neither takes back what the other has written.
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

export const deleteSchedule = projectOperation({
  name: 'crawlers.deleteSchedule',
  kind: 'command',
  permission: 'delete_crawlers',
  destructive: true,
  summary: 'Delete a schedule; the runs it has started stay',
  input: z.object(scheduleName),
  output: z.null(),
  audit: ({ crawler_schedule }) => subject(crawler_schedule),
  async execute(context, { crawler: name, crawler_schedule }) {
    const { em } = context;
    const row = await findSchedule(context, await findCrawler(context, name), crawler_schedule);
    await em.nativeDelete(CrawlerSchedule, { id: row.id });
    await em.nativeDelete(ScheduleFire, { source: 'crawler', source_id: String(row.id) });
    return null;
  },
});
