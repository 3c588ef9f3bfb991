import type { EntityManager } from '@mikro-orm/postgresql';

/** Header by which a request says how many executions of workflows have started one another down to what sends it. */
export const generationHeader = 'portico-generation';

/** How long an execution counts as a possible cause of a hook's call, milliseconds. */
const recent = 60_000;

const sql = `
  select max(generation) as generation from (
    select generation from execution where project_id = ? and status = 'running' and started_at > ?
    union all
    select generation from execution where project_id = ? and finished_at > ?
  ) as near`;

/**
 * The header of a call that a project makes of itself, for a deployment or of a crawler. What workflows start may lead to such a call by many ways, such
 * as a commit whose branch is deployed; it may call a webhook that starts them anew. So all executions of the last minute count: a loop goes
 * on no faster than that.
 */
export async function generationOfProject(
  em: EntityManager,
  project_id: number,
  now: Date,
): Promise<Record<string, string>> {
  const since = new Date(now.getTime() - recent);
  const [near] = await em.execute<{ generation: number | null }[]>(sql, [project_id, since, project_id, since]);
  const generation = near?.generation ?? null;
  return generation === null ? {} : { [generationHeader]: String(generation) };
}
