import type { EntityManager } from '@mikro-orm/postgresql';
import { DomainError } from '../errors.ts';
import type { OrganizationRef } from '../organizations/organization.entity.ts';
import type { Services } from '../services.ts';
import { machineNamePattern } from '../shapes.ts';
import type { ProjectRef } from './project.entity.ts';
import { loadProject } from './project-ref.ts';

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
