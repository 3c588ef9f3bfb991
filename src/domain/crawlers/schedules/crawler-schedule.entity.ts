import { defineEntity, type InferEntity, p } from '@mikro-orm/core';

/** When a crawler runs by itself. */
export const CrawlerSchedule = defineEntity({
  name: 'CrawlerSchedule',
  tableName: 'crawler_schedule',
  properties: {
    id: p.integer().primary().autoincrement(),
    crawler_id: p.integer(),
    name: p.text(),
    schedule_cron_string: p.text(),
    timezone: p.text(),
    enabled: p.boolean(),
    /** Null when it is off. */
    next_fire_at: p.datetime(3).nullable(),
    /** The newest run it has started. */
    last_run_id: p.integer().nullable(),
    created_at: p.datetime(3),
    updated_at: p.datetime(3),
  },
});
export type CrawlerSchedule = InferEntity<typeof CrawlerSchedule>;
