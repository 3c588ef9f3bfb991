import { z } from 'zod';
import { findPage, maxPerPage, pageFrom, pageInput, pageOf, windowOf } from '../../../kernel/paging.ts';
import { timestamp } from '../../../kernel/shapes.ts';
import { executionStatus, workflowId } from '../workflow.schema.ts';
import { findWorkflow } from '../workflow-record.ts';
import { workflowOperation } from '../workflows.ts';
import { Execution } from './execution.entity.ts';
import {
  countSteps,
  executionParts,
  executionRecord,
  executionRecords,
  executionsShown,
  findExecution,
  findExecutions,
  stepsOf,
} from './execution-record.ts';
import { execution, executionId, executionSummary, executionTriggerType, stepRun } from './executions.schema.ts';

export const listExecutions = workflowOperation({
  name: 'workflows.listExecutions',
  kind: 'query',
  permission: 'browse_workflows',
  summary: 'List the executions of a workflow, newest first',
  input: z.object({
    ...workflowId,
    ...pageInput,
    status: executionStatus.optional(),
    trigger: executionTriggerType.optional().describe('What started them'),
    since: timestamp.optional().describe('Only executions accepted at this time or later'),
    until: timestamp.optional().describe('Only executions accepted before this time'),
  }),
  output: pageOf(executionSummary),
  async execute(context, { workflow, status, trigger, since, until, ...paging }) {
    const row = await findWorkflow(context, workflow);
    const { rows, asPage } = await findPage(
      context.em,
      paging,
      Execution,
      {
        workflow_id: row.id,
        ...(status && { status }),
        ...(trigger && { trigger_type: trigger }),
        ...((since || until) && { created_at: { ...(since && { $gte: since }), ...(until && { $lt: until }) } }),
      },
      {
        orderBy: { created_at: 'desc', id: 'desc' },
        disableIdentityMap: true,
        exclude: ['input', 'output', 'state'],
      },
    );
    return asPage(await executionsShown(context, rows as Execution[]));
  },
});

export const getExecution = workflowOperation({
  name: 'workflows.getExecution',
  kind: 'query',
  permission: 'browse_workflows',
  summary: 'Get one execution with its steps in the order they began',
  input: z.object(executionId),
  output: execution,
  async execute(context, input) {
    return executionRecord(context, await findExecution(context, input));
  },
});

export const getExecutions = workflowOperation({
  name: 'workflows.getExecutions',
  kind: 'query',
  permission: 'browse_workflows',
  notInSteps: true,
  summary: 'Executions by their ids, in the order of the input; null for missing ones',
  input: z.object({
    executions: z.array(z.string().max(100)).max(maxPerPage, `must be at most ${maxPerPage}`),
    include: z.array(z.enum(executionParts)).max(executionParts.length).describe('What is read beside the summary'),
  }),
  output: z.array(execution.nullable()),
  async execute(context, { executions: ids, include }) {
    const records = await executionRecords(context, await findExecutions(context, ids), include);
    const byId = new Map(records.map((record) => [record.id, record]));
    return ids.map((id) => byId.get(id) ?? null);
  },
});

export const listStepRuns = workflowOperation({
  name: 'workflows.listStepRuns',
  kind: 'query',
  permission: 'browse_workflows',
  summary: 'List the step runs of an execution in the order they began',
  input: z.object({ ...executionId, ...pageInput }),
  output: pageOf(stepRun),
  async execute(context, { workflow, execution: id, ...paging }) {
    const row = await findExecution(context, { execution: id, ...(workflow !== undefined && { workflow }) });
    const window = windowOf(paging);
    return pageFrom(await stepsOf(context, row.id, window), await countSteps(context.em, row.id), window);
  },
});
