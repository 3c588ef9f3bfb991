import type { Permission } from './permissions.ts';

/** What an actor may do in one organisation. */
export interface Grant {
  organization_id: number;
  permissions: ReadonlySet<Permission>;
  /** Ids of the projects it is confined to; null means all, later ones included. */
  projects: ReadonlySet<number> | null;
  owner: boolean;
}

/** What a browser is signed in with. */
export interface Session {
  id: number;
  /** When the person last gave their password, or signed in by other means. */
  proved_at: Date;
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
  grantFor(organizationId: number): Grant | null;
  /** Ids of the organisations it has any grant in; null means all (the command line only). */
  organizations: readonly number[] | null;
  /** Reads the grant again from the database; null when the credential has ended. Absent for actors without one. */
  reload?(): Promise<Actor | null>;
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
