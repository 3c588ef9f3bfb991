import { raw } from '@mikro-orm/core';
import type { EntityManager } from '@mikro-orm/postgresql';
import type { z } from 'zod';
import { DomainError } from '../../../kernel/errors.ts';
import { maxWhole, type Window } from '../../../kernel/paging.ts';
import { isUuid } from '../../../lib/ids.ts';
import { dateOf } from '../../../lib/timing.ts';
import { actorNames } from '../../identity/actor-names.ts';
import type { ProjectContext } from '../../projects/operation.ts';
import { sizeOfInput } from '../deliveries/delivery-input.ts';
import { deliveriesOf, inputOf } from '../deliveries/input-of.ts';
import { readStepRows, readValue, sizeOfStepRows, sizeOfValue } from '../engine/checkpoints.ts';
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

/** Executions of the project whose workflows are not deleted, as far as they exist, without input, output and state. */
export async function findExecutions({ em, project }: Context, ids: readonly string[]): Promise<Execution[]> {
  const named = ids.filter((id) => isUuid(id));
  if (named.length === 0) return [];
  const alive = raw('exists (select 1 from workflow where id = workflow_id and deleted_at is null)');
  const rows = await em.find(
    Execution,
    { id: { $in: named }, project_id: project.id, [alive]: [] },
    { disableIdentityMap: true, exclude: ['input', 'output', 'state'] },
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

/** Step runs of an execution, in the order they began, when room has been taken for them. */
export async function stepsOf(
  { em, services, room }: Pick<WorkflowContext, 'em' | 'services' | 'room'>,
  id: string,
  window: Pick<Window, 'offset' | 'limit'>,
): Promise<StepRun[]> {
  await room(await sizeOfStepRows(em, services, [id], window));
  return ((await readStepRows(em, services, [id], window)).get(id) ?? []).map(stepShown);
}

type ShownContext = Pick<WorkflowContext, 'em' | 'services' | 'workflows' | 'organization' | 'signal' | 'room'>;

/** What there is to an execution beside its summary. */
export const executionParts = ['input', 'output', 'steps', 'step_count'] as const;
type ExecutionPart = (typeof executionParts)[number];

/** What the rows of executions hold: bytes of their inputs and outputs as JSON. */
interface Held {
  id: string;
  input: number | null;
  output: number | null;
  output_sha256: string | null;
}

const heldSql = `
  select id, octet_length(input::text) as input, octet_length(output::text) as output, output_sha256
  from execution where id = any(string_to_array(?, ' ')::uuid[])`;
const readSql = {
  input: 'select input as value from execution where id = ?',
  output: 'select output as value from execution where id = ?',
};

/** Reads inputs and outputs of executions, each by itself, when room has been taken for all of them. */
async function valuesOf(
  { em, services, workflows, room }: ShownContext,
  rows: readonly Execution[],
  wanted: readonly ('input' | 'output')[],
) {
  const held = await em.execute<Held[]>(heldSql, [rows.map(({ id }) => id).join(' ')]);
  const byId = new Map(held.map((one) => [one.id, one]));
  const own = async (id: string, of: 'input' | 'output'): Promise<unknown> =>
    byId.get(id)?.[of] == null ? null : (await em.execute<{ value: unknown }[]>(readSql[of], [id]))[0]?.value;
  const derived = wanted.includes('input') ? rows.filter(({ id }) => byId.get(id)?.input == null) : [];
  const deliveries = await deliveriesOf(
    em,
    derived.map((row) => ({ ...row, input: null })),
  );
  const delivered = ({ delivery_id }: Execution) => (delivery_id == null ? undefined : deliveries.get(delivery_id));
  return {
    async sizeOf(row: Execution, of: 'input' | 'output'): Promise<number> {
      const { input = null, output = null, output_sha256 = null } = byId.get(row.id) ?? {};
      if (of === 'output') return sizeOfValue(services.blobs, output, output_sha256);
      const delivery = delivered(row);
      return input ?? (delivery ? sizeOfInput(delivery) : 0);
    },
    async read(row: Execution, of: 'input' | 'output'): Promise<unknown> {
      const value = await own(row.id, of);
      if (of === 'output') return readValue(services.blobs, value, byId.get(row.id)?.output_sha256 ?? null);
      return inputOf({ blobs: services.blobs, workflows, room }, { ...row, input: value }, deliveries);
    },
  };
}

/**
 * Executions in the order given, with the parts of them that are wanted: nothing else is read, and each only when room has been taken for all,
 * one after the other.
 */
export async function executionRecords(
  context: ShownContext,
  rows: readonly Execution[],
  parts: readonly ExecutionPart[],
): Promise<z.output<typeof execution>[]> {
  const { em, services, signal, room } = context;
  const wants = (part: ExecutionPart) => parts.includes(part);
  const summaries = await executionsShown(context, rows);
  const counts =
    wants('steps') || wants('step_count')
      ? await stepCounts(
          em,
          rows.map(({ id }) => id),
        )
      : null;
  const withSteps = wants('steps') && counts ? [...counts.keys()] : [];
  // Together where they are few; otherwise the first of each.
  const isFew = [...(counts?.values() ?? [])].reduce((sum, count) => sum + count, 0) <= maxWhole;
  const together = isFew ? [withSteps] : withSteps.map((id) => [id]);
  const first = { offset: 0, limit: maxWhole };
  const inRows = (['input', 'output'] as const).filter(wants);
  const values = inRows.length > 0 ? await valuesOf(context, rows, inRows) : null;

  let bytes = 0;
  for (const ids of together) bytes += await sizeOfStepRows(em, services, ids, first);
  for (const row of rows) for (const of of inRows) bytes += (await values?.sizeOf(row, of)) ?? 0;
  await room(bytes);

  const steps = new Map<string, StepRun[]>();
  for (const ids of together) {
    signal.throwIfAborted();
    for (const [id, runs] of await readStepRows(em, services, ids, first)) steps.set(id, runs.map(stepShown));
  }
  const records = [];
  for (const [index, row] of rows.entries()) {
    signal.throwIfAborted();
    records.push({
      ...(summaries[index] as z.output<typeof executionSummary>),
      input: (wants('input') ? ((await values?.read(row, 'input')) ?? null) : null) as Json,
      output: (wants('output') ? ((await values?.read(row, 'output')) ?? null) : null) as Json,
      steps: steps.get(row.id) ?? [],
      step_count: counts?.get(row.id) ?? 0,
    });
  }
  return records;
}

/** One execution with all there is to it. */
export async function executionRecord(context: ShownContext, row: Execution): Promise<z.output<typeof execution>> {
  const [record] = await executionRecords(context, [row], executionParts);
  return record as z.output<typeof execution>;
}
