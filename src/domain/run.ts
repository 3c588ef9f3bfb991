import type { EntityManager } from '@mikro-orm/postgresql';
import { z } from 'zod';
import type { AuditOutcome } from './audit/audit.entity.ts';
import { recordAudit } from './audit/audit.ts';
import { DomainError } from './errors.ts';
import { claimIdempotency, type IdempotencyClaim } from './idempotency.ts';
import type { Actor, Grant } from './identity/actor.ts';
import { organizationsChanged } from './identity/grants-changed.ts';
import { type AnyOperation, type Call, NotModified, type Operation, type Scope } from './operation.ts';
import type { OrganizationRef } from './organizations/organization.entity.ts';
import { resolveOrganization } from './organizations/resolve-organization.ts';
import { parseInput } from './parse.ts';
import type { Permission } from './permissions.ts';
import type { ProjectRef } from './projects/project.entity.ts';
import { resolveProject } from './projects/resolve-project.ts';
import type { Services } from './services.ts';
import { asUnavailable } from './unavailable.ts';

/** The entity manager of a call, made when it is first asked for: what the caches answer needs none. */
type Fork = () => EntityManager;

function forkOnce(call: Call): Fork {
  let fork: EntityManager | undefined;
  return () => {
    fork ??= call.services.orm.em.fork();
    return fork;
  };
}

/** Where a call acts, resolved once. */
interface Place {
  organization: OrganizationRef | null;
  project: ProjectRef | null;
  grant: Grant | null;
}

const unauthenticated = () => new DomainError('unauthenticated', 'Unauthenticated');
const forbidden = (message: string) => new DomainError('forbidden', message);

function requirePermission(grant: Grant | null, permission: Permission): void {
  if (!grant?.permissions.has(permission)) throw forbidden(`Permission ${permission} is required`);
}

function authorise(operation: AnyOperation, actor: Actor | null, { organization, grant }: Place): void {
  if (operation.permission === 'public') return;
  if (!actor) throw unauthenticated();
  switch (operation.permission) {
    case 'signed_in':
      return;
    case 'instance_admin':
      if (!actor.instance_admin) throw forbidden('Only an administrator of this instance may do this');
      return;
    case 'owner':
      if (!grant?.owner) throw forbidden('Only an Owner of the organisation may do this');
      return;
    case 'run_token':
      throw forbidden('Only the token of the run may do this');
    default:
      if (organization) requirePermission(grant, operation.permission);
  }
}

async function locate(
  operation: AnyOperation,
  call: Call,
  em: Fork,
  actor: Actor | null,
  input: unknown,
): Promise<Place> {
  const place: Place = { organization: null, project: null, grant: null };
  if (operation.scope === 'public') return place;
  if (!actor) throw unauthenticated();
  const names = (input ?? {}) as { organization?: unknown; project?: unknown };
  place.organization = await resolveOrganization(call.services, em, names.organization);
  place.grant = actor.grantFor(place.organization.id);
  if (!place.grant) throw forbidden('This credential has no access to the organisation');
  if (operation.scope === 'organization') return place;
  place.project = await resolveProject(call.services, em, place.organization, names.project);
  const { projects } = place.grant;
  if (projects && !projects.has(place.project.id)) throw forbidden('This credential has no access to the project');
  return place;
}

/** What a project has chosen decides how its content is read. */
function servicesFor(services: Services, project: ProjectRef | null): Services {
  const content = services.content.below(project?.settings.content_root ?? null);
  return content === services.content ? services : { ...services, content };
}

function makeContext(operation: AnyOperation, call: Call, em: Fork, actor: Actor | null, place: Place) {
  const { conditions, signal } = call;
  return {
    services: servicesFor(call.services, place.project),
    get em() {
      return em();
    },
    conditions,
    signal,
    ...(call.uploads && { uploads: call.uploads }),
    actor,
    log: call.services.log,
    organization: place.organization,
    grant: place.grant,
    project: place.project,
    git: place.project ? call.services.git.open(place.project.uuid) : undefined,
    require: (permission: Permission) => requirePermission(place.grant, permission),
    tag: (etag: string) => {
      call.facts.etag = etag;
      const wanted = conditions.if_none_match;
      if (operation.kind !== 'query' || !wanted) return;
      if (wanted === '*' || wanted.split(',').some((tag) => tag.trim().replace(/^W\//, '') === etag))
        throw new NotModified();
    },
  };
}

/** Executes and shapes the output; a command of the database does both inside its transaction, with its audit row. */
async function perform(
  operation: AnyOperation,
  call: Call,
  em: Fork,
  actor: Actor | null,
  place: Place,
  input: unknown,
) {
  const act = async (within: Fork) => {
    const result = await operation.execute(makeContext(operation, call, within, actor, place) as never, input as never);
    const output = z.encode(operation.output as z.ZodType, result);
    if (operation.kind === 'command') await audit(operation, call, within(), actor, place, input, 'ok', result);
    return output;
  };
  if (operation.kind === 'command' && operation.effect !== 'external') {
    let within: EntityManager | undefined;
    const output = await em().transactional((fork) => {
      within = fork;
      return act(() => fork);
    });
    // The caller's next request finds its own change, even before the notification has come round.
    if (within) for (const id of organizationsChanged(within)) call.services.grants.evict(id);
    return output;
  }
  return act(em);
}

async function audit(
  operation: AnyOperation,
  call: Call,
  em: EntityManager,
  actor: Actor | null,
  place: Place,
  input: unknown,
  outcome: AuditOutcome,
  output: unknown,
): Promise<void> {
  if (operation.kind !== 'command') return;
  await recordAudit(em, {
    call,
    action: operation.name,
    actor,
    organization_id: place.organization?.id ?? null,
    project_id: place.project?.id ?? null,
    subject: operation.audit(input as never, output as never),
    outcome,
    input: input as Record<string, unknown>,
  });
}

/** A command that was refused or failed leaves a row of its own; the refusal itself stays what the caller sees. */
async function auditFailure(
  operation: AnyOperation,
  call: Call,
  actor: Actor | null,
  place: Place,
  input: unknown,
  error: unknown,
) {
  const known = error instanceof DomainError ? error.code : 'internal';
  if (!actor || known === 'unauthenticated' || known === 'unavailable') return;
  const outcome: AuditOutcome = known === 'forbidden' || known === 'branch_protected' ? 'denied' : 'failed';
  try {
    await audit(operation, call, call.services.orm.em.fork(), actor, place, input ?? {}, outcome, null);
  } catch (cause) {
    call.services.log.error({ err: cause, action: operation.name }, 'audit row of a refused command not written');
  }
}

/**
 * The only door to an operation: authorise, parse, execute (a command of the database in one transaction), shape the output, log.
 * @returns the output as it goes on the wire: nothing undeclared leaves.
 * @throws DomainError for refusals; anything else is a fault of ours.
 */
export async function run<S extends Scope, In extends z.ZodObject, Out extends z.ZodType, Also extends Permission>(
  operation: Operation<S, In, Out, Also>,
  call: Call,
  rawInput: unknown,
): Promise<z.input<Out>> {
  const any = operation as unknown as AnyOperation;
  const began = performance.now();
  const em = forkOnce(call);
  let place: Place = { organization: null, project: null, grant: null };
  let actor = call.actor;
  let input: unknown;
  let claim: IdempotencyClaim | null = null;
  let outcome = 'ok';
  try {
    if (operation.fresh && actor?.reload) actor = await actor.reload();
    place = await locate(any, call, em, actor, rawInput);
    authorise(any, actor, place);
    input = parseInput(operation.input, rawInput ?? {});
    if (operation.kind === 'command') claim = await claimIdempotency(call, actor, operation.name, rawInput);
    if (claim?.replay) {
      call.facts.replayed = true;
      return claim.replay.output as z.input<Out>;
    }
    const output = await perform(any, call, em, actor, place, input);
    await claim?.complete({ output, etag: call.facts.etag });
    return output as z.input<Out>;
  } catch (thrown) {
    const error = asUnavailable(thrown);
    await claim?.release().catch((err: unknown) => call.services.log.warn({ err }, 'idempotency key not released'));
    outcome = error instanceof DomainError ? error.code : error instanceof NotModified ? 'not_modified' : 'internal';
    if (operation.kind === 'command') await auditFailure(any, call, actor, place, input, error);
    throw error;
  } finally {
    const seconds = (performance.now() - began) / 1000;
    call.services.metrics.operation(operation.name, outcome, seconds);
    call.services.log.debug(
      {
        operation: operation.name,
        actor: actor?.id ?? null,
        organization: place.organization?.machine_name ?? null,
        duration_ms: Math.round(seconds * 1e5) / 100,
        outcome,
        request_id: call.request_id,
      },
      'operation',
    );
  }
}
