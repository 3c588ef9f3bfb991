import { DomainError } from '../errors.ts';
import type { Actor } from '../identity/actor.ts';
import type { AnyOperation, AuditSubject, Call } from '../operation.ts';
import type { Place } from '../place.ts';
import type { AuditOutcome } from './audit.entity.ts';
import { type AuditEntry, recordAudit } from './audit.ts';

/** Of a refused command the input may lack what its id is made of. */
function subjectOf(operation: AnyOperation, place: Place, input: unknown, output: unknown): AuditSubject {
  if (operation.kind !== 'command') throw new Error(`${operation.name} is no command`);
  const names = { organization: place.organization?.machine_name ?? '', project: place.project?.machine_name ?? '' };
  const { type, id } = operation.audit((input ?? {}) as never, output as never, names);
  return { type, id: id === null || id === '' || id.includes('undefined') ? null : id };
}

const commitOf = (output: unknown) => (output as { commit?: { sha?: string } | null } | null)?.commit?.sha;

/** The row a command leaves; null for queries. */
export function auditEntry(
  operation: AnyOperation,
  call: Call,
  actor: Actor | null,
  place: Place,
  input: unknown,
  outcome: AuditOutcome,
  output: unknown,
): AuditEntry | null {
  if (operation.kind !== 'command') return null;
  const commit = commitOf(output);
  return {
    at: call.services.clock.now(),
    address: call.address,
    request_id: call.request_id,
    action: operation.name,
    actor: actor?.id ?? 'anonymous',
    organization_id: place.organization?.id ?? null,
    project_id: place.project?.id ?? null,
    subject: subjectOf(operation, place, input, output),
    outcome,
    input: input !== null && typeof input === 'object' ? (input as Record<string, unknown>) : {},
    ...(commit !== undefined && { commit }),
  };
}

/** A command that was refused or failed leaves a row of its own; the refusal itself stays what the caller sees. */
export async function auditRefusal(
  operation: AnyOperation,
  call: Call,
  actor: Actor | null,
  place: Place,
  input: unknown,
  error: unknown,
): Promise<void> {
  const code = error instanceof DomainError ? error.code : 'internal';
  if (!actor || code === 'unauthenticated' || code === 'unavailable') return;
  const outcome: AuditOutcome = code === 'forbidden' || code === 'branch_protected' ? 'denied' : 'failed';
  try {
    const entry = auditEntry(operation, call, actor, place, input, outcome, null);
    if (entry) await recordAudit(call.services.orm.em.fork(), entry);
  } catch (cause) {
    call.services.log.error({ err: cause, action: operation.name }, 'audit row of a refused command not written');
  }
}
