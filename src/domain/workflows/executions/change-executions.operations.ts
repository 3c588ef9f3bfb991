import type { EntityManager } from '@mikro-orm/postgresql';
import { z } from 'zod';
import { DomainError } from '../../../kernel/errors.ts';
import type { Services } from '../../../kernel/services.ts';
import { jsonValue, storedText } from '../../../kernel/shapes.ts';
import { ExpressionError } from '../../../ports/expressions.ts';
import { advanceJob } from '../advance-job.ts';
import { begunExecution } from '../deliveries/delivery.schema.ts';
import { refusalToRun } from '../save-definition.ts';
import { type Workflow, WorkflowVersion } from '../workflow.entity.ts';
import { workflowId } from '../workflow.schema.ts';
import { findWorkflow } from '../workflow-record.ts';
import { type WorkflowContext, workflowOperation } from '../workflows.ts';
import { beginExecution, generationOf, requireCapacity } from './begin-execution.ts';
import { cancelExecution as cancel } from './cancel-execution.ts';
import type { Execution } from './execution.entity.ts';
import { executionSubject } from './execution-feed.ts';
import { executionRecord, findExecution, holdWithWorkflow } from './execution-record.ts';
import { execution, executionId, retryFrom } from './executions.schema.ts';
import { retryExecutions } from './retry-execution.ts';

interface WaitingRow {
  status: string;
  type: string;
  input: { schema?: object | null } | null;
  next_try_at: Date | string | null;
  started_at: Date | string | null;
}

const answerSql = `
  update step_run set status = 'completed', output = ?::json, finished_at = ?, next_try_at = null, waits_for = null
  where execution_id = ? and path = ?`;

/** @throws DomainError `validation_failed` for an input that is not what a schema describes, or that the schema cannot be checked by */
async function checkInput(
  { services, organization }: Pick<WorkflowContext, 'services' | 'organization'>,
  workflow_id: string,
  schema: object,
  input: unknown,
): Promise<void> {
  const expressions = services.expressions.of({ workflow_id, organization_id: organization.id });
  const faults = await expressions.validate(schema, input).catch((error: unknown) => {
    if (!(error instanceof ExpressionError)) throw error;
    throw error.fault === 'unavailable'
      ? new DomainError('unavailable', `input: cannot be checked now: ${error.message}`)
      : new DomainError('validation_failed', `input: cannot be checked by the schema: ${error.message}`);
  });
  const errors = faults.map(({ field, message }) => ({ field: `/input${field}`, code: 'invalid', message }));
  const [first] = errors;
  if (first)
    throw new DomainError('validation_failed', `input${first.field.slice(6)}: ${first.message}`, {
      details: { errors },
    });
}

async function findWaiting(em: EntityManager, execution_id: string, path: string): Promise<WaitingRow | undefined> {
  const [run] = await em.execute<WaitingRow[]>(
    'select input, status, type, next_try_at, started_at from step_run where execution_id = ? and path = ?',
    [execution_id, path],
  );
  return run;
}

/**
 * Answers a step that waits for a person, and lets the execution go on, in the caller's transaction, which holds its row.
 * @throws DomainError `not_found`, `conflict` when the step does not wait
 */
async function answerWaiting(
  em: EntityManager,
  services: Services,
  row: Execution,
  { path, input, by }: { path: string; input: unknown; by: string },
): Promise<void> {
  const run = await findWaiting(em, row.id, path);
  if (!run) throw new DomainError('not_found', 'path: the execution has no such step run');
  const isOpen = ['pending', 'running', 'paused'].includes(row.status) && !row.cancel_requested;
  const now = services.clock.now();
  // The driver reads the answer before it ends the wait: one stored later would be acknowledged, and lost.
  const isLate = run.next_try_at !== null && new Date(run.next_try_at) <= now;
  if (!isOpen || run.type !== 'wait_for_input' || run.status !== 'waiting' || isLate)
    throw new DomainError('conflict', 'path: the step does not wait for input');
  await em.execute(answerSql, [JSON.stringify(input ?? null), now, row.id, path]);
  const event = {
    type: 'step.completed',
    at: now.toISOString(),
    path,
    status: 'completed',
    actor: by,
    ...(run.started_at !== null && { duration_ms: now.getTime() - new Date(run.started_at).getTime() }),
  };
  await services.events.append(em, [{ subject: executionSubject(row), events: [event] }]);
  await em.execute('update execution set wake = true where id = ?', [row.id]);
  await services.jobs.sendMany(advanceJob, [{ execution_id: row.id }], { em });
}

/** @throws DomainError `conflict` for an execution that has ended, and says what that means */
function refuseEnded({ status, finished_at }: Execution, meaning: string): void {
  if (!finished_at) return;
  throw new DomainError('conflict', `The execution has ended as ${status} at ${finished_at.toISOString()}: ${meaning}`);
}

const subject = ({ execution: id }: { execution: string }) => ({ type: 'execution', id });

/** @throws DomainError `not_found` */
async function versionToRun(em: EntityManager, row: Workflow, number = row.version): Promise<WorkflowVersion> {
  const found = await em.findOne(WorkflowVersion, { workflow_id: row.id, number });
  if (!found) throw new DomainError('not_found', 'Version not found');
  return found;
}

export const runWorkflow = workflowOperation({
  name: 'workflows.runWorkflow',
  kind: 'command',
  permission: 'edit_workflows',
  summary: 'Run a workflow by hand, also one that is disabled',
  input: z.object({
    ...workflowId,
    input: jsonValue.optional().describe('What its steps see as `input`; default null'),
    version: z.int32().min(1).optional().describe('Default: the published version'),
  }),
  output: begunExecution,
  audit: ({ workflow }) => ({ type: 'workflow', id: workflow }),
  async prepare(context, { workflow: id, input = null, version }) {
    await requireCapacity(context);
    const { definition } = await versionToRun(context.em, await findWorkflow(context, id), version);
    if (definition.input_schema !== undefined) await checkInput(context, id, definition.input_schema, input);
  },
  async execute(context, { workflow: id, input = null, version }) {
    const { em, services, actor } = context;
    const row = await findWorkflow(context, id, { lock: 'shared' });
    // One that was published meanwhile has its execution check the input.
    const of = await versionToRun(em, row, version);
    const refusal = of.number === row.version ? null : refusalToRun(context, of, await versionToRun(em, row));
    if (refusal) throw refusal;
    const generation = await generationOf(context);
    const execution_id = await beginExecution(em, services, {
      generation,
      workflow: row,
      version: of.number,
      trigger: { type: 'manual' },
      input,
      started_by: actor.id,
    });
    context.workflows.backlog.add(context.organization.id);
    return { execution_id };
  },
});

export const cancelExecution = workflowOperation({
  name: 'workflows.cancelExecution',
  kind: 'command',
  permission: 'edit_workflows',
  summary: 'Cancel an execution',
  input: z.object(executionId),
  output: execution,
  audit: subject,
  async execute(context, input) {
    const { em, services, actor } = context;
    const row = await findExecution(context, input, { lock: true });
    refuseEnded(row, 'it cannot be cancelled');
    await cancel(em, services, row, { reason: 'user', by: actor.id });
    return executionRecord(context, await findExecution(context, input));
  },
});

export const retryExecution = workflowOperation({
  name: 'workflows.retryExecution',
  kind: 'command',
  permission: 'edit_workflows',
  summary: 'Retry a failed or cancelled execution as a new one',
  input: z.object({
    ...executionId,
    ...retryFrom,
  }),
  output: begunExecution,
  audit: subject,
  prepare: (context) => requireCapacity(context),
  async execute(context, { from, version, ...input }) {
    const retried = await holdWithWorkflow(context, input);
    const request = { from: from ?? 'failed_step', version: version ?? 'same' } as const;
    const [id] = await retryExecutions(context, [retried], request);
    if (typeof id !== 'string') throw id;
    return { execution_id: id };
  },
});

export const resumeExecution = workflowOperation({
  name: 'workflows.resumeExecution',
  kind: 'command',
  permission: 'edit_workflows',
  summary: 'Answer a step that waits for input',
  input: z.object({
    ...executionId,
    path: storedText(1_000).min(1).describe('Path of the step run that waits for input'),
    input: jsonValue.optional().describe('The answer, by the schema of the step; default null'),
  }),
  output: execution,
  audit: subject,
  // What has ended takes no answer, whatever it is.
  async find(context, { execution: id, workflow }) {
    if (typeof id !== 'string') return;
    const names = { execution: id, ...(typeof workflow === 'string' && { workflow }) };
    refuseEnded(await findExecution(context, names), 'it takes no input');
  },
  async prepare(context, { path, input: answer, ...input }) {
    const row = await findExecution(context, input);
    const run = await findWaiting(context.em, row.id, path);
    const schema = run?.status === 'waiting' ? run.input?.schema : null;
    if (schema && !row.finished_at) await checkInput(context, row.workflow_id, schema, answer ?? null);
  },
  async execute(context, { path, input: answer, ...input }) {
    const row = await findExecution(context, input, { lock: true });
    refuseEnded(row, 'it takes no input');
    await answerWaiting(context.em, context.services, row, { path, input: answer, by: context.actor.id });
    return executionRecord(context, await findExecution(context, input));
  },
});
