import { z } from 'zod';
import { jsonValue, timestamp } from '../../../kernel/shapes.ts';
import { actorName } from '../../identity/actor-names.ts';
import { executionStatus, workflowId } from '../workflow.schema.ts';
import { triggerTypes } from './execution.entity.ts';
import { stepStatuses } from './step-run.entity.ts';

/** What an execution is named by in paths. */
export const executionId = {
  workflow: workflowId.workflow.optional(),
  execution: z.string().max(100).describe('Id of the execution'),
};

/** How an execution is tried again. */
export const retryFrom = {
  from: z
    .enum(['failed_step', 'start'])
    .meta({ id: 'RetryFrom' })
    .optional()
    .describe('Default `failed_step`: completed steps do not run again'),
  version: z
    .enum(['same', 'latest'])
    .meta({ id: 'RetryVersion' })
    .optional()
    .describe('Default `same`; `latest` is the published one, from the start'),
};

const anything = jsonValue;

export const executionTriggerType = z.enum(triggerTypes).meta({ id: 'ExecutionTriggerType' });

const executionError = z
  .object({ code: z.string(), message: z.string(), path: z.string().nullable() })
  .meta({ id: 'ExecutionError' });

/** What lists say of an execution. */
export const executionSummary = z
  .object({
    id: z.string(),
    workflow_id: z.string(),
    version: z.int32(),
    status: executionStatus,
    outcome: z.string().nullable().describe('`skipped` when the condition of the definition did not hold'),
    trigger: z.object({ id: z.string().nullable(), type: executionTriggerType }).meta({ id: 'ExecutionTrigger' }),
    started_by: z.string().nullable().describe('Who ran it by hand'),
    started_by_name: actorName,
    delivery_id: z.string().nullable(),
    replay_of: z.string().nullable().describe('The failed execution whose delivery came again'),
    retry_of: z.string().nullable(),
    error: executionError.nullable(),
    acknowledged_at: timestamp.nullable().describe('When somebody took note of its failure, or tried it again'),
    cancel_reason: z.string().nullable(),
    cancelled_by: z.string().nullable().describe('Who cancelled it'),
    waiting_until: timestamp.nullable().describe('When it continues by itself'),
    attempt: z.int32().describe('How often it was taken up'),
    created_at: timestamp,
    started_at: timestamp.nullable(),
    finished_at: timestamp.nullable(),
    duration_ms: z.int().nullable(),
  })
  .meta({ id: 'ExecutionSummary' });

/** One step at one place of an execution. */
export const stepRun = z
  .object({
    path: z.string(),
    id: z.string().describe('Of the step in the definition'),
    type: z.string(),
    status: z.enum(stepStatuses).meta({ id: 'StepStatus' }),
    tries: z.int32(),
    input: anything,
    output: anything,
    error: z.object({ code: z.string(), message: z.string() }).loose().meta({ id: 'StepRunError' }).nullable(),
    waits_for: z
      .object({ kind: z.enum(['run', 'deployment', 'input']).meta({ id: 'StepWaitKind' }), id: z.int32().optional() })
      .meta({ id: 'StepWait' })
      .nullable(),
    started_at: timestamp.nullable(),
    finished_at: timestamp.nullable(),
    next_try_at: timestamp.nullable(),
  })
  .meta({ id: 'WorkflowStepRun' });

/** One execution with what it was given, what came of it, and its steps in the order they began. */
export const execution = executionSummary
  .extend({
    input: anything,
    output: anything,
    steps: z.array(stepRun).describe('The first 1,000; all of them are listed by pages'),
    step_count: z.int32().describe('Step runs in all'),
  })
  .meta({ id: 'Execution' });

/** One entry of the log of an execution. */
export const executionEvent = z
  .object({
    seq: z.int().describe('Counts the events of the execution from 1'),
    type: z
      .string()
      .describe('`execution.*` and `step.*` with a new status, `step.progress` of loops, `step.retrying`, `log`'),
    at: timestamp,
    path: z.string().nullable().describe('Path of the step run the event is about'),
    actor: z.string().describe('Who did it: a user or token, a trigger, or the workflow itself as `workflow:<id>`'),
    status: z.string().nullable().describe('What the step run at `path`, or else the execution, came to'),
    duration_ms: z.int().nullable().describe('How long that took, once it has ended'),
    data: z.record(z.string(), anything).describe('Further values, depending on the type'),
  })
  .meta({ id: 'ExecutionEvent' });
