import { raw } from '@mikro-orm/postgresql';
import { z } from 'zod';
import { presets } from '../../kernel/actor.ts';
import { DomainError, fieldError } from '../../kernel/errors.ts';
import { type OrganizationContext, organizationOperation } from '../../kernel/operation.ts';
import { findPage, pageInput, pageOf } from '../../kernel/paging.ts';
import { displayName, permissionName, rolePreset, timestamp } from '../../kernel/shapes.ts';
import { holdOrganization } from '../organizations/organization.entity.ts';
import { actorName, actorNames } from './actor-names.ts';
import { grantsChanged } from './grant-cache.ts';
import { confinement, projectIds, projectNames, requireHeld } from './granting.ts';
import { Token } from './token.entity.ts';
import { generateToken, hashToken } from './token-text.ts';

const flag = z.boolean().default(false);
const toolRights = z
  .object({
    publish: flag.describe('Write to the default branch and to protected ones, and merge into them; default false'),
    all_operations: flag.describe('Use all other operations beside the 24 tools; default false'),
  })
  .meta({ id: 'ToolRights' });

const tokenDraft = z.object({
  name: displayName,
  permissions: z
    .array(permissionName)
    .min(1, 'must name at least one permission')
    .max(14)
    .optional()
    .describe('Excludes `preset`'),
  preset: rolePreset.optional().describe('Excludes `permissions`'),
  projects: confinement,
  expires_in: z.enum(['30d', '90d', '365d', 'never']).default('90d').describe('Default 90d'),
  mcp: toolRights
    .prefault({})
    .describe('What clients of the Model Context Protocol may do with it beyond its permissions'),
});

const common = {
  id: z.int32(),
  name: z.string(),
  permissions: z.array(permissionName),
  projects: z.array(z.string()).nullable().describe('Machine names; null: all'),
  preset: rolePreset.nullable(),
  mcp: toolRights,
  expires_at: timestamp.nullable(),
};

const apiToken = z
  .object({
    ...common,
    last4: z.string().describe('Last four characters of the token'),
    last_used: timestamp.nullable(),
    created_by: z.string(),
    created_by_name: actorName,
    created_at: timestamp,
  })
  .meta({ id: 'ApiToken' });

const createdToken = z
  .object({ token: z.string().describe('Shown here only'), ...common, created_at: timestamp })
  .meta({ id: 'CreatedToken' });

const revokedToken = z.object({ message: z.string() }).meta({ id: 'RevokedToken' });

const days = { '30d': 30, '90d': 90, '365d': 365, never: null } as const;

type Asking = Pick<OrganizationContext, 'organization' | 'grant'>;

/** The tokens a caller can see and revoke: with a grant confined to projects only tokens confined to a subset of them. */
const withinReach = ({ organization, grant }: Asking) => ({
  organization_id: organization.id,
  revoked_at: null,
  ...(grant.projects && { [raw('projects <@ ?::jsonb', [JSON.stringify([...grant.projects])])]: [] }),
});

export const listTokens = organizationOperation({
  name: 'identity.listTokens',
  kind: 'query',
  permission: 'manage_organization',
  confined: 'own_projects',
  summary: 'List API tokens, without their secrets',
  input: z.object({ ...pageInput }),
  output: pageOf(apiToken),
  async execute({ em, services, organization, grant }, input) {
    const living = { $or: [{ expires_at: null }, { expires_at: { $gt: services.clock.now() } }] };
    const { rows, asPage } = await findPage(
      em,
      input,
      Token,
      { ...withinReach({ organization, grant }), ...living },
      { orderBy: { created_at: 'desc', id: 'desc' } },
    );
    const projects = await projectNames(em, rows);
    const nameOf = await actorNames(
      { em, organization },
      rows.map(({ created_by }) => created_by),
    );
    const items = rows.map((row) => ({
      id: row.id,
      name: row.name,
      last4: row.last4,
      permissions: row.permissions,
      projects: projects(row),
      preset: row.preset ?? null,
      mcp: row.mcp,
      expires_at: row.expires_at ?? null,
      last_used: row.last_used ?? null,
      created_by: row.created_by,
      created_by_name: nameOf(row.created_by),
      created_at: row.created_at,
    }));
    return asPage(items);
  },
});

export const createToken = organizationOperation({
  name: 'identity.createToken',
  kind: 'command',
  permission: 'manage_organization',
  freshGrant: 'in_turn',
  recentProof: true,
  confined: 'own_projects',
  summary: 'Create an API token; its text is shown in this answer only',
  input: tokenDraft,
  output: createdToken,
  audit: (_input, output) => ({ type: 'token', id: output ? String(output.id) : null }),
  async execute({ em, services, organization, grant, actor }, draft) {
    if (draft.permissions && draft.preset)
      throw fieldError('invalid_request', 'permissions', 'excludes preset; give one of the two');
    const preset = draft.preset ?? null;
    const permissions = draft.permissions ?? (preset ? presets[preset] : null);
    if (!permissions) throw fieldError('invalid_request', 'permissions', 'is required, or a preset');
    requireHeld(grant, permissions);
    await holdOrganization(em, organization.id);
    const projects = await projectIds(em, organization, draft.projects ?? null);
    const beyond = grant.projects && (projects ? projects.find((id) => !grant.projects?.has(id)) : 'all');
    if (beyond)
      throw new DomainError('forbidden', 'projects: you cannot grant access to projects you have no access to');

    const token = generateToken();
    const now = services.clock.now();
    const life = days[draft.expires_in];
    const row = em.create(Token, {
      organization_id: organization.id,
      name: draft.name,
      hash: hashToken(token),
      last4: token.slice(-4),
      permissions: [...new Set(permissions)],
      preset,
      projects,
      mcp: draft.mcp,
      created_by: actor.id,
      created_at: now,
      expires_at: life === null ? null : new Date(now.getTime() + life * 24 * 3600_000),
    });
    await em.persist(row).flush();
    return {
      token,
      id: row.id,
      name: row.name,
      permissions: row.permissions,
      projects: draft.projects ? [...new Set(draft.projects)].sort() : null,
      preset,
      mcp: row.mcp,
      expires_at: row.expires_at ?? null,
      created_at: now,
    };
  },
});

export const revokeToken = organizationOperation({
  name: 'identity.revokeToken',
  kind: 'command',
  permission: 'manage_organization',
  freshGrant: 'in_turn',
  irreversible: true,
  confined: 'own_projects',
  summary: 'Revoke an API token at once',
  input: z.object({ token_id: z.string() }),
  output: revokedToken,
  audit: ({ token_id }) => ({ type: 'token', id: token_id }),
  async execute({ em, services, organization, grant }, { token_id }) {
    const id = /^[1-9]\d{0,8}$/.test(token_id) ? Number(token_id) : 0;
    const revoked = await em.nativeUpdate(
      Token,
      { id, ...withinReach({ organization, grant }) },
      { revoked_at: services.clock.now() },
    );
    if (revoked === 0) throw new DomainError('not_found', 'Token not found');
    await grantsChanged(em, organization.id);
    return { message: 'Token revoked' };
  },
});
