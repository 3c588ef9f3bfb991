import type { Actor } from '../../kernel/actor.ts';
import type { Services } from '../../kernel/services.ts';
import { Organization } from '../organizations/organization.entity.ts';
import { Project } from '../projects/project.entity.ts';

/** Projects of a credential that are looked at, when it names none. */
const most = 100;

/** A project that a credential reaches, by machine names. */
export interface ReachedProject {
  organization: string;
  project: string;
}

/** The projects a credential reaches, by name, at most 100. */
export async function reachedProjects({ orm }: Pick<Services, 'orm'>, actor: Actor): Promise<ReachedProject[]> {
  const em = orm.em.fork();
  const plain = { disableIdentityMap: true } as const;
  const ids = [...(actor.organizations ?? [])];
  const organizations = await em.find(Organization, { id: { $in: ids }, deleted_at: null }, plain);
  const names = new Map(organizations.map(({ id, machine_name }) => [id, machine_name]));
  const reached = [...names.keys()].map((organization_id) => {
    const projects = actor.grantFor(organization_id)?.projects;
    return { organization_id, ...(projects && { id: { $in: [...projects] } }) };
  });
  if (reached.length === 0) return [];
  const options = { ...plain, orderBy: { machine_name: 'asc', id: 'asc' }, limit: most } as const;
  const projects = await em.find(Project, { deleted_at: null, $or: reached }, options);
  return projects.map(({ organization_id, machine_name }) => ({
    organization: names.get(organization_id) ?? '',
    project: machine_name,
  }));
}
