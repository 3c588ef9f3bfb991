import { z } from 'zod';
import { projectOperation } from '../../operation.ts';
import { findWorkflow } from '../find-workflow.ts';
import { workflowId } from '../workflow.schema.ts';
import { findTrigger } from './find-trigger.ts';
import { WorkflowTrigger } from './trigger.entity.ts';
import { triggerName, workflowTrigger } from './trigger.schema.ts';
import { triggerRecord } from './trigger-record.ts';

export const listTriggers = projectOperation({
  name: 'workflows.listTriggers',
  kind: 'query',
  permission: 'browse_workflows',
  summary: 'List what starts a workflow, the newest first',
  input: z.object(workflowId),
  output: z.array(workflowTrigger),
  async execute(context, input) {
    const workflow = await findWorkflow(context, input.workflow);
    const rows = await context.em.find(
      WorkflowTrigger,
      { workflow_id: workflow.id, deleted_at: null },
      { orderBy: { created_at: 'desc', id: 'desc' } },
    );
    return Promise.all(rows.map((row) => triggerRecord(context, row)));
  },
});

export const getTrigger = projectOperation({
  name: 'workflows.getTrigger',
  kind: 'query',
  permission: 'browse_workflows',
  summary: 'Get one trigger',
  input: z.object(triggerName),
  output: workflowTrigger,
  async execute(context, input) {
    const { trigger } = await findTrigger(context, input);
    return triggerRecord(context, trigger);
  },
});
