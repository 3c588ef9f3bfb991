/** Who calls, and what callers may do: permissions, grants and actors. */
import type { EntityManager } from '@mikro-orm/postgresql';
import { DomainError } from './errors.ts';

/** The permissions that can be granted, each with the sentence people read when they grant it. None implies another. */
export const permissions = {
  browse_studio: 'Read schemas, entries, media, branches, commits, pull requests, environments and deployments',
  edit_studio: 'Create and change entries and media, create branches and pull requests, merge',
  delete_studio: 'Delete entries, media and branches',
  manage_studio: 'Change repository settings, environments and files outside collections, force-push',
  browse_crawlers: 'Read crawlers, their runs and snapshots',
  edit_crawlers: 'Create, change, schedule, run and stop crawlers',
  delete_crawlers: 'Delete crawlers',
  manage_crawlers: 'Verify domains, publish against a safety check, manage notification secrets',
  browse_workflows: 'Read workflows and their executions',
  edit_workflows: 'Create and change workflows, run, retry and redeliver by hand',
  delete_workflows: 'Delete workflows',
  manage_workflows: 'Reveal, rotate and revoke trigger secrets, manage workflow secrets',
  browse_organization: 'Read the organisation, its projects and members',
  manage_organization: 'Manage projects, members, tokens and settings, read the audit log',
} as const;

export type Permission = keyof typeof permissions;

export const permissionNames = Object.keys(permissions) as [Permission, ...Permission[]];

/** Whether a requirement is a permission that can be granted. */
export const isGrantable = (name: string): name is Permission => Object.hasOwn(permissions, name);

/** What an operation may require: a grantable permission, or a role that cannot be granted. */
export type Requirement = Permission | 'public' | 'signed_in' | 'person' | 'owner' | 'instance_admin' | 'run_token';

const withPrefix = (...prefixes: string[]) =>
  permissionNames.filter((name) => prefixes.includes(name.split('_')[0] ?? ''));

/** Role presets: plain sets, copied when used. Owner differs from Admin only in standing, not in permissions. */
export const presets = {
  owner: permissionNames as readonly Permission[],
  admin: permissionNames as readonly Permission[],
  editor: withPrefix('browse', 'edit', 'delete') as readonly Permission[],
  readonly: withPrefix('browse') as readonly Permission[],
} as const;

export type Preset = keyof typeof presets;

/** What an actor may do in one organisation. */
export interface Grant {
  organization_id: number;
  permissions: ReadonlySet<Permission>;
  /** Ids of the projects it is confined to; null means all, later ones included. */
  projects: ReadonlySet<number> | null;
  owner: boolean;
}

/** @throws DomainError `forbidden` for a grant without a permission */
export function requirePermission(grant: Grant | null, permission: Permission): void {
  if (!grant?.permissions.has(permission)) throw new DomainError('forbidden', `Missing permission: ${permission}`);
}

/** What a browser is signed in with. */
export interface Session {
  id: number;
  /** When the person last gave their password, or signed in by other means. */
  proved_at: Date;
}

/** What programs that act through tools may do with a credential. */
export interface ToolRights {
  /** Write to the default branch and to protected ones, and merge into them. */
  publish: boolean;
  /** Use all other operations beside the 24 tools. */
  all_operations: boolean;
}

/** Who calls. Every protocol makes one, and nothing enters an operation without it. */
export interface Actor {
  /** `user:<id>`, `token:<id>`, `workflow:<id>`, `run:<deployment>` or `system:<job>`: as written in audit rows, logs and commits. */
  id: string;
  /** Name and e-mail for the author line of a commit (RFC 5322 addr-spec). */
  author: { name: string; email: string };
  instance_admin: boolean;
  /** The person, with the session the call came with; absent for all other actors. */
  user?: { id: number; session: Session | null };
  /** Number of the only deployment it may report on, and nothing else; absent for everybody but a run's own token. */
  run?: number;
  /** Id of the execution whose step acts; absent for everybody but a workflow. */
  execution?: string;
  grantFor(organizationId: number): Grant | null;
  /** Ids of the organisations it has any grant in; null means all (the command line only). */
  organizations: readonly number[] | null;
  /** What its credential allows to programs that act through tools, beyond its permissions; absent: nothing. */
  tools?: ToolRights;
  /**
   * The actor its credential makes now; null when that has ended. `fresh` reads the database, otherwise what this process remembers will do.
   * Reads go through the transaction `within` where one is given, which must not wait for another connection. Absent for actors without a credential.
   */
  reload?(options: { fresh: boolean; within?: EntityManager }): Promise<Actor | null>;
}

/** An actor with the rights it has in one project: work that goes on for long names its place, and another project can take the name. */
export function confinedTo(actor: Actor, project: number): Actor {
  return {
    ...actor,
    grantFor(organization_id) {
      const grant = actor.grantFor(organization_id);
      return grant && (grant.projects?.has(project) ?? true) ? { ...grant, projects: new Set([project]) } : null;
    },
    async reload(options) {
      const now = actor.reload ? await actor.reload(options) : actor;
      return now && confinedTo(now, project);
    },
  };
}

/**
 * An actor of the service itself, confined to the permissions its job names. `instance_admin` is for the command line and the first start,
 * whose caller owns the data directory.
 */
export function systemActor(
  job: string,
  permissions: readonly Permission[],
  host: string,
  instance_admin = false,
): Actor {
  const set = new Set(permissions);
  return {
    id: `system:${job}`,
    author: { name: 'Portico', email: `${job}@${host}` },
    instance_admin,
    organizations: null,
    grantFor: (organization_id) => ({ organization_id, permissions: set, projects: null, owner: false }),
  };
}
