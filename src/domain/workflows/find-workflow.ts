import { DomainError } from '../errors.ts';
import type { ProjectContext } from '../operation.ts';
import { Workflow } from './workflow.entity.ts';

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

/**
 * A workflow of the project by its id; `lock` holds its row until the transaction ends, `shared` with others who only need it to stay.
 * @throws DomainError `not_found`, also for ids that cannot exist
 */
export async function findWorkflow(
  { em, project }: Pick<ProjectContext, 'em' | 'project'>,
  id: string,
  { lock = false }: { lock?: boolean | 'shared' } = {},
): Promise<Workflow> {
  if (uuid.test(id)) {
    const held = lock === 'shared' ? 'share' : 'update';
    if (lock) await em.execute(`select id from workflow where id = ? for ${held}`, [id]);
    const row = await em.findOne(Workflow, { id, project_id: project.id, deleted_at: null }, { refresh: true });
    if (row) return row;
  }
  throw new DomainError('not_found', 'Workflow not found');
}
