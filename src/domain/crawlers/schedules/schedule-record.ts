import type { z } from 'zod';
import { DomainError } from '../../errors.ts';
import type { ProjectContext } from '../../operation.ts';
import { parseCron } from '../../schedules/cron/cron-expression.ts';
import { describeCron } from '../../schedules/cron/describe-cron.ts';
import { firesOf } from '../../schedules/cron/next-fires.ts';
import type { Crawler } from '../config/crawler.entity.ts';
import { CrawlerSchedule } from './crawler-schedule.entity.ts';
import type { crawlerSchedule } from './schedules.schema.ts';

type Context = Pick<ProjectContext, 'em'>;

const nextShown = 5;
const idForm = /^[1-9]\d{0,9}$/;
const maxId = 2 ** 31 - 1;

/** A schedule as callers see it. */
export function scheduleRecord(row: CrawlerSchedule, crawler: Crawler, now: Date): z.output<typeof crawlerSchedule> {
  const { id, name, schedule_cron_string, timezone, enabled, created_at, updated_at } = row;
  const expression = parseCron(schedule_cron_string);
  return {
    id,
    name,
    crawler_config_id: crawler.id,
    crawler_uuid: crawler.uuid,
    project_id: crawler.project_id,
    crawler_last_run_id: row.last_run_id ?? 0,
    schedule_cron_string,
    timezone,
    enabled,
    description: describeCron(expression),
    next_runs: enabled ? firesOf(expression, timezone).several(now, nextShown) : [],
    created_at,
    updated_at,
  };
}

/** @throws DomainError `not_found` for one that is unknown or of another crawler, and for a text that names none */
export async function findSchedule({ em }: Context, crawler: Crawler, id: string): Promise<CrawlerSchedule> {
  const isId = idForm.test(id) && Number(id) <= maxId;
  const row =
    isId && (await em.findOne(CrawlerSchedule, { id: Number(id), crawler_id: crawler.id }, { refresh: true }));
  if (!row) throw new DomainError('not_found', 'Schedule not found');
  return row;
}
