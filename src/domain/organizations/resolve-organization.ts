import type { EntityManager } from '@mikro-orm/postgresql';
import { DomainError, fieldError } from '../../kernel/errors.ts';
import type { Services } from '../../kernel/services.ts';
import { machineNamePattern } from '../../kernel/shapes.ts';
import { Organization, type OrganizationRef } from './organization.entity.ts';

/**
 * Finds an organisation by its machine name, from the grant cache when it is there.
 * @throws DomainError `invalid_request` when the name cannot be one, `not_found` when it does not exist.
 */
export async function resolveOrganization(
  services: Services,
  em: () => EntityManager,
  name: unknown,
): Promise<OrganizationRef> {
  if (typeof name !== 'string' || !machineNamePattern.test(name)) {
    throw fieldError(
      'invalid_request',
      'organization',
      'must be the machine name of an organisation: 1 to 63 of a-z, 0-9 and -',
    );
  }
  return services.grants.organization(name, async () => {
    const row = await em().findOne(Organization, { machine_name: name }, { disableIdentityMap: true });
    if (!row) throw new DomainError('not_found', 'Organisation not found');
    const { id, machine_name, type, region, subscription, limits, created_at, updated_at } = row;
    return { id, machine_name, name: row.name, type, region, subscription, limits, created_at, updated_at };
  });
}
