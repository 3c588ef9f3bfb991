import { raw } from '@mikro-orm/core';
import type { EntityManager } from '@mikro-orm/postgresql';
import type { z } from 'zod';
import { DomainError } from '../../../kernel/errors.ts';
import { maxWhole, type Window } from '../../../kernel/paging.ts';
import type { Services } from '../../../kernel/services.ts';
import { isUuid } from '../../../lib/ids.ts';
import { dateOf } from '../../../lib/timing.ts';
import { actorNames } from '../../identity/actor-names.ts';
import type { ProjectContext } from '../../projects/operation.ts';
import { deliveriesOf, inputOf } from '../deliveries/input-of.ts';
import { readStepRows, readValue } from '../engine/checkpoints.ts';
import type { StepState } from '../engine/plan.ts';
import { findWorkflow } from '../workflow-record.ts';
import type { WorkflowContext } from '../workflows.ts';
import { Execution } from './execution.entity.ts';
import type { execution, executionSummary, stepRun } from './executions.schema.ts';
import type { Retried } from './retry-execution.ts';

type Context = Pick<ProjectContext, 'em' | 'project'>;

/** An execution's id, with that of its workflow where the caller gave it. */
interface Names {
  workflow?: string | undefined;
  execution: string;
}

/** Reads an execution, whatever became of its workflow. @throws DomainError `not_found` */
async function readExecution({ em, project }: Context, { workflow, execution: id }: Names, lock: boolean) {
  if (isUuid(id)) {
    if (lock) await em.execute('select id from execution where id = ? for update', [id]);
    const row = await em.findOne(Execution, { id, project_id: project.id }, { refresh: true });
    if (row && (workflow === undefined || row.workflow_id === workflow)) return row;
  }
  throw new DomainError('not_found', 'Execution not found');
}

/**
 * An execution of the project, of one workflow when that is given; `lock` holds its row until the transaction ends.
 * @throws DomainError `not_found`, also when its workflow is deleted
 */
export async function findExecution(
  context: Context,
  names: Names,
  { lock = false }: { lock?: boolean } = {},
): Promise<Execution> {
  const row = await readExecution(context, names, lock);
  await findWorkflow(context, row.workflow_id);
  return row;
}

/**
 * Executions of the project whose workflows are not deleted, as far as they exist.
 * @param whole with input, output and state
 */
export async function findExecutions(
  { em, project }: Context,
  ids: readonly string[],
  whole: boolean,
): Promise<Execution[]> {
  const named = ids.filter((id) => isUuid(id));
  if (named.length === 0) return [];
  const alive = raw('exists (select 1 from workflow where id = workflow_id and deleted_at is null)');
  const rows = await em.find(
    Execution,
    { id: { $in: named }, project_id: project.id, [alive]: [] },
    { disableIdentityMap: true, ...(!whole && { exclude: ['input', 'output', 'state'] as never }) },
  );
  return rows as Execution[];
}

/**
 * An execution with its workflow, both locked until the transaction ends. The workflow first, as deletion locks them: otherwise they could
 * deadlock.
 * @throws DomainError `not_found`, also when the workflow is deleted
 */
export async function holdWithWorkflow(context: Context, names: Names): Promise<Retried> {
  const { workflow_id } = await readExecution(context, names, false);
  const workflow = await findWorkflow(context, workflow_id, { lock: 'shared' });
  return { workflow, row: await readExecution(context, names, true) };
}

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

type ShownContext = Pick<WorkflowContext, 'em' | 'services' | 'workflows' | 'organization'>;

/** Executions with all there is to them, in the order given. */
export async function executionRecords(
  context: ShownContext,
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
export async function executionRecord(context: ShownContext, row: Execution): Promise<z.output<typeof execution>> {
  const [record] = await executionRecords(context, [row]);
  return record as z.output<typeof execution>;
}
