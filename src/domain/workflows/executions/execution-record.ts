import type { EntityManager } from '@mikro-orm/postgresql';
import type { z } from 'zod';
import { maxWhole, type Window } from '../../../kernel/paging.ts';
import type { Services } from '../../../kernel/services.ts';
import { deliveriesOf, inputOf } from '../deliveries/input-of.ts';
import { readStepRows, readValue } from '../engine/checkpoints.ts';
import type { WorkflowContext } from '../workflows.ts';
import type { Execution } from './execution.entity.ts';
import type { execution, executionSummary, stepRun } from './executions.schema.ts';

type Json = z.output<typeof execution>['output'];

/** An execution as lists show it. */
export function executionShown(row: Execution): z.output<typeof executionSummary> {
  const started = row.started_at ?? null;
  const finished = row.finished_at ?? null;
  return {
    id: row.id,
    workflow_id: row.workflow_id,
    version: row.version,
    status: row.status,
    outcome: row.outcome ?? null,
    trigger: { id: row.trigger_id ?? null, type: row.trigger_type },
    started_by: row.started_by ?? null,
    delivery_id: row.delivery_id ?? null,
    replay_of: row.replay_of ?? null,
    retry_of: row.retry_of ?? null,
    error: row.error ?? null,
    acknowledged_at: row.acknowledged_at ?? null,
    cancel_reason: row.cancel_reason ?? null,
    cancelled_by: row.cancelled_by ?? null,
    waiting_until: row.waiting_until ?? null,
    attempt: row.attempt,
    created_at: row.created_at,
    started_at: started,
    finished_at: finished,
    duration_ms: started && finished ? finished.getTime() - started.getTime() : null,
  };
}

const timeOf = (at: number | null) => (at === null ? null : new Date(at));

/** How many step runs an execution has. */
export async function countSteps(em: EntityManager, id: string): Promise<number> {
  const sql = 'select count(*)::integer as count from step_run where execution_id = ?';
  const [row] = await em.execute<{ count: number }[]>(sql, [id]);
  return row?.count ?? 0;
}

/** Step runs of an execution, in the order they began. */
export async function stepsOf(
  em: EntityManager,
  services: Pick<Services, 'blobs'>,
  id: string,
  window: Pick<Window, 'offset' | 'limit'>,
): Promise<z.output<typeof stepRun>[]> {
  const runs = (await readStepRows(em, services, [id], window)).get(id) ?? [];
  return runs.map((run) => ({
    path: run.path,
    id: run.step_id,
    type: run.type,
    status: run.status,
    tries: run.tries,
    input: run.input as Json,
    output: run.output as Json,
    error: run.error as z.output<typeof stepRun>['error'],
    waits_for: run.waits_for,
    started_at: timeOf(run.started_at),
    finished_at: timeOf(run.finished_at),
    next_try_at: timeOf(run.next_try_at),
  }));
}

/** One execution with all there is to it. */
export async function executionRecord(
  { em, services, workflows }: Pick<WorkflowContext, 'em' | 'services' | 'workflows'>,
  row: Execution,
): Promise<z.output<typeof execution>> {
  return {
    ...executionShown(row),
    input: (await inputOf({ blobs: services.blobs, workflows }, row, await deliveriesOf(em, [row]))) as Json,
    output: (await readValue(services.blobs, row.output, row.output_sha256 ?? null)) as Json,
    steps: await stepsOf(em, services, row.id, { offset: 0, limit: maxWhole }),
    step_count: await countSteps(em, row.id),
  };
}
