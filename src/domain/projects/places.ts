import { DomainError, fieldError } from '../../kernel/errors.ts';
import type { Fork, Places } from '../../kernel/services.ts';
import { machineNamePattern } from '../../kernel/shapes.ts';
import type { GrantCache } from '../identity/grant-cache.ts';
import { Organization, type OrganizationRef } from '../organizations/organization.entity.ts';
import type { ProjectRef } from './project.entity.ts';
import { loadProject } from './project-ref.ts';

/** Finds organisations and projects by their machine names, from the grant cache when they are there. */
export class NamedPlaces implements Places {
  readonly #grants: GrantCache;

  constructor(grants: GrantCache) {
    this.#grants = grants;
  }

  async organization(em: Fork, name: unknown): Promise<OrganizationRef> {
    if (typeof name !== 'string' || !machineNamePattern.test(name)) {
      throw fieldError(
        'invalid_request',
        'organization',
        'must be the machine name of an organisation: 1 to 63 of a-z, 0-9 and -',
      );
    }
    return this.#grants.organization(name, async () => {
      const row = await em().findOne(
        Organization,
        { machine_name: name, deleted_at: null },
        { disableIdentityMap: true },
      );
      if (!row) throw new DomainError('not_found', 'Organisation not found');
      const { id, machine_name, type, region, subscription, limits, created_at, updated_at } = row;
      return { id, machine_name, name: row.name, type, region, subscription, limits, created_at, updated_at };
    });
  }

  async project(em: Fork, organization: { id: number }, name: unknown): Promise<ProjectRef> {
    const missing = () => new DomainError('not_found', 'Project not found');
    if (typeof name !== 'string' || !machineNamePattern.test(name)) throw missing();
    return this.#grants.project(organization.id, name, async () => {
      const found = await loadProject(em(), { organization_id: organization.id, machine_name: name });
      if (!found) throw missing();
      return found;
    });
  }
}
