import { readdirSync } from 'node:fs';
import path from 'node:path';
import type { Actor } from '../../src/kernel/actor.ts';
import { type Permission, permissionNames } from '../../src/kernel/actor.ts';
import type { AnyOperation } from '../../src/kernel/operation.ts';

const domain = path.join(import.meta.dirname, '../../src/domain');

/** Every operation the domain exports, found by its shape. */
export async function exportedOperations(): Promise<AnyOperation[]> {
  const files = readdirSync(domain, { recursive: true, encoding: 'utf8' });
  const found: AnyOperation[] = [];
  for (const file of files.filter((name) => /\.operations?\.ts$/.test(name)).sort()) {
    const exported: object = await import(path.join(domain, file));
    for (const value of Object.values(exported))
      if (typeof value === 'object' && value && 'execute' in value && 'scope' in value) found.push(value);
  }
  return found;
}

/** A credential as the rules of rights see it. */
export interface Caller {
  title: string;
  permissions: readonly Permission[];
  /** Of the requested organisation, or of another one. */
  organization: 'here' | 'elsewhere';
  /** Projects it is confined to: none, the requested one, or another one. */
  projects: 'all' | 'here' | 'elsewhere';
}

const caller = (title: string, permissions: readonly Permission[], rest: Partial<Caller> = {}): Caller => ({
  title,
  permissions,
  organization: 'here',
  projects: 'all',
  ...rest,
});

/** No credential, every single permission for all projects and for the requested one, all of them, and all of them in other places. */
export const callers: readonly (Caller | null)[] = [
  null,
  ...permissionNames.map((name) => caller(`${name} alone`, [name])),
  ...permissionNames.map((name) => caller(`${name} alone, in this project alone`, [name], { projects: 'here' })),
  caller('all permissions, in this project alone', permissionNames, { projects: 'here' }),
  caller('all permissions, in another project alone', permissionNames, { projects: 'elsewhere' }),
  caller('all permissions of another organisation', permissionNames, { organization: 'elsewhere' }),
  caller('all permissions', permissionNames),
];

function holds({ permission, forPersons }: AnyOperation, { permissions }: Caller): boolean {
  // None of them is signed in.
  if (forPersons) return false;
  switch (permission) {
    case 'public':
    case 'signed_in':
      return true;
    case 'person':
    case 'owner':
    case 'instance_admin':
      return false;
    // Beside the token of the run itself.
    case 'run_token':
      return permissions.includes('manage_studio');
    default:
      return permissions.includes(permission as Permission);
  }
}

/** How a caller must be refused, from an operation's declaration alone; null when the declaration lets it in. */
export function refusalOf(operation: AnyOperation, by: Caller | null): 'unauthenticated' | 'forbidden' | null {
  const { scope, permission, confined } = operation;
  if (by === null) return scope === 'public' && permission === 'public' ? null : 'unauthenticated';
  const isOutside =
    (scope !== 'public' && by.organization === 'elsewhere') ||
    (scope === 'project' && by.projects === 'elsewhere') ||
    (scope === 'organization' && by.projects !== 'all' && confined !== 'own_projects');
  return isOutside || !holds(operation, by) ? 'forbidden' : null;
}

/** Refusals of a caller who is let in, for a further permission that the input needs and the operation declares. */
export const furtherRefusals = ({ also = {} }: AnyOperation): string[] =>
  Object.keys(also).map((name) => `Missing permission: ${name}`);

/** A caller as an actor, without a token behind it. */
export function actorOf(by: Caller, ids: { organization: number; project: number }): Actor {
  const projects = { all: null, here: new Set([ids.project]), elsewhere: new Set([ids.project + 1_000_000]) };
  const organization_id = ids.organization + (by.organization === 'elsewhere' ? 1_000_000 : 0);
  const grant = {
    organization_id,
    permissions: new Set(by.permissions),
    projects: projects[by.projects],
    owner: false,
  };
  return {
    id: 'token:999999',
    author: { name: 'Test', email: 'test@portico.test' },
    instance_admin: false,
    organizations: [organization_id],
    grantFor: (id) => (id === organization_id ? grant : null),
  };
}
