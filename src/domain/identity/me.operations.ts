import { z } from 'zod';
import { publicOperation } from '../../kernel/operation.ts';
import { permissionName } from '../../kernel/shapes.ts';
import { Organization } from '../organizations/organization.entity.ts';
import { Project } from '../projects/project.entity.ts';
import { preferences, presentPreferences } from '../users/account.operations.ts';
import { findUser } from '../users/user.ts';

/** Organisations named at most; a person in more finds the others in their list. */
const maxGrants = 100;

const grant = z
  .object({
    organization: z.string().describe('Machine name'),
    owner: z.boolean(),
    permissions: z.array(permissionName),
    projects: z.array(z.string()).nullable().describe('Machine names; null: all'),
  })
  .meta({ id: 'Grant' });

const me = z
  .object({
    id: z.string().describe('`token:<id>` or `user:<id>`, as in the audit log'),
    name: z.string(),
    email: z.string().nullable().describe('Of a person; null for a token'),
    preferences: preferences.nullable().describe('What a person has chosen for the dashboard; null for a token'),
    instance_admin: z.boolean(),
    grants: z.array(grant).describe(`What the caller may do in each organisation, the first ${maxGrants} by name`),
  })
  .meta({ id: 'Me' });

export const getMe = publicOperation({
  name: 'identity.getMe',
  kind: 'query',
  permission: 'public',
  summary: 'Who is calling, and what they may do; null without a credential',
  input: z.object({}),
  output: me.nullable(),
  async execute({ em, actor }) {
    if (!actor) return null;
    const organizations = await em.find(
      Organization,
      actor.organizations ? { id: { $in: [...actor.organizations] } } : {},
      { orderBy: { name: 'asc', id: 'asc' }, limit: maxGrants },
    );
    const grants = organizations.flatMap((row) => {
      const held = actor.grantFor(row.id);
      return held ? [{ row, held }] : [];
    });
    const ids = grants.flatMap(({ held }) => [...(held.projects ?? [])]);
    const projects = ids.length > 0 ? await em.find(Project, { id: { $in: ids }, deleted_at: null }) : [];
    const names = new Map(projects.map((row) => [row.id, row.machine_name]));
    return {
      id: actor.id,
      name: actor.author.name,
      email: actor.user ? actor.author.email : null,
      preferences: actor.user ? presentPreferences((await findUser(em, actor.user.id)).preferences) : null,
      instance_admin: actor.instance_admin,
      grants: grants.map(({ row, held }) => ({
        organization: row.machine_name,
        owner: held.owner,
        permissions: [...held.permissions],
        projects: held.projects && [...held.projects].flatMap((id) => names.get(id) ?? []).sort(),
      })),
    };
  },
});
