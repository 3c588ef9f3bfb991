import { z } from 'zod';
import { findPage, maxPerPage, pageFrom, pageInput, pageOf, windowOf } from '../../../kernel/paging.ts';
import { timestamp } from '../../../kernel/shapes.ts';
import { executionStatus, workflowId } from '../workflow.schema.ts';
import { findWorkflow } from '../workflow-record.ts';
import { workflowOperation } from '../workflows.ts';
import { Execution } from './execution.entity.ts';
import {
  countSteps,
  executionRecord,
  executionRecords,
  executionsShown,
  findExecution,
  findExecutions,
  stepsOf,
} from './execution-record.ts';
import { execution, executionId, executionSummary, executionTriggerType, stepRun } from './executions.schema.ts';

/** In place of what is not requested. */
const notRead = { input: null, output: null, steps: [], step_count: 0 };

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
    whole: z.boolean().describe('With input, output and steps'),
  }),
  output: z.array(execution.nullable()),
  async execute(context, { executions: ids, whole }) {
    const rows = await findExecutions(context, ids, whole);
    const records = whole
      ? await executionRecords(context, rows)
      : (await executionsShown(context, rows)).map((summary) => ({ ...summary, ...notRead }));
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
    const { em, services } = context;
    const row = await findExecution(context, { execution: id, ...(workflow !== undefined && { workflow }) });
    const window = windowOf(paging);
    return pageFrom(await stepsOf(em, services, row.id, window), await countSteps(em, row.id), window);
  },
});
