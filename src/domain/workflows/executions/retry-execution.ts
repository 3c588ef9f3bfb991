import type { EntityManager } from '@mikro-orm/postgresql';
import { DomainError } from '../../../kernel/errors.ts';
import type { WorkflowDefinition } from '../definition/definition.schema.ts';
import { stepsWithin } from '../definition/walk-steps.ts';
import { refusalToRun } from '../save-definition.ts';
import { typeOf } from '../step-types.ts';
import type { Step } from '../steps/step-type.ts';
import { type Workflow, WorkflowVersion } from '../workflow.entity.ts';
import type { WorkflowContext } from '../workflows.ts';
import { beginExecutions, generationOf } from './begin-execution.ts';
import type { Execution } from './execution.entity.ts';
import type { StepRun } from './step-run.entity.ts';

/** A step run of an execution that is tried again, in the order they began. */
type Run = Pick<StepRun, 'path' | 'step_id' | 'status'> & Partial<Pick<StepRun, 'tried_in'>>;

/**
 * A step run the new execution begins with: as it was (`kept`), or open: what it holds goes on, or its try is repeated under the key of the
 * execution it was first tried in.
 */
interface RetainedStep {
  path: string;
  kept: boolean;
  tried_in?: string;
}

/** The step run around another one: of `each[3].save` and `each.then.save` it is `each`; null at the top. */
const around = (path: string): string | null => /^(.+)(?:\[\d+\]|\.[a-z0-9_]+)\.[a-z0-9_]+$/.exec(path)?.[1] ?? null;

const isOver = ({ status }: Run) => status === 'completed' || status === 'skipped';

/** Whether an execution goes on after a step's failure: then it counts for what comes later as a result does. */
const isTolerated = (step: Step, outer: Step | null): boolean =>
  step.on_error === 'continue' || (outer !== null && typeOf(outer).tolerates?.(outer) === true);

/**
 * What does not run again when an execution is tried again from where it failed: steps that were completed or skipped, failures it went on
 * after, and all that these hold. Steps that hold others and were broken off are left open, and so are steps that were cut off while they
 * acted: whether they have is found by their key. Everything else begins anew.
 */
export function retainedSteps({ steps }: Pick<WorkflowDefinition, 'steps'>, runs: readonly Run[]): RetainedStep[] {
  const known = new Map([...stepsWithin(steps, [])].map(({ step }) => [step.id, step]));
  const stepOf = new Map(runs.map(({ path, step_id }) => [path, known.get(step_id) ?? null]));
  const holders = new Set(runs.map(({ path }) => around(path)));
  const retained = new Map<string, RetainedStep>();
  // A step that holds others comes before them.
  for (const run of runs) {
    const { path } = run;
    const step = stepOf.get(path) ?? null;
    const outer = around(path);
    const holder = outer === null ? null : (retained.get(outer) ?? null);
    if (step === null || (outer !== null && holder === null)) continue;
    const isKept =
      holder?.kept === true ||
      isOver(run) ||
      (run.status === 'failed' && isTolerated(step, outer === null ? null : (stepOf.get(outer) ?? null)));
    if (isKept || holders.has(path)) retained.set(path, { path, kept: isKept });
    else if (run.tried_in) retained.set(path, { path, kept: false, tried_in: run.tried_in });
  }
  return [...retained.values()];
}

// What is left open has its time limits from now on; what was cut off has made no try of the new execution yet.
const copySql = `
  insert into step_run (execution_id, path, position, step_id, type, status, tries, input, output, output_sha256, error, waits_for,
    tried_in, started_at, finished_at, next_try_at)
  select ?, path, position, step_id, type, case when kept then status when retained.tried_in is null then 'running' else 'pending' end,
    case when retained.tried_in is null then tries else 0 end, input, output, output_sha256,
    case when kept then error end, null, retained.tried_in, case when kept then started_at else ?::timestamptz end,
    case when kept then finished_at end, null
  from step_run join json_to_recordset(?::json) as retained (path text, kept boolean, tried_in uuid) using (path) where execution_id = ?`;

/** Copies what does not run again of executions to the ones, by their `id`, that try them again. */
async function copySteps(
  em: EntityManager,
  now: Date,
  pairs: readonly { row: Pick<Execution, 'id' | 'workflow_id' | 'version'>; id: string }[],
): Promise<void> {
  const definitions = new Map<string, WorkflowDefinition>();
  for (const { row, id } of pairs) {
    const name = `${row.workflow_id} ${row.version}`;
    const definition =
      definitions.get(name) ??
      (await em.findOneOrFail(WorkflowVersion, { workflow_id: row.workflow_id, number: row.version })).definition;
    definitions.set(name, definition);
    const runs = await em.execute<Pick<StepRun, 'path' | 'step_id' | 'status' | 'tried_in'>[]>(
      'select path, step_id, status, tried_in from step_run where execution_id = ? order by position',
      [row.id],
    );
    const retained = retainedSteps(definition, runs);
    if (retained.length > 0) await em.execute(copySql, [id, now, JSON.stringify(retained), row.id]);
  }
  // With a state, the steps of an execution are read when it is taken up.
  const ids = pairs.map(({ id }) => id).join(' ');
  await em.execute(`update execution set state = '{}'::json where id = any(string_to_array(?, ' ')::uuid[])`, [ids]);
}

/** From where executions are tried again, and by which version. */
interface RetryRequest {
  from: 'failed_step' | 'start';
  version: 'same' | 'latest';
}

/** An execution that is to be tried again, whose row the caller holds, with its workflow. */
export interface Retried {
  workflow: Workflow;
  row: Execution;
}

type Context = Pick<WorkflowContext, 'em' | 'services' | 'grant' | 'actor'>;

/** Of deliveries those whose bytes are kept; they stay so until the transaction ends. */
async function keptDeliveries(em: EntityManager, rows: readonly Execution[]): Promise<Set<string>> {
  const ids = rows.flatMap(({ delivery_id }) => delivery_id ?? []);
  if (ids.length === 0) return new Set();
  const kept = await em.execute<{ id: string }[]>(
    `select id from delivery where id = any(string_to_array(?, ' ')::uuid[])
       and (raw_size = 0 or body is not null or body_sha256 is not null)
     order by id for share`,
    [ids.join(' ')],
  );
  return new Set(kept.map(({ id }) => id));
}

/** Why the caller may not try executions again by the version they had, by their ids. */
async function refusedVersions(
  { em, grant }: Context,
  retried: readonly Retried[],
): Promise<ReadonlyMap<string, DomainError>> {
  const former = retried.filter(({ row, workflow }) => row.version !== workflow.version);
  if (former.length === 0) return new Map();
  const named = former.flatMap(({ row, workflow }) =>
    [row.version, workflow.version].map((number) => ({ workflow_id: workflow.id, number })),
  );
  const versions = await em.find(WorkflowVersion, { $or: named }, { fields: ['permissions'] });
  const find = (workflow_id: string, number: number) =>
    versions.find((one) => one.workflow_id === workflow_id && one.number === number) as WorkflowVersion;
  return new Map(
    former.flatMap(({ row: { id, version }, workflow }) => {
      const refusal = refusalToRun({ grant }, find(workflow.id, version), find(workflow.id, workflow.version));
      return refusal ? [[id, refusal]] : [];
    }),
  );
}

/**
 * Tries failed or cancelled executions again, each as a new one, in the caller's transaction: what they had completed is copied and does not
 * run again, unless they are to begin at the start. That acknowledges dead letters.
 * @returns the id of the new one for each, or the refusal: `in_use` when what started it is not kept any more, `forbidden` for a version that the
 * caller may not run
 * @throws DomainError `conflict` when one has not failed
 */
export async function retryExecutions(
  context: Context,
  retried: readonly Retried[],
  { from, version }: RetryRequest,
): Promise<(string | DomainError)[]> {
  const { em, services, actor } = context;
  for (const { row } of retried)
    if (row.status !== 'failed' && row.status !== 'cancelled')
      throw new DomainError(
        'conflict',
        `The execution is ${row.status}; only a failed or cancelled one is tried again`,
      );
  const rows = retried.map(({ row }) => row);
  const kept = await keptDeliveries(em, rows);
  const refusals = version === 'same' ? await refusedVersions(context, retried) : new Map<string, DomainError>();
  const able = retried.filter(
    ({ row: { id, delivery_id } }) => !refusals.has(id) && (delivery_id == null || kept.has(delivery_id)),
  );
  const least = await generationOf(context);
  const now = services.clock.now();
  for (const { row } of able) row.acknowledged_at ??= now;
  await em.flush();
  const ids = await beginExecutions(
    em,
    services,
    able.map(
      ({ workflow, row: { id, delivery_id, trigger_id, trigger_type, input, generation, version: number } }) => ({
        generation: Math.max(generation, least),
        workflow,
        version: version === 'latest' ? workflow.version : number,
        trigger: { type: trigger_type, ...(trigger_id && { id: trigger_id }) },
        ...(delivery_id == null ? { input: input ?? null } : { delivery_id }),
        started_by: actor.id,
        retry_of: id,
      }),
    ),
  );
  const begun = new Map(able.map(({ row }, index) => [row.id, ids[index] as string]));
  if (from === 'failed_step' && version === 'same')
    await copySteps(
      em,
      now,
      able.flatMap(({ row }) =>
        // One that has not begun has steps of the one it tries again, if any.
        row.started_at == null && row.retry_of == null ? [] : [{ row, id: begun.get(row.id) as string }],
      ),
    );
  const gone = new DomainError('in_use', 'The bytes that started this execution are not kept any more');
  return rows.map(({ id }) => begun.get(id) ?? refusals.get(id) ?? gone);
}
