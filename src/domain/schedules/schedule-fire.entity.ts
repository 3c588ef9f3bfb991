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
    source: p.string().$type<ScheduleSourceName>(),
    source_id: p.string(),
    fire_at: p.datetime(),
    outcome: p.string().$type<FireOutcome>(),
    /** What it started. */
    started_id: p.string().nullable(),
    /** Earlier times that passed while no process fired them. */
    missed: p.integer(),
    created_at: p.datetime(),
  },
});
export type ScheduleFire = InferEntity<typeof ScheduleFire>;
