import type { EntityManager } from '@mikro-orm/postgresql';
import type { OrganizationRef } from '../domain/organizations/organization.entity.ts';
import { resolveOrganization } from '../domain/organizations/resolve-organization.ts';
import type { ProjectRef } from '../domain/projects/project.entity.ts';
import { resolveProject } from '../domain/projects/project-ref.ts';
import type { Actor, Grant } from './actor.ts';
import { DomainError } from './errors.ts';
import type { AnyOperation, Call } from './operation.ts';
import type { Permission } from './permissions.ts';

/** The entity manager of a call, made when it is first asked for: what the caches answer needs none. */
export type Fork = () => EntityManager;

export function forkOnce(call: Call): Fork {
  let fork: EntityManager | undefined;
  return () => {
    fork ??= call.services.orm.em.fork();
    return fork;
  };
}

/** Where a call acts, resolved once. */
export interface Place {
  organization: OrganizationRef | null;
  project: ProjectRef | null;
  grant: Grant | null;
}

const unauthenticated = () => new DomainError('unauthenticated', 'Unauthenticated');
const forbidden = (message: string) => new DomainError('forbidden', message);

export function requirePermission(grant: Grant | null, permission: Permission): void {
  if (!grant?.permissions.has(permission)) throw forbidden(`Missing permission: ${permission}`);
}

/**
 * Decides by an operation's declaration alone whether an actor may run it.
 * @throws DomainError `unauthenticated`, or `forbidden` with what is missing
 */
export function authorise(operation: AnyOperation, actor: Actor | null, place: Place): void {
  requireStanding(operation, actor, place);
  if (operation.scope === 'organization' && operation.confined !== 'own_projects' && place.grant?.projects)
    throw forbidden(
      `This credential is confined to projects; ${operation.name} is about the whole organisation and needs a credential for all of its projects`,
    );
}

function requireStanding({ permission }: AnyOperation, actor: Actor | null, { grant }: Place): void {
  if (permission === 'public') return;
  if (!actor) throw unauthenticated();
  if (actor.run !== undefined && permission !== 'run_token')
    throw forbidden('The token of a run is only for reports on it');
  switch (permission) {
    case 'signed_in':
      return;
    case 'instance_admin':
      if (!actor.instance_admin) throw forbidden('Only an administrator of this instance may do this');
      return;
    case 'owner':
      if (!grant?.owner) throw forbidden('Only an Owner of the organisation may do this');
      return;
    case 'run_token':
      if (actor.run === undefined) requirePermission(grant, 'manage_studio');
      return;
    default:
      requirePermission(grant, permission);
  }
}

/**
 * Finds where an input acts, and sets it in `place` as far as that goes.
 * @throws DomainError for what does not exist, and for callers without access to it
 */
export async function locate(
  operation: AnyOperation,
  call: Call,
  em: Fork,
  actor: Actor | null,
  input: unknown,
  place: Place,
): Promise<void> {
  if (operation.scope === 'public') return;
  if (!actor) throw unauthenticated();
  const names = (input ?? {}) as { organization?: unknown; project?: unknown };
  place.organization = await resolveOrganization(call.services, em, names.organization);
  place.grant = actor.grantFor(place.organization.id);
  if (!place.grant) throw forbidden('This credential has no access to the organisation');
  if (operation.scope === 'organization') return;
  place.project = await resolveProject(call.services, em, place.organization, names.project);
  const { projects } = place.grant;
  if (projects && !projects.has(place.project.id)) throw forbidden('This credential has no access to the project');
}
