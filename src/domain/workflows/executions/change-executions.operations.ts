import { z } from 'zod';
import { DomainError } from '../../errors.ts';
import { projectOperation } from '../../operation.ts';
import { jsonValue } from '../../shapes.ts';
import { begunExecution } from '../deliveries/delivery.schema.ts';
import { findWorkflow } from '../find-workflow.ts';
import { WorkflowVersion } from '../workflow.entity.ts';
import { workflowId } from '../workflow.schema.ts';
import { beginExecution } from './begin-execution.ts';
import { cancelExecution as cancel } from './cancel-execution.ts';
import type { Execution } from './execution.entity.ts';
import { executionRecord } from './execution-record.ts';
import { execution, executionId, retryFrom } from './executions.schema.ts';
import { findExecution, holdWithWorkflow } from './find-execution.ts';
import { resumeExecution as resume } from './resume-execution.ts';
import { retryExecutions } from './retry-execution.ts';

/** @throws DomainError `conflict` for an execution that has ended, and says what that means */
function refuseEnded({ status, finished_at }: Execution, meaning: string): void {
  if (!finished_at) return;
  throw new DomainError('conflict', `The execution has ended as ${status} at ${finished_at.toISOString()}: ${meaning}`);
}

const subject = ({ execution: id }: { execution: string }) => ({ type: 'execution', id });

export const runWorkflow = projectOperation({
  name: 'workflows.runWorkflow',
  kind: 'command',
  permission: 'edit_workflows',
  summary: 'Run a workflow by hand, also one that is disabled',
  input: z.object({
    ...workflowId,
    input: jsonValue.optional().describe('What its steps see as `input`; default null'),
    version: z.int().min(1).optional().describe('Default: the published version'),
  }),
  output: begunExecution,
  audit: ({ workflow }) => ({ type: 'workflow', id: workflow }),
  async execute(context, { workflow: id, input = null, version }) {
    const { em, services, actor } = context;
    const row = await findWorkflow(context, id, { lock: 'shared' });
    const wanted = { workflow_id: row.id, number: version ?? row.version };
    const of = await em.findOne(WorkflowVersion, wanted);
    if (!of) throw new DomainError('not_found', 'Version not found');
    const schema = of.definition.input_schema;
    if (schema !== undefined) {
      const faults = await services.expressions.validate(schema, input);
      const errors = faults.map(({ field, message }) => ({ field: `/input${field}`, code: 'invalid', message }));
      const [first] = errors;
      if (first)
        throw new DomainError('validation_failed', `input${first.field.slice(6)}: ${first.message}`, {
          details: { errors },
        });
    }
    const execution_id = await beginExecution(em, services, {
      workflow: row,
      version: of.number,
      trigger: { type: 'manual' },
      input,
      started_by: actor.id,
    });
    return { execution_id };
  },
});

export const cancelExecution = projectOperation({
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

export const retryExecution = projectOperation({
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
  async execute(context, { from, version, ...input }) {
    const retried = await holdWithWorkflow(context, input);
    const request = { from: from ?? 'failed_step', version: version ?? 'same', started_by: context.actor.id } as const;
    const [id] = await retryExecutions(context.em, context.services, [retried], request);
    if (typeof id !== 'string') throw id;
    return { execution_id: id };
  },
});

export const resumeExecution = projectOperation({
  name: 'workflows.resumeExecution',
  kind: 'command',
  permission: 'edit_workflows',
  summary: 'Answer a step that waits for input',
  input: z.object({
    ...executionId,
    path: z.string().min(1).max(1_000).describe('Path of the step run that waits for input'),
    input: jsonValue.optional().describe('The answer, by the schema of the step; default null'),
  }),
  output: execution,
  audit: subject,
  async execute(context, { path, input: answer, ...input }) {
    const row = await findExecution(context, input, { lock: true });
    refuseEnded(row, 'it takes no input');
    await resume(context.em, context.services, row, { path, input: answer, by: context.actor.id });
    return executionRecord(context, await findExecution(context, input));
  },
});
