import { DomainError } from '../../../kernel/errors.ts';
import { executeBound } from '../../../kernel/sql.ts';
import type { WorkflowContext } from '../workflows.ts';

/** How often in a row the step of an execution starts one whose step starts another: each may start thousands. */
const mostGenerations = 5;

/**
 * Refuses to begin executions while as many of the organisation wait as may. Not within a transaction: to count them takes a connection of its own.
 * @throws DomainError `rate_limited`
 */
export async function requireRoom({
  organization: { id, limits },
  workflows,
}: Pick<WorkflowContext, 'organization' | 'workflows'>): Promise<void> {
  if (await workflows.backlog.isFull(id, limits.workflow_backlog ?? workflows.limits.backlog))
    throw new DomainError('rate_limited', 'Too many executions of the organisation wait to begin; try again later');
}

/**
 * How many executions have started one another down to the ones a caller begins; 0 for who is no workflow.
 * @throws DomainError `limit_reached` where they would never end
 */
export async function generationOf({ em, actor }: Pick<WorkflowContext, 'em' | 'actor'>): Promise<number> {
  if (actor.execution === undefined) return 0;
  const sql = 'select generation from execution where id = $1';
  const [above] = await executeBound<{ generation: number }>(em, sql, [actor.execution]);
  const generation = (above?.generation ?? 0) + 1;
  if (generation > mostGenerations)
    throw new DomainError('limit_reached', `Executions start one another at most ${mostGenerations} times in a row`);
  return generation;
}
