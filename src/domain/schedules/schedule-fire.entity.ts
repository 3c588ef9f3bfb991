import { defineEntity, type InferEntity, p } from '@mikro-orm/core';

/** What has schedules. */
export const scheduleSources = ['crawler', 'workflow'] as const;
export type ScheduleSourceName = (typeof scheduleSources)[number];

export const fireOutcomes = ['started', 'skipped_overlap', 'missed'] as const;
export type FireOutcome = (typeof fireOutcomes)[number];

/** One time a schedule was due, and what came of it; there is one at most for each of its times. */
export const ScheduleFire = defineEntity({
  name: 'ScheduleFire',
  tableName: 'schedule_fire',
  properties: {
    id: p.bigint().primary().autoincrement(),
    source: p.text().$type<ScheduleSourceName>(),
    source_id: p.text(),
    fire_at: p.datetime(3),
    outcome: p.text().$type<FireOutcome>(),
    /** What it started. */
    started_id: p.text().nullable(),
    /** Earlier times that passed while no process fired them. */
    missed: p.integer().default(0),
    created_at: p.datetime(3),
  },
  uniques: [{ properties: ['source', 'source_id', 'fire_at'] }],
});
export type ScheduleFire = InferEntity<typeof ScheduleFire>;
