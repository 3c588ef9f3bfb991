import { LockMode } from '@mikro-orm/core';
import { z } from 'zod';
import { DomainError, fieldError } from '../../kernel/errors.ts';
import { publicOperation } from '../../kernel/operation.ts';
import { findPage, pageInput, pageOf } from '../../kernel/paging.ts';
import { changeOf, displayName, machineName, machineNameFrom, oneLine, timestamp } from '../../kernel/shapes.ts';
import { orTaken } from '../../kernel/sql.ts';
import { defined } from '../../lib/objects.ts';
import { grantsChanged, userChanged } from '../identity/grant-cache.ts';
import { Token } from '../identity/token.entity.ts';
import { organizationOperation } from '../projects/operation.ts';
import { Project } from '../projects/project.entity.ts';
import { endResetLinksIn } from '../users/one-time-link.ts';
import { Member, ownerOf } from './member.entity.ts';
import { Organization, type OrganizationRef } from './organization.entity.ts';

const limits = z
  .object({
    crawl_max_html: z.int().min(0).optional(),
    crawl_bytes: z.int().min(0).optional(),
    workflow_backlog: z.int().min(0).max(10_000_000).optional(),
    execution_days: z.int().min(1).max(3650).optional(),
    assistant_tokens_month: z.int32().min(0).optional(),
    assistant_days: z.int().min(1).max(3650).optional(),
  })
  .meta({ id: 'OrganizationLimits' });

export const organization = z
  .object({
    name: z.string().describe('Organisation name'),
    machine_name: z.string().describe('Organisation machine name (slug)'),
    type: z.string().optional().describe('Organisation type'),
    region: z.string().optional().describe('Organisation region'),
    subscription: z.string().optional().describe('Subscription type'),
    created_at: timestamp.optional(),
    updated_at: timestamp.optional(),
    limits: limits
      .optional()
      .describe(
        'Caps of this organisation; only for callers with manage_organization who are not confined to projects',
      ),
  })
  .meta({ id: 'Organization' });

const organizationSummary = organization.pick({ name: true, machine_name: true }).meta({ id: 'OrganizationSummary' });

const attribute = oneLine(100);
const changed = attribute.nullish().describe('null removes it');

const organizationChange = changeOf({
  name: displayName.optional(),
  type: changed,
  region: changed,
  subscription: changed,
  limits: limits.optional().describe('Only an instance admin may set them'),
});

const organizationDraft = organizationChange.extend({
  type: attribute.optional(),
  region: attribute.optional(),
  subscription: attribute.optional(),
  name: displayName,
  machine_name: machineName.optional().describe('Made from the name when absent'),
});

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
    const { rows, asPage } = await findPage(
      em,
      input,
      Organization,
      { deleted_at: null, ...(readable && { id: { $in: readable } }) },
      { orderBy: { name: 'asc', id: 'asc' } },
    );
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

export const locateOrganization = organizationOperation({
  name: 'organizations.locateOrganization',
  kind: 'query',
  permission: 'signed_in',
  confined: 'own_projects',
  summary: 'An organisation and what lies below it',
  input: z.object({}),
  output: z.object({ machine_name: z.string() }),
  execute: async ({ organization: { machine_name } }) => ({ machine_name }),
});

export const createOrganization = publicOperation({
  name: 'organizations.createOrganization',
  kind: 'command',
  permission: 'instance_admin',
  summary: 'Create an organisation; a person who does becomes its Owner',
  input: organizationDraft,
  output: organization,
  audit: (input, output) => ({ type: 'organization', id: output?.machine_name ?? input.machine_name ?? null }),
  async execute({ em, services, actor }, { limits = {}, ...draft }) {
    const now = services.clock.now();
    const machine_name = draft.machine_name ?? machineNameFrom(draft.name);
    const row = em.create(Organization, { ...draft, machine_name, limits, created_at: now, updated_at: now });
    await orTaken('machine_name', `${machine_name} is taken`, () => em.persist(row).flush());
    if (actor?.user) {
      await em.insert(Member, ownerOf(row.id, actor.user.id, now));
      await userChanged(em, actor.user.id);
    }
    return present(row, true);
  },
});

export const updateOrganization = organizationOperation({
  name: 'organizations.updateOrganization',
  kind: 'command',
  permission: 'manage_organization',
  freshGrant: true,
  confined: 'refused',
  summary: 'Change an organisation',
  input: organizationChange,
  output: organization,
  audit: (_input, _output, { organization: name }) => ({ type: 'organization', id: name }),
  async execute({ em, actor, services, organization: { id } }, { limits, ...change }) {
    if (limits && !actor.instance_admin)
      throw new DomainError('forbidden', 'limits: only an administrator of this instance may set them');
    // Locked, so that concurrent changes of other limits are not lost.
    const row = await em.findOneOrFail(Organization, { id }, { refresh: true, lockMode: LockMode.PESSIMISTIC_WRITE });
    em.assign(row, { ...defined(change), updated_at: services.clock.now() });
    if (limits) row.limits = { ...row.limits, ...limits } as Organization['limits'];
    await em.flush();
    await grantsChanged(em, id);
    return present(row, true);
  },
});

export const deleteOrganization = organizationOperation({
  name: 'organizations.deleteOrganization',
  kind: 'command',
  permission: 'owner',
  freshGrant: 'in_turn',
  recentProof: true,
  irreversible: true,
  confined: 'refused',
  notInSteps: true,
  summary: 'Delete an organisation with its projects, members and tokens; its data is removed after 30 days',
  input: z.object({ confirm: z.string().describe('Machine name of the organisation, as confirmation') }),
  output: organization,
  audit: (_input, _output, { organization: name }) => ({ type: 'organization', id: name }),
  /** Projects end as deleted ones do, and retention removes them, then the organisation. Rows of the audit log stay as long as all others. */
  async execute({ em, services, organization: { id, machine_name } }, { confirm }) {
    if (confirm !== machine_name)
      throw fieldError('invalid_request', 'confirm', `must be ${machine_name}, the name of what is to be deleted`);
    const now = services.clock.now();
    const ended = { deleted_at: now, updated_at: now };
    // Locked first, so that of two deletions one finds nothing left to delete.
    const where = { id, deleted_at: null };
    const row = await em.findOne(Organization, where, { refresh: true, lockMode: LockMode.PESSIMISTIC_WRITE });
    if (!row) throw new DomainError('not_found', 'Organisation not found');
    em.assign(row, ended);
    await em.flush();
    await em.nativeUpdate(Project, { organization_id: id, deleted_at: null }, ended);
    await em.nativeUpdate(Token, { organization_id: id, revoked_at: null }, { revoked_at: now });
    await endResetLinksIn(em, [id]);
    await em.nativeDelete(Member, { organization_id: id });
    await grantsChanged(em, id);
    return present(row, false);
  },
});
