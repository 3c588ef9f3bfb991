import { z } from 'zod';
import { projectOperation } from '../../operation.ts';
import { findPage, maxPerPage, pageOf, wholePageInput, wholeWindowOf } from '../../paging.ts';
import { parseCron } from '../../schedules/cron/cron-expression.ts';
import { describeCron } from '../../schedules/cron/describe-cron.ts';
import { firesOf } from '../../schedules/cron/next-fires.ts';
import { ScheduleFire } from '../../schedules/schedule-fire.entity.ts';
import { Crawler } from '../config/crawler.entity.ts';
import { crawlerName } from '../config/crawler.schema.ts';
import { findCrawler } from '../config/find-crawler.ts';
import { CrawlerSchedule } from './crawler-schedule.entity.ts';
import { findSchedule, scheduleRecord, scheduleRecords } from './schedule-record.ts';
import {
  crawlerFire,
  crawlerSchedule,
  firesWanted,
  scheduleName,
  schedulePreview,
  scheduleQuestion,
} from './schedules.schema.ts';

export const listSchedules = projectOperation({
  name: 'crawlers.listSchedules',
  kind: 'query',
  permission: 'browse_crawlers',
  summary: 'List the schedules of a crawler',
  input: z.object({ ...crawlerName, ...wholePageInput }),
  output: pageOf(crawlerSchedule),
  async execute(context, { crawler: name, ...paging }) {
    const { em, services } = context;
    const crawler = await findCrawler(context, name);
    const where = { crawler_id: crawler.id };
    const { rows, asPage } = await findPage(em, wholeWindowOf(paging), CrawlerSchedule, where, {
      orderBy: { id: 'asc' },
    });
    return asPage(await scheduleRecords(em, rows, [crawler], await services.sharedClock.now(em)));
  },
});

export const listSchedulesOf = projectOperation({
  name: 'crawlers.listSchedulesOf',
  kind: 'query',
  permission: 'browse_crawlers',
  summary: 'List the schedules of many crawlers, a list for each',
  input: z.object({ crawlers: z.array(z.int32()).max(maxPerPage) }),
  output: z.array(z.array(crawlerSchedule)),
  async execute({ em, services, project }, { crawlers: ids }) {
    const crawlers = await em.find(Crawler, { id: { $in: ids }, project_id: project.id, deleted_at: null });
    const where = { crawler_id: { $in: crawlers.map(({ id }) => id) } };
    const rows = await em.find(CrawlerSchedule, where, { orderBy: { id: 'asc' } });
    const records = await scheduleRecords(em, rows, crawlers, await services.sharedClock.now(em));
    return ids.map((id) => records.filter(({ crawler_config_id }) => crawler_config_id === id));
  },
});

export const getSchedule = projectOperation({
  name: 'crawlers.getSchedule',
  kind: 'query',
  permission: 'browse_crawlers',
  summary: 'Get one schedule',
  input: z.object(scheduleName),
  output: crawlerSchedule,
  async execute(context, { crawler: name, crawler_schedule }) {
    const { em, services } = context;
    const crawler = await findCrawler(context, name);
    const row = await findSchedule(context, crawler, crawler_schedule);
    return scheduleRecord(em, row, crawler, await services.sharedClock.now(em));
  },
});

export const previewSchedule = projectOperation({
  name: 'crawlers.previewSchedule',
  kind: 'query',
  permission: 'browse_crawlers',
  summary: 'Show when a schedule would run',
  input: scheduleQuestion,
  output: schedulePreview,
  async execute(context, { crawler: name, cron, timezone = 'UTC', count }) {
    const { em, services } = context;
    await findCrawler(context, name);
    const expression = parseCron(cron);
    return {
      description: describeCron(expression),
      next_runs: firesOf(expression, timezone).several(await services.sharedClock.now(em), count),
    };
  },
});

export const listFires = projectOperation({
  name: 'crawlers.listFires',
  kind: 'query',
  permission: 'browse_crawlers',
  summary: 'List the times a schedule was due, each with its result, the newest first',
  input: firesWanted,
  output: pageOf(crawlerFire),
  async execute(context, { crawler: name, crawler_schedule, ...paging }) {
    const row = await findSchedule(context, await findCrawler(context, name), crawler_schedule);
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
