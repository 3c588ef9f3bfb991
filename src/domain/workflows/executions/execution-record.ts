import type { EntityManager } from '@mikro-orm/postgresql';
import type { z } from 'zod';
import { maxWhole, type Window } from '../../../kernel/paging.ts';
import type { Services } from '../../../kernel/services.ts';
import { dateOf } from '../../../lib/timing.ts';
import { actorNames } from '../../identity/actor-names.ts';
import { deliveriesOf, inputOf } from '../deliveries/input-of.ts';
import { readStepRows, readValue } from '../engine/checkpoints.ts';
import type { StepState } from '../engine/plan.ts';
import type { WorkflowContext } from '../workflows.ts';
import type { Execution } from './execution.entity.ts';
import type { execution, executionSummary, stepRun } from './executions.schema.ts';

type Json = z.output<typeof execution>['output'];

/** Executions as lists show them, in the order given. */
export async function executionsShown(
  context: Pick<WorkflowContext, 'em' | 'organization'>,
  rows: readonly Execution[],
): Promise<z.output<typeof executionSummary>[]> {
  const nameOf = await actorNames(
    context,
    rows.map(({ started_by }) => started_by),
  );
  return rows.map((row) => ({ ...shown(row), started_by_name: nameOf(row.started_by) }));
}

function shown(row: Execution): Omit<z.output<typeof executionSummary>, 'started_by_name'> {
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

/** How many step runs executions have, by their ids; executions without any are absent. */
async function stepCounts(em: EntityManager, ids: readonly string[]): Promise<ReadonlyMap<string, number>> {
  const sql = `select execution_id as id, count(*)::integer as count from step_run
    where execution_id = any(string_to_array(?, ' ')::uuid[]) group by execution_id`;
  const rows = await em.execute<{ id: string; count: number }[]>(sql, [ids.join(' ')]);
  return new Map(rows.map(({ id, count }) => [id, count]));
}

/** How many step runs an execution has. */
export const countSteps = async (em: EntityManager, id: string): Promise<number> =>
  (await stepCounts(em, [id])).get(id) ?? 0;

type StepRun = z.output<typeof stepRun>;

const stepShown = (run: StepState): StepRun => ({
  path: run.path,
  id: run.step_id,
  type: run.type,
  status: run.status,
  tries: run.tries,
  input: run.input as Json,
  output: run.output as Json,
  error: run.error as StepRun['error'],
  waits_for: run.waits_for,
  started_at: dateOf(run.started_at),
  finished_at: dateOf(run.finished_at),
  next_try_at: dateOf(run.next_try_at),
});

/** Step runs of an execution, in the order they began. */
export async function stepsOf(
  em: EntityManager,
  services: Pick<Services, 'blobs'>,
  id: string,
  window: Pick<Window, 'offset' | 'limit'>,
): Promise<StepRun[]> {
  return ((await readStepRows(em, services, [id], window)).get(id) ?? []).map(stepShown);
}

type Context = Pick<WorkflowContext, 'em' | 'services' | 'workflows' | 'organization'>;

/** Executions with all there is to them, in the order given. */
export async function executionRecords(
  context: Context,
  rows: readonly Execution[],
): Promise<z.output<typeof execution>[]> {
  const { em, services, workflows } = context;
  const ids = rows.map(({ id }) => id);
  const [deliveries, counts] = [await deliveriesOf(em, rows), await stepCounts(em, ids)];
  // Together where they are few; otherwise the first of each.
  const isFew = [...counts.values()].reduce((sum, count) => sum + count, 0) <= maxWhole;
  const few = isFew ? await readStepRows(em, services, [...counts.keys()]) : null;
  const whole = { offset: 0, limit: maxWhole };
  const summaries = await executionsShown(context, rows);
  const records = [];
  for (const [index, row] of rows.entries()) {
    records.push({
      ...(summaries[index] as z.output<typeof executionSummary>),
      input: (await inputOf({ blobs: services.blobs, workflows }, row, deliveries)) as Json,
      output: (await readValue(services.blobs, row.output, row.output_sha256 ?? null)) as Json,
      steps: few ? (few.get(row.id) ?? []).map(stepShown) : await stepsOf(em, services, row.id, whole),
      step_count: counts.get(row.id) ?? 0,
    });
  }
  return records;
}

/** One execution with all there is to it. */
export async function executionRecord(context: Context, row: Execution): Promise<z.output<typeof execution>> {
  const [record] = await executionRecords(context, [row]);
  return record as z.output<typeof execution>;
}
