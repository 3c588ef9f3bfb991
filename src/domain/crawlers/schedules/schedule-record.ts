import type { EntityManager } from '@mikro-orm/postgresql';
import type { z } from 'zod';
import { DomainError } from '../../../kernel/errors.ts';
import { idsThere } from '../../../kernel/sql.ts';
import type { ProjectContext } from '../../projects/operation.ts';
import { parseCron } from '../../schedules/cron-expression.ts';
import { describeCron } from '../../schedules/describe-cron.ts';
import { firesOf } from '../../schedules/next-fires.ts';
import type { Crawler } from '../config/crawler.entity.ts';
import { namedCrawler } from '../config/find-crawler.ts';
import { CrawlerRun } from '../runs/crawler-run.entity.ts';
import { CrawlerSchedule } from './crawler-schedule.entity.ts';
import type { crawlerSchedule } from './schedules.schema.ts';

type ScheduleRecord = z.output<typeof crawlerSchedule>;
type Context = Pick<ProjectContext, 'em'>;

const nextShown = 5;
const idForm = /^[1-9]\d{0,9}$/;
const maxId = 2 ** 31 - 1;

function recordOf(row: CrawlerSchedule, crawler: Crawler, now: Date, runs: ReadonlySet<number>): ScheduleRecord {
  const { id, name, schedule_cron_string, timezone, enabled, created_at, updated_at } = row;
  const expression = parseCron(schedule_cron_string);
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
    description: describeCron(expression),
    next_runs: enabled ? firesOf(expression, timezone).several(now, nextShown) : [],
    created_at,
    updated_at,
  };
}

/** Schedules as callers see them, in the order given. @param crawlers those they are of */
export async function scheduleRecords(
  em: EntityManager,
  rows: readonly CrawlerSchedule[],
  crawlers: readonly Crawler[],
  now: Date,
): Promise<ScheduleRecord[]> {
  const runs = await idsThere(
    em,
    CrawlerRun,
    rows.map(({ last_run_id }) => last_run_id),
  );
  return rows.flatMap((row) => {
    const crawler = crawlers.find(({ id }) => id === row.crawler_id);
    return crawler ? recordOf(row, crawler, now, runs) : [];
  });
}

/** A schedule as callers see it. */
export async function scheduleRecord(
  em: EntityManager,
  row: CrawlerSchedule,
  crawler: Crawler,
  now: Date,
): Promise<ScheduleRecord> {
  const [record] = await scheduleRecords(em, [row], [crawler], now);
  return record as ScheduleRecord;
}

/** @throws DomainError `not_found` for one that is unknown or of another crawler, and for a text that names none */
export async function findSchedule({ em }: Context, crawler: Crawler, id: string): Promise<CrawlerSchedule> {
  const isId = idForm.test(id) && Number(id) <= maxId;
  const row =
    isId && (await em.findOne(CrawlerSchedule, { id: Number(id), crawler_id: crawler.id }, { refresh: true }));
  if (!row) throw new DomainError('not_found', 'Schedule not found');
  return row;
}

/** Looks up the crawler an input that was refused names, and its schedule. @throws DomainError `not_found` */
export async function namedSchedule(context: ProjectContext, given: Record<string, unknown>): Promise<void> {
  const crawler = await namedCrawler(context, given);
  const { crawler_schedule: id } = given;
  if (crawler && typeof id === 'string') await findSchedule(context, crawler, id);
}
