import { defineEntity, type InferEntity, p } from '@mikro-orm/core';

export const stepStatuses = ['pending', 'running', 'waiting', 'completed', 'failed', 'skipped', 'cancelled'] as const;
export type StepStatus = (typeof stepStatuses)[number];

/** Why a step failed. */
export interface StepRunError {
  code: string;
  message: string;
  /** Of the step within it whose failure it is. */
  path?: string;
  [detail: string]: unknown;
}

/** What a waiting step waits for; null: time alone. */
export interface StepWait {
  kind: 'run' | 'deployment' | 'input';
  /** Of the crawl run or deployment. */
  id?: number;
}

/** A step of one execution at one place: `fetch`, `each[3].save`, `both.left.notify`. */
export const StepRun = defineEntity({
  name: 'StepRun',
  tableName: 'step_run',
  properties: {
    execution_id: p.uuid().primary(),
    path: p.text().primary(),
    /** In the order they began, from 1. */
    position: p.integer(),
    step_id: p.text(),
    /** One of those in `steps/`. */
    type: p.text(),
    status: p.text().$type<StepStatus>(),
    tries: p.integer().default(0),
    input: p.json<unknown>().nullable(),
    output: p.json<unknown>().nullable(),
    /** The blob that holds an output too large for the row. */
    output_sha256: p.text().nullable(),
    error: p.json<StepRunError>().nullable(),
    waits_for: p.json<StepWait>().nullable(),
    /** The execution whose id makes its idempotency key, from its first try until its outcome is known. */
    tried_in: p.uuid().nullable(),
    started_at: p.datetime(3).nullable(),
    finished_at: p.datetime(3).nullable(),
    /** When a step that waits goes on. */
    next_try_at: p.datetime(3).nullable(),
  },
});
export type StepRun = InferEntity<typeof StepRun>;
