import type { EntityManager } from '@mikro-orm/postgresql';
import { z } from 'zod';
import { DomainError } from '../../../kernel/errors.ts';
import { pageFrom, pageInput, pageOf, windowOf } from '../../../kernel/paging.ts';
import type { Workflow } from '../workflow.entity.ts';
import { workflowId } from '../workflow.schema.ts';
import { findWorkflow } from '../workflow-record.ts';
import { workflowOperation } from '../workflows.ts';
import { requireCapacity } from './begin-execution.ts';
import { Execution } from './execution.entity.ts';
import { executionRecord, executionsShown, findExecution } from './execution-record.ts';
import { execution, executionId, executionSummary, retryFrom } from './executions.schema.ts';
import { retryExecutions } from './retry-execution.ts';

/** Dead letters that are changed by one call at most. */
const mostAtOnce = 500;

/** Which of a project's dead letters: those of one workflow, or named ones. Executions of deleted workflows are none. */
interface DeadLetterFilter {
  project_id: number;
  workflow?: string | undefined;
  executions?: readonly string[] | undefined;
}

// As the index has it.
const where = `execution.status = 'failed' and execution.acknowledged_at is null and execution.project_id = ?
  and exists (select 1 from workflow where workflow.id = execution.workflow_id and deleted_at is null)`;

function conditionOf({ project_id, workflow, executions }: DeadLetterFilter): { sql: string; values: unknown[] } {
  const named = executions === undefined ? '' : ` and execution.id = any(string_to_array(?, ' ')::uuid[])`;
  return {
    sql: where + (workflow === undefined ? '' : ' and execution.workflow_id::text = ?') + named,
    values: [
      project_id,
      ...(workflow === undefined ? [] : [workflow]),
      ...(executions === undefined ? [] : [executions.join(' ')]),
    ],
  };
}

/** How many there are: failed executions that are not acknowledged. */
async function countDeadLetters(em: EntityManager, filter: DeadLetterFilter): Promise<number> {
  const { sql, values } = conditionOf(filter);
  const [row] = await em.execute<{ count: number }[]>(
    `select count(*)::integer as count from execution where ${sql}`,
    values,
  );
  return row?.count ?? 0;
}

/** A window of the dead letters, latest failure first. */
async function readDeadLetters(
  em: EntityManager,
  filter: DeadLetterFilter,
  { offset, limit }: { offset: number; limit: number },
): Promise<Execution[]> {
  const { sql, values } = conditionOf(filter);
  const ids = await em.execute<{ id: string }[]>(
    `select id from execution where ${sql} order by finished_at desc, id desc offset ? limit ?`,
    [...values, offset, limit],
  );
  const rows = await em.find(
    Execution,
    { id: { $in: ids.map(({ id }) => id) } },
    { orderBy: { finished_at: 'desc', id: 'desc' }, disableIdentityMap: true, exclude: ['input', 'output', 'state'] },
  );
  return rows as Execution[];
}

/** Locks the latest failures until the transaction ends, and skips locked ones. @returns the oldest first */
async function holdDeadLetters(em: EntityManager, filter: DeadLetterFilter): Promise<Execution[]> {
  const { sql, values } = conditionOf(filter);
  const ids = await em.execute<{ id: string }[]>(
    `select id from execution where ${sql} order by finished_at desc, id desc limit ${mostAtOnce} for update skip locked`,
    values,
  );
  return em.find(
    Execution,
    { id: { $in: ids.map(({ id }) => id) } },
    { orderBy: { finished_at: 'asc', id: 'asc' }, refresh: true },
  );
}

const ofWorkflow = { workflow: workflowId.workflow.optional().describe('Only executions of this workflow') };

const some = {
  ...ofWorkflow,
  executions: z
    .array(z.uuid())
    .min(1)
    .max(mostAtOnce)
    .optional()
    .describe('Only these executions, as far as they are dead letters; default: the latest failures'),
};

const remaining = z.int32().describe('Dead letters of the same kind that are left');

export const listDeadLetters = workflowOperation({
  name: 'workflows.listDeadLetters',
  kind: 'query',
  permission: 'browse_workflows',
  summary: 'List the failed executions that are not acknowledged, the latest failure first',
  input: z.object({ ...pageInput, ...ofWorkflow }),
  output: pageOf(executionSummary),
  async execute(context, { workflow, ...paging }) {
    const { em, project } = context;
    if (workflow !== undefined) await findWorkflow(context, workflow);
    const window = windowOf(paging);
    const filter = { project_id: project.id, workflow };
    const rows = await readDeadLetters(em, filter, window);
    return pageFrom(await executionsShown(context, rows), await countDeadLetters(em, filter), window);
  },
});

export const acknowledgeExecution = workflowOperation({
  name: 'workflows.acknowledgeExecution',
  kind: 'command',
  permission: 'edit_workflows',
  summary: 'Acknowledge a failed execution, which removes it from the dead letters',
  input: z.object(executionId),
  output: execution,
  audit: ({ execution: id }) => ({ type: 'execution', id }),
  async execute(context, input) {
    const row = await findExecution(context, input, { lock: true });
    if (row.status !== 'failed') throw new DomainError('conflict', `The execution is ${row.status}; it has not failed`);
    row.acknowledged_at ??= context.services.clock.now();
    await context.em.flush();
    return executionRecord(context, row);
  },
});

export const acknowledgeDeadLetters = workflowOperation({
  name: 'workflows.acknowledgeDeadLetters',
  kind: 'command',
  permission: 'edit_workflows',
  summary: `Acknowledge dead letters, ${mostAtOnce} at a time`,
  input: z.object(some),
  output: z.object({ executions: z.array(z.string()), remaining }).meta({ id: 'AcknowledgedDeadLetters' }),
  audit: ({ workflow }) => ({ type: 'workflow', id: workflow ?? 'all' }),
  async execute({ em, project, services }, { workflow, executions }) {
    if (workflow !== undefined) await findWorkflow({ em, project }, workflow);
    const filter = { project_id: project.id, workflow, executions };
    const rows = await holdDeadLetters(em, filter);
    const now = services.clock.now();
    for (const row of rows) row.acknowledged_at = now;
    await em.flush();
    return { executions: rows.map(({ id }) => id), remaining: await countDeadLetters(em, filter) };
  },
});

export const retriedDeadLetter = z
  .object({ execution: z.string(), execution_id: z.string().describe('The new one') })
  .meta({ id: 'RetriedDeadLetter' });

export const retryDeadLetters = workflowOperation({
  name: 'workflows.retryDeadLetters',
  kind: 'command',
  permission: 'edit_workflows',
  summary: `Retry dead letters, each as a new execution, ${mostAtOnce} at a time`,
  input: z.object({ ...some, ...retryFrom }),
  output: z
    .object({
      retried: z.array(retriedDeadLetter),
      refused: z.array(
        z.object({ execution: z.string(), code: z.string(), message: z.string() }).meta({ id: 'RefusedDeadLetter' }),
      ),
      remaining,
    })
    .meta({ id: 'RetriedDeadLetters' }),
  audit: ({ workflow }) => ({ type: 'workflow', id: workflow ?? 'all' }),
  prepare: (context) => requireCapacity(context),
  async execute(context, { workflow, executions, from, version }) {
    const { em, project } = context;
    if (workflow !== undefined) await findWorkflow({ em, project }, workflow);
    const filter = { project_id: project.id, workflow, executions };
    const rows = await holdDeadLetters(em, filter);
    const workflows = new Map<string, Workflow>();
    for (const { workflow_id: id } of rows)
      workflows.set(id, workflows.get(id) ?? (await findWorkflow({ em, project }, id, { lock: 'shared' })));
    const request = { from: from ?? 'failed_step', version: version ?? 'same' } as const;
    const all = rows.map((row) => ({ row, workflow: workflows.get(row.workflow_id) as Workflow }));
    const results = await retryExecutions(context, all, request);
    const retried: { execution: string; execution_id: string }[] = [];
    const refused: { execution: string; code: string; message: string }[] = [];
    for (const [index, result] of results.entries()) {
      const execution = rows[index]?.id ?? '';
      if (typeof result === 'string') retried.push({ execution, execution_id: result });
      else refused.push({ execution, code: result.code, message: result.message });
    }
    return { retried, refused, remaining: await countDeadLetters(em, filter) };
  },
});
