import { z } from 'zod';
import { pageInput } from '../../../kernel/paging.ts';
import { changeOf, timestamp } from '../../../kernel/shapes.ts';
import { fireOutcomes } from '../../schedules/schedule-fire.entity.ts';
import { cronString, timeZone } from '../../schedules/schedules.schema.ts';
import { crawlerName, plainText } from '../config/crawler.schema.ts';

export const mostSchedules = 20;

const nameFault = 'must be 1 to 255 characters';
const enabledFault = 'must be a boolean';

/** Null: the default. */
const settable = {
  schedule_cron_string: cronString,
  name: plainText(nameFault).trim().min(1, nameFault).max(255, nameFault).nullish(),
  timezone: timeZone.nullish(),
  enabled: z.boolean(enabledFault).nullish().describe('Default true'),
};

export const scheduleId = z.int32().describe('Schedule ID');

/** By text, as the documented interface has it. */
export const scheduleName = { ...crawlerName, crawler_schedule: z.string().describe('Schedule ID') };

export const scheduleDraft = z.object({ ...crawlerName, ...settable });

export const scheduleChange = changeOf({
  ...scheduleName,
  ...settable,
  name: settable.name.describe("When omitted, it is set back to 'Schedule ' and the name of the crawler"),
});

export const scheduleQuestion = z.object({
  ...crawlerName,
  cron: cronString,
  timezone: timeZone.optional(),
  count: z
    .int('must be an integer from 1 to 50')
    .min(1, 'must be an integer from 1 to 50')
    .max(50, 'must be an integer from 1 to 50')
    .default(5),
});

export const firesWanted = z.object({ ...pageInput, ...scheduleName });

export const crawlerSchedule = z
  .object({
    id: scheduleId,
    name: z.string(),
    crawler_config_id: z.int32().describe('Crawler config ID'),
    crawler_uuid: z.string(),
    project_id: z.int32(),
    crawler_last_run_id: z
      .int32()
      .describe('The newest run this schedule has started; 0: none, or it is no longer stored'),
    schedule_cron_string: z.string(),
    timezone: z.string(),
    enabled: z.boolean(),
    description: z.string().describe('The expression in words'),
    next_runs: z.array(timestamp).describe('The next five times; none while it is off'),
    created_at: timestamp,
    updated_at: timestamp,
  })
  .meta({ id: 'CrawlerSchedule' });

export const schedulePreview = z
  .object({ description: z.string(), next_runs: z.array(timestamp) })
  .meta({ id: 'CrawlerSchedulePreview' });

export const crawlerFire = z
  .object({
    fire_at: timestamp.describe('The time of the schedule'),
    outcome: z.enum(fireOutcomes).meta({ id: 'ScheduleFireOutcome' }),
    run_id: z.int32().nullable().describe('The run it has started'),
    missed: z.int32().describe('Earlier times that passed without a fire; not counted beyond 1000'),
    created_at: timestamp.describe('When it was dispatched'),
  })
  .meta({ id: 'CrawlerFire' });
