import { DomainError } from '../../errors.ts';
import type { ProjectContext } from '../../operation.ts';
import { findWorkflow } from '../find-workflow.ts';
import type { Workflow } from '../workflow.entity.ts';
import { WorkflowTrigger } from './trigger.entity.ts';

const uuid = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/**
 * A trigger of a workflow of the project. `lock` holds its row until the transaction ends; calls that are being accepted are waited for.
 * @throws DomainError `not_found`, also for ids that cannot exist
 */
export async function findTrigger(
  context: Pick<ProjectContext, 'em' | 'project'>,
  names: { workflow: string; trigger: string },
  { lock = false }: { lock?: boolean } = {},
): Promise<{ workflow: Workflow; trigger: WorkflowTrigger }> {
  const { em } = context;
  const workflow = await findWorkflow(context, names.workflow);
  if (uuid.test(names.trigger)) {
    if (lock) await em.execute('select id from workflow_trigger where id = ? for update', [names.trigger]);
    const where = { id: names.trigger, workflow_id: workflow.id, deleted_at: null };
    const trigger = await em.findOne(WorkflowTrigger, where, { refresh: true });
    if (trigger) return { workflow, trigger };
  }
  throw new DomainError('not_found', 'Trigger not found');
}
