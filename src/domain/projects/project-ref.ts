import { LockMode } from '@mikro-orm/core';
import type { EntityManager } from '@mikro-orm/postgresql';
import { DomainError } from '../../kernel/errors.ts';
import type { Services } from '../../kernel/services.ts';
import { machineNamePattern } from '../../kernel/shapes.ts';
import type { OrganizationRef } from '../organizations/organization.entity.ts';
import { Upstream } from '../studio/upstream/upstream.entity.ts';
import { Project, type ProjectRef, studioSettings } from './project.entity.ts';

/** What operations know of a project that is not deleted; null when it does not exist. */
export async function loadProject(
  em: EntityManager,
  which: { id: number } | { uuid: string } | { organization_id: number; machine_name: string },
): Promise<ProjectRef | null> {
  const row = await em.findOne(Project, { ...which, deleted_at: null }, { disableIdentityMap: true });
  if (!row) return null;
  const { id, uuid, organization_id, machine_name, name, settings } = row;
  const is_mirror = (await em.count(Upstream, { project_id: id })) > 0;
  return { id, uuid, organization_id, machine_name, name, settings: studioSettings(settings), is_mirror };
}

/**
 * Finds a project of an organisation by its machine name, from the grant cache when it is there.
 * @throws DomainError `not_found`, also for a name that cannot be one and for deleted projects.
 */
export async function resolveProject(
  services: Services,
  em: () => EntityManager,
  organization: OrganizationRef,
  name: unknown,
): Promise<ProjectRef> {
  const missing = () => new DomainError('not_found', 'Project not found');
  if (typeof name !== 'string' || !machineNamePattern.test(name)) throw missing();
  return services.grants.project(organization.id, name, async () => {
    const found = await loadProject(em(), { organization_id: organization.id, machine_name: name });
    if (!found) throw missing();
    return found;
  });
}

/** The row of a project as it is now, held until the transaction ends: what is decided by it stays so. */
export const holdProject = (em: EntityManager, id: number): Promise<Project> =>
  em.findOneOrFail(Project, { id }, { refresh: true, lockMode: LockMode.PESSIMISTIC_WRITE });

/** The services as a project uses them: where its site stands decides how its content is read. */
export function servicesFor(services: Services, project: ProjectRef | null): Services {
  const content = services.content.below(project?.settings.content_root ?? null);
  return content === services.content ? services : { ...services, content };
}
