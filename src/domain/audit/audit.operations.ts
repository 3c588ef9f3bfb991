import { raw } from '@mikro-orm/postgresql';
import { z } from 'zod';
import { organizationOperation } from '../../kernel/operation.ts';
import { findPage, pageInput, pageOf } from '../../kernel/paging.ts';
import { oneLine, timestamp } from '../../kernel/shapes.ts';
import { actorName, actorNames } from '../identity/actor-names.ts';
import { Project } from '../projects/project.entity.ts';
import { signInWithProvider } from '../users/openid.operations.ts';
import { signIn, signOut } from '../users/sign-in.operations.ts';
import { acceptInvitation, resetPassword } from '../users/users.operations.ts';
import { AuditRow } from './audit.entity.ts';

const auditEntry = z
  .object({
    id: z.uuid(),
    at: timestamp,
    project: z.string().nullable(),
    actor: z.string(),
    actor_name: actorName,
    address: z.string().nullable(),
    action: z.string(),
    subject_type: z.string(),
    subject_id: z.string().nullable(),
    outcome: z.enum(['ok', 'denied', 'failed']),
    changes: z.record(z.string(), z.unknown()),
    request_id: z.string(),
  })
  .meta({ id: 'AuditEntry' });

const filter = oneLine(200).optional();

/** What begins and ends sessions, which belong to no organisation. */
const signings = [signIn, signInWithProvider, signOut, resetPassword, acceptInvitation].map(({ name }) => name);

/**
 * Those of an organisation's members since each joined, and attempts with their addresses. `audit_organization` finds the rows without an
 * organisation; where the organisation's own are many, its rows and these are read from the end of the primary key.
 */
const signingsOfMembers = (organization: number) =>
  raw(
    `organization_id is null and action = any(?::text[]) and exists (
      select 1 from member join "user" on "user".id = member.user_id
      where member.organization_id = ? and member.joined_at <= at
        and (actor = 'user:' || "user".id or subject_type = 'user' and subject_id in ("user".id::text, "user".email)))`,
    [`{${signings.join(',')}}`, organization],
  );

export const listAudit = organizationOperation({
  name: 'audit.listAudit',
  kind: 'query',
  permission: 'manage_organization',
  confined: 'refused',
  summary: 'Read the audit log, newest first, with the sign-ins of members',
  input: z.object({
    ...pageInput,
    actor: filter,
    action: filter,
    subject: filter.describe('Kind of the subject, or kind:id'),
    since: timestamp.optional(),
    until: timestamp.optional(),
  }),
  output: pageOf(auditEntry),
  async execute({ em, organization }, { actor, action, subject, since, until, ...paging }) {
    const [subject_type, ...rest] = subject?.split(':') ?? [];
    const { rows, asPage } = await findPage(
      em,
      paging,
      AuditRow,
      {
        $or: [{ organization_id: organization.id }, { [signingsOfMembers(organization.id)]: [] }],
        ...(actor !== undefined && { actor }),
        ...(action !== undefined && { action }),
        ...(subject_type && { subject_type }),
        ...(rest.length > 0 && { subject_id: rest.join(':') }),
        ...((since || until) && { at: { ...(since && { $gte: since }), ...(until && { $lt: until }) } }),
      },
      { orderBy: { id: 'desc' } },
    );
    const ids = [...new Set(rows.flatMap((row) => row.project_id ?? []))];
    const projects = ids.length > 0 ? await em.find(Project, { id: { $in: ids } }, { fields: ['machine_name'] }) : [];
    const nameOf = await actorNames(
      { em, organization },
      rows.map(({ actor }) => actor),
    );
    const names = new Map(projects.map((row) => [row.id, row.machine_name]));
    const items = rows.map(({ project_id, organization_id: _, ...row }) => ({
      ...row,
      actor_name: nameOf(row.actor),
      project: project_id == null ? null : (names.get(project_id) ?? null),
      address: row.address ?? null,
      subject_id: row.subject_id ?? null,
      changes: row.changes as Record<string, unknown>,
    }));
    return asPage(items);
  },
});
