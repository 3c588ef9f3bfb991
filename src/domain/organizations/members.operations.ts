import { type EntityManager, LockMode } from '@mikro-orm/postgresql';
import { z } from 'zod';
import { presets } from '../../kernel/actor.ts';
import { DomainError, fieldError } from '../../kernel/errors.ts';
import { type OrganizationContext, organizationOperation } from '../../kernel/operation.ts';
import { findPage, pageInput, pageOf } from '../../kernel/paging.ts';
import { changeOf, permissionName, rolePreset, timestamp } from '../../kernel/shapes.ts';
import { userChanged } from '../identity/grant-cache.ts';
import { confinement, projectIds, projectNames, requireHeld } from '../identity/granting.ts';
import { endResetLinksIn, makeLink, OneTimeLink } from '../users/one-time-link.ts';
import { User } from '../users/user.entity.ts';
import { email } from '../users/user.ts';
import { Member } from './member.entity.ts';
import { holdOrganization, Organization } from './organization.entity.ts';

const rights = {
  role: rolePreset.describe('An Owner may also make Owners'),
  permissions: z.array(permissionName).max(14).optional().describe('Beside those of the role'),
  projects: confinement,
};

const member = z
  .object({
    id: z.int32(),
    user_id: z.int32(),
    email: z.string(),
    name: z.string().nullable().describe('null: invited, and not there yet'),
    role: rolePreset,
    permissions: z.array(permissionName).describe('Beside those of the role'),
    projects: z.array(z.string()).nullable().describe('Machine names; null: all'),
    created_at: timestamp,
    joined_at: timestamp.nullable(),
  })
  .meta({ id: 'Member' });

const invitedMember = member
  .extend({
    join_url: z.string().describe('Shown here only, good for one use'),
    expires_at: timestamp.describe('Of the link'),
  })
  .meta({ id: 'InvitedMember' });

/** Records of members, in three queries for all. */
async function present(em: EntityManager, rows: readonly Member[]) {
  const users = await em.find(User, { id: { $in: rows.map((row) => row.user_id) } });
  const people = new Map(users.map((row) => [row.id, row]));
  const projects = await projectNames(em, rows, { deleted_at: null });
  return rows.map((row) => ({
    id: row.id,
    user_id: row.user_id,
    email: people.get(row.user_id)?.email ?? '',
    name: row.joined_at ? (people.get(row.user_id)?.name ?? '') : null,
    role: row.role,
    permissions: row.permissions,
    projects: projects(row),
    created_at: row.created_at,
    joined_at: row.joined_at ?? null,
  }));
}

type Rights = Pick<Member, 'role' | 'permissions'> & { projects: string[] | null };
type Granting = Pick<OrganizationContext, 'em' | 'organization' | 'grant' | 'actor'>;

/**
 * The rights to store; a caller grants no more than they have.
 * @throws DomainError `forbidden`, or `invalid_request` for an unknown project
 */
async function rightsFrom({ em, organization, grant, actor }: Granting, wanted: Rights) {
  if (wanted.role === 'owner' && !grant.owner && !actor.instance_admin)
    throw new DomainError('forbidden', 'role: only an Owner of the organisation may make Owners');
  requireHeld(grant, [...presets[wanted.role], ...wanted.permissions]);
  if (wanted.role === 'owner' && wanted.projects)
    throw fieldError('invalid_request', 'projects', 'must be absent for an Owner, who has all');
  const given = new Set(presets[wanted.role]);
  return {
    role: wanted.role,
    permissions: [...new Set(wanted.permissions)].filter((name) => !given.has(name)),
    projects: await projectIds(em, organization, wanted.projects),
  };
}

/** Finds a member for a change; changes of one organisation's members wait for each other, so that its last Owner stays. */
async function findForChange({ em, organization, grant, actor }: Granting, text: string): Promise<Member> {
  await em.findOneOrFail(Organization, { id: organization.id }, { lockMode: LockMode.PESSIMISTIC_WRITE });
  const id = /^[1-9]\d{0,8}$/.test(text) ? Number(text) : 0;
  const row = await em.findOne(Member, { id, organization_id: organization.id });
  if (!row) throw new DomainError('not_found', 'Member not found');
  requireStanding({ grant, actor }, row);
  return row;
}

/** @throws DomainError `forbidden` for a member, or a person invited, whom only Owners may change */
function requireStanding({ grant, actor }: Pick<Granting, 'grant' | 'actor'>, { role }: Member): void {
  if (role === 'owner' && !grant.owner && !actor.instance_admin)
    throw new DomainError('forbidden', 'Only an Owner of the organisation may change or remove an Owner');
}

/** @throws DomainError `conflict` when no Owner would be left who has joined and can sign in */
async function requireOtherOwner(em: EntityManager, { id, organization_id, role, joined_at }: Member): Promise<void> {
  if (role !== 'owner' || !joined_at) return;
  const others = await em.find(Member, { organization_id, role: 'owner', joined_at: { $ne: null }, id: { $ne: id } });
  const people = await em.count(User, { id: { $in: others.map(({ user_id }) => user_id) }, disabled_at: null });
  if (people === 0)
    throw new DomainError('conflict', 'The last Owner of an organisation stays: make somebody else Owner first');
}

export const listMembers = organizationOperation({
  name: 'organizations.listMembers',
  kind: 'query',
  permission: 'browse_organization',
  confined: 'refused',
  summary: 'List the members of an organisation, those invited included',
  input: z.object({ ...pageInput }),
  output: pageOf(member),
  async execute({ em, organization }, input) {
    const { rows, asPage } = await findPage(
      em,
      input,
      Member,
      { organization_id: organization.id },
      { orderBy: { created_at: 'asc', id: 'asc' } },
    );
    return asPage(await present(em, rows));
  },
});

const common = {
  kind: 'command',
  permission: 'manage_organization',
  freshGrant: 'in_turn',
  recentProof: true,
  confined: 'refused',
  notInSteps: true,
} as const;

export const inviteMember = organizationOperation({
  ...common,
  name: 'organizations.inviteMember',
  summary: 'Invite a person into the organisation; the answer has the link to send them, since Portico sends no mail',
  input: z.object({ email, ...rights }),
  output: invitedMember,
  audit: ({ email }, output) => ({ type: 'member', id: output ? String(output.id) : (email ?? null) }),
  async execute(context, { email, role, permissions = [], projects = null }) {
    const { em, services, organization } = context;
    await holdOrganization(em, organization.id);
    const granted = await rightsFrom(context, { role, permissions, projects });
    const created_at = services.clock.now();
    await em.upsert(
      User,
      { email, name: email.split('@')[0] ?? email, instance_admin: false, preferences: {}, created_at },
      { onConflictFields: ['email'], onConflictAction: 'ignore' },
    );
    const user = await em.findOneOrFail(User, { email });
    const there = await em.findOne(Member, { organization_id: organization.id, user_id: user.id });
    if (there?.joined_at) throw fieldError('already_exists', 'email', `${email} is a member already`);
    if (there) requireStanding(context, there);
    const row =
      there ?? em.create(Member, { organization_id: organization.id, user_id: user.id, ...granted, created_at });
    Object.assign(row, granted);
    await em.flush();
    const { url, expires_at } = await makeLink(em, services, 'join', { user_id: user.id, member_id: row.id });
    const [shown] = await present(em, [row]);
    if (!shown) throw new Error('The member who was just invited is not there');
    return { ...shown, join_url: url, expires_at };
  },
});

export const updateMember = organizationOperation({
  ...common,
  name: 'organizations.updateMember',
  summary:
    'Change what a member may do; of a person who has not joined it ends the link of the invitation: invite them again',
  input: changeOf({
    member: z.string(),
    role: rights.role.optional(),
    permissions: rights.permissions,
    projects: rights.projects.nullable().describe('Machine names; null: all, later ones included'),
  }),
  output: member,
  audit: ({ member }) => ({ type: 'member', id: member }),
  async execute(context, { member: id, role, permissions, projects }) {
    const { em } = context;
    const row = await findForChange(context, id);
    const [before] = await present(em, [row]);
    const wanted = {
      role: role ?? row.role,
      permissions: permissions ?? row.permissions,
      projects: projects === undefined ? (before?.projects ?? null) : projects,
    };
    if (wanted.role !== 'owner') await requireOtherOwner(em, row);
    const wasOwner = row.role === 'owner';
    Object.assign(row, await rightsFrom(context, wanted));
    await em.flush();
    if (wasOwner && row.role !== 'owner') await endResetLinksIn(em, [row.organization_id]);
    // Who made the link may use it for themselves, and may lack what is given now.
    if (!row.joined_at) await em.nativeDelete(OneTimeLink, { member_id: row.id });
    await userChanged(em, row.user_id);
    const [after] = await present(em, [row]);
    if (!after) throw new Error('The member who was just changed is not there');
    return after;
  },
});

export const removeMember = organizationOperation({
  ...common,
  name: 'organizations.removeMember',
  irreversible: true,
  summary: 'Remove a member, or take an invitation back',
  input: z.object({ member: z.string() }),
  output: member,
  audit: ({ member }) => ({ type: 'member', id: member }),
  async execute(context, { member: id }) {
    const { em } = context;
    const row = await findForChange(context, id);
    await requireOtherOwner(em, row);
    const [shown] = await present(em, [row]);
    if (!shown) throw new Error('The member who is to be removed is not there');
    await em.nativeDelete(OneTimeLink, { member_id: row.id });
    if (row.role === 'owner') await endResetLinksIn(em, [row.organization_id]);
    await em.nativeDelete(Member, { id: row.id });
    await userChanged(em, row.user_id);
    return shown;
  },
});
