import { raw } from '@mikro-orm/core';
import { DomainError } from '../../../kernel/errors.ts';
import { isUuid } from '../../../lib/ids.ts';
import type { ProjectContext } from '../../projects/operation.ts';
import { findWorkflow } from '../workflow-record.ts';
import { Execution } from './execution.entity.ts';
import type { Retried } from './retry-execution.ts';

type Context = Pick<ProjectContext, 'em' | 'project'>;

/** An execution's id, with that of its workflow where the caller gave it. */
interface Names {
  workflow?: string | undefined;
  execution: string;
}

/** Reads an execution, whatever became of its workflow. @throws DomainError `not_found` */
async function readExecution({ em, project }: Context, { workflow, execution: id }: Names, lock: boolean) {
  if (isUuid(id)) {
    if (lock) await em.execute('select id from execution where id = ? for update', [id]);
    const row = await em.findOne(Execution, { id, project_id: project.id }, { refresh: true });
    if (row && (workflow === undefined || row.workflow_id === workflow)) return row;
  }
  throw new DomainError('not_found', 'Execution not found');
}

/**
 * An execution of the project, of one workflow when that is given; `lock` holds its row until the transaction ends.
 * @throws DomainError `not_found`, also when its workflow is deleted
 */
export async function findExecution(
  context: Context,
  names: Names,
  { lock = false }: { lock?: boolean } = {},
): Promise<Execution> {
  const row = await readExecution(context, names, lock);
  await findWorkflow(context, row.workflow_id);
  return row;
}

/**
 * Executions of the project whose workflows are not deleted, as far as they exist.
 * @param whole with input, output and state
 */
export async function findExecutions(
  { em, project }: Context,
  ids: readonly string[],
  whole: boolean,
): Promise<Execution[]> {
  const named = ids.filter((id) => isUuid(id));
  if (named.length === 0) return [];
  const alive = raw('exists (select 1 from workflow where id = workflow_id and deleted_at is null)');
  const rows = await em.find(
    Execution,
    { id: { $in: named }, project_id: project.id, [alive]: [] },
    { disableIdentityMap: true, ...(!whole && { exclude: ['input', 'output', 'state'] as never }) },
  );
  return rows as Execution[];
}

/**
 * An execution with its workflow, both locked until the transaction ends. The workflow first, as deletion locks them: otherwise they could
 * deadlock.
 * @throws DomainError `not_found`, also when the workflow is deleted
 */
export async function holdWithWorkflow(context: Context, names: Names): Promise<Retried> {
  const { workflow_id } = await readExecution(context, names, false);
  const workflow = await findWorkflow(context, workflow_id, { lock: 'shared' });
  return { workflow, row: await readExecution(context, names, true) };
}
