import { LockMode } from '@mikro-orm/core';
import { z } from 'zod';
import { defined } from '../defined.ts';
import { DomainError } from '../errors.ts';
import { grantsChanged } from '../identity/grants-changed.ts';
import { machineNameFrom } from '../machine-name.ts';
import { organizationOperation, publicOperation } from '../operation.ts';
import { findPage, pageInput, pageOf } from '../paging.ts';
import { orTaken } from '../unique-violation.ts';
import { Organization, type OrganizationRef } from './organization.entity.ts';
import { organization, organizationChange, organizationDraft, organizationSummary } from './organizations.schema.ts';

/** The documented fields of a row: one without a value is absent, never null. */
function present(row: OrganizationRef, withLimits: boolean): z.output<typeof organization> {
  return {
    name: row.name,
    machine_name: row.machine_name,
    ...(row.type != null && { type: row.type }),
    ...(row.region != null && { region: row.region }),
    ...(row.subscription != null && { subscription: row.subscription }),
    created_at: row.created_at,
    updated_at: row.updated_at,
    ...(withLimits && { limits: row.limits }),
  };
}

export const listOrganizations = publicOperation({
  name: 'organizations.listOrganizations',
  kind: 'query',
  permission: 'signed_in',
  summary: 'List the organisations the caller may read',
  input: z.object({ ...pageInput }),
  output: pageOf(organizationSummary),
  async execute({ em, actor }, input) {
    const readable = actor?.organizations?.filter((id) => actor.grantFor(id)?.permissions.has('browse_organization'));
    const { rows, asPage } = await findPage(em, input, Organization, readable ? { id: { $in: readable } } : {}, {
      orderBy: { name: 'asc', id: 'asc' },
    });
    return asPage(rows.map(({ name, machine_name }) => ({ name, machine_name })));
  },
});

export const getOrganization = organizationOperation({
  name: 'organizations.getOrganization',
  kind: 'query',
  permission: 'browse_organization',
  confined: 'own_projects',
  summary: 'Get an organisation',
  input: z.object({}),
  output: organization,
  async execute({ organization: row, grant }) {
    return present(row, grant.permissions.has('manage_organization') && grant.projects === null);
  },
});

export const createOrganization = publicOperation({
  name: 'organizations.createOrganization',
  kind: 'command',
  permission: 'instance_admin',
  summary: 'Create an organisation',
  input: organizationDraft,
  output: organization,
  audit: (input, output) => ({ type: 'organization', id: output?.machine_name ?? input.machine_name ?? null }),
  async execute({ em, services }, { limits = {}, ...draft }) {
    const now = services.clock.now();
    const machine_name = draft.machine_name ?? machineNameFrom(draft.name);
    const row = em.create(Organization, { ...draft, machine_name, limits, created_at: now, updated_at: now });
    await orTaken('machine_name', `${machine_name} is taken`, () => em.persist(row).flush());
    return present(row, true);
  },
});

export const updateOrganization = organizationOperation({
  name: 'organizations.updateOrganization',
  kind: 'command',
  permission: 'manage_organization',
  fresh: true,
  confined: 'refused',
  summary: 'Change an organisation',
  input: organizationChange,
  output: organization,
  audit: (_input, _output, { organization: name }) => ({ type: 'organization', id: name }),
  async execute({ em, actor, services, organization: { id } }, { limits, ...change }) {
    if (limits && !actor.instance_admin)
      throw new DomainError('forbidden', 'limits: only an administrator of this instance may set them');
    // Held, so that nobody's limits are lost who changes others at the same time.
    const row = await em.findOneOrFail(Organization, { id }, { refresh: true, lockMode: LockMode.PESSIMISTIC_WRITE });
    em.assign(row, { ...defined(change), updated_at: services.clock.now() });
    if (limits) row.limits = { ...row.limits, ...limits } as Organization['limits'];
    await em.flush();
    await grantsChanged(em, id);
    return present(row, true);
  },
});
