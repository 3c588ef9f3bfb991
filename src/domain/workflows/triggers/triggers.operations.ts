import { z } from 'zod';
import { projectOperation } from '../../operation.ts';
import { findPage, pageOf, wholePageInput, wholeWindowOf } from '../../paging.ts';
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
  summary: 'List the triggers of a workflow, the newest first',
  input: z.object({ ...workflowId, ...wholePageInput }),
  output: pageOf(workflowTrigger),
  async execute(context, { workflow, ...paging }) {
    const { id: workflow_id } = await findWorkflow(context, workflow);
    const { rows, asPage } = await findPage(
      context.em,
      wholeWindowOf(paging),
      WorkflowTrigger,
      { workflow_id, deleted_at: null },
      { orderBy: { created_at: 'desc', id: 'desc' } },
    );
    return asPage(await Promise.all(rows.map((row) => triggerRecord(context, row))));
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
