import { defineEntity, type InferEntity, p } from '@mikro-orm/core';

export const executionStatuses = ['pending', 'running', 'paused', 'completed', 'failed', 'cancelled'] as const;
export type ExecutionStatus = (typeof executionStatuses)[number];

export const terminalStatuses = ['completed', 'failed', 'cancelled'] as const;
export type TerminalStatus = (typeof terminalStatuses)[number];

export const triggerTypes = ['webhook', 'cron', 'manual'] as const;
export type TriggerType = (typeof triggerTypes)[number];

/** Why an execution failed. */
export interface ExecutionError {
  code: string;
  message: string;
  /** Of the step that failed; null when none did. */
  path: string | null;
}

/** What the engine remembers of an execution beside its steps. */
export interface ExecutionState {
  /** Milliseconds it was paused altogether. */
  paused?: number;
  /** Since when it is paused now, milliseconds since 1970. */
  paused_at?: number;
  /** It has passed its input's schema and its definition's condition. */
  begun?: boolean;
  /** Events it has had. */
  events?: number;
  /** Why it fails: its steps for that case are under way. */
  failure?: ExecutionError;
}

/** How often in a row the step of an execution starts one whose step starts another: each may start thousands. */
export const mostGenerations = 5;

/** How many executions have started one another down to the one that a webhook's call begins; 0 for calls of others. */
export function generationOfCall(header: string | undefined): number {
  return header !== undefined && /^\d{1,3}$/.test(header) ? Number(header) + 1 : 0;
}

/** One run of a version of a workflow. */
export const Execution = defineEntity({
  name: 'Execution',
  tableName: 'execution',
  properties: {
    id: p.uuid().primary(),
    project_id: p.integer(),
    workflow_id: p.uuid(),
    version: p.integer(),
    status: p.text().$type<ExecutionStatus>(),
    /** `skipped`: the definition's condition did not hold. */
    outcome: p.text().nullable(),
    trigger_id: p.uuid().nullable(),
    trigger_type: p.text().$type<TriggerType>(),
    /** The actor, of runs by hand. */
    started_by: p.text().nullable(),
    /** How many executions have started one another down to this one; 0: no step started it. */
    generation: p.integer().default(0),
    delivery_id: p.uuid().nullable(),
    replay_of: p.uuid().nullable(),
    retry_of: p.uuid().nullable(),
    /** Null with a delivery, from which it is derived. */
    input: p.json<unknown>().nullable(),
    output: p.json<unknown>().nullable(),
    /** The blob that holds an output too large for the row. */
    output_sha256: p.text().nullable(),
    error: p.json<ExecutionError>().nullable(),
    /** Counts its drivers: what an earlier one still writes changes nothing. */
    attempt: p.integer().default(0),
    /** Losses of its driver that count against it, since it last finished a step. */
    crashes: p.integer().default(0),
    /** It was acting in a process that died: it waits for its turn to act, or has it. */
    suspect: p.text().$type<'waiting' | 'acting'>().nullable(),
    /** Suspects that may act at the same time as it, itself among them; null: as many as may at all. */
    suspect_group: p.integer().nullable(),
    /** The process whose driver advances it; null when none does. */
    driver_id: p.uuid().nullable(),
    /** Something has happened that its driver has not seen. */
    wake: p.boolean().default(false),
    cancel_requested: p.boolean().default(false),
    cancel_reason: p.text().nullable(),
    /** The actor that requested it. */
    cancelled_by: p.text().nullable(),
    /** When it continues by itself. */
    waiting_until: p.datetime(3).nullable(),
    slot_key: p.text().nullable(),
    has_slot: p.boolean().default(false),
    state: p.json<ExecutionState>().nullable(),
    /** When a person acknowledged its failure. */
    acknowledged_at: p.datetime(3).nullable(),
    created_at: p.datetime(3),
    started_at: p.datetime(3).nullable(),
    finished_at: p.datetime(3).nullable(),
  },
});
export type Execution = InferEntity<typeof Execution>;
