import type { Actor } from '../../kernel/actor.ts';
import type { Services } from '../../kernel/services.ts';
import { executeBound } from '../../kernel/sql.ts';

/** A project that a credential reaches, by machine names. */
export interface ReachedProject {
  organization: string;
  project: string;
}

// One statement: a tool that names no project waits for it. `$2` is null for all projects of the organisation.
const reachedSql = `
  select organization.machine_name as organization, project.machine_name as project
  from project join organization on organization.id = project.organization_id
  where organization.id = $1 and ($2::integer[] is null or project.id = any($2))
    and project.deleted_at is null and organization.deleted_at is null
  order by project.machine_name limit 100`;

/** The projects a credential reaches, by name, at most 100 of an organisation. */
export async function reachedProjects({ orm }: Pick<Services, 'orm'>, actor: Actor): Promise<ReachedProject[]> {
  const em = orm.em.fork();
  const reached = (actor.organizations ?? []).map((id) => {
    const projects = actor.grantFor(id)?.projects ?? null;
    return executeBound<ReachedProject>(em, reachedSql, [id, projects && [...projects]]);
  });
  return (await Promise.all(reached)).flat();
}
