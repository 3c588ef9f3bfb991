import { z } from 'zod';
import { projectOperation } from '../operation.ts';
import { cancelAll } from './executions/cancel-execution.ts';
import { findWorkflow } from './find-workflow.ts';
import { workflowId } from './workflow.schema.ts';

export const deleteWorkflow = projectOperation({
  name: 'workflows.deleteWorkflow',
  kind: 'command',
  permission: 'delete_workflows',
  fresh: true,
  workflow: false,
  destructive: true,
  summary: 'Delete a workflow; its open executions are cancelled',
  input: z.object(workflowId),
  output: z.null(),
  audit: ({ workflow }) => ({ type: 'workflow', id: workflow }),
  async execute(context, { workflow }) {
    const { em, services } = context;
    const row = await findWorkflow(context, workflow, { lock: true });
    const now = services.clock.now();
    row.deleted_at = now;
    await em.flush();
    await cancelAll(em, now, row.id, { reason: 'workflow_deleted', by: context.actor.id });
    return null;
  },
});
