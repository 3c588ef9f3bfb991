import type { Actor } from './actor.ts';
import { DomainError } from './errors.ts';
import type { AnyOperation, Call } from './operation.ts';
import type { AuditEntry, AuditOutcome, AuditSubject, Place } from './services.ts';

/** Stands for what a refused input lacks, so that no id is made of it. */
const lacking = '\u0000';
const longestId = 500;

/** What an operation knows of an input that was refused, whatever it looks like: its plain fields. */
function plainFields(operation: AnyOperation, input: unknown): Record<string, unknown> {
  const given = input !== null && typeof input === 'object' ? (input as Record<string, unknown>) : {};
  const plain: Record<string, unknown> = {};
  for (const [name, field] of Object.entries<{ _zod: { optin?: string } }>(operation.input.shape)) {
    const value = Object.hasOwn(given, name) ? given[name] : undefined;
    if (typeof value === 'string') plain[name] = value.replaceAll(lacking, '');
    else if (typeof value === 'number' || typeof value === 'boolean') plain[name] = value;
    else if (field._zod.optin !== 'optional') plain[name] = lacking;
  }
  return plain;
}

const idOf = (id: unknown): string | null => {
  const text = typeof id === 'number' ? String(id) : id;
  if (typeof text !== 'string' || text === '' || text.includes(lacking)) return null;
  return text.slice(0, longestId).toWellFormed();
};

/** What a command acted on. An operation that cannot say it of an input has still acted, or been refused, in its part. */
function subjectsOf(operation: AnyOperation, place: Place, input: unknown, output: unknown): AuditSubject[] {
  if (operation.kind !== 'command') throw new Error(`${operation.name} is no command`);
  const names = { organization: place.organization?.machine_name ?? '', project: place.project?.machine_name ?? '' };
  try {
    const named = operation.audit((input ?? {}) as never, output as never, names);
    return [named].flat().map((subject) => ({ ...subject, id: idOf(subject.id) }));
  } catch {
    return [{ type: operation.name.split('.')[0] ?? operation.name, id: null }];
  }
}

/** The fields of an input that its operation knows: names of the caller's own, of which there may be any number, are no part of the log. */
function knownFields(operation: AnyOperation, input: unknown): Record<string, unknown> {
  if (input === null || typeof input !== 'object') return {};
  const given = Object.keys(operation.input.shape).filter((name) => Object.hasOwn(input, name));
  return Object.fromEntries(given.map((name) => [name, (input as Record<string, unknown>)[name]]));
}

const commitOf = (output: unknown) => (output as { commit?: { sha?: string } | null } | null)?.commit?.sha;

/** The rows a command leaves, whatever its input looks like: one, but of pushes one for each way their refs went; none for queries. */
export function auditEntries(
  operation: AnyOperation,
  call: Call,
  actor: Actor | null,
  place: Place,
  input: unknown,
  outcome: AuditOutcome,
  output: unknown,
): AuditEntry[] {
  if (operation.kind !== 'command') return [];
  const commit = commitOf(output);
  const subjects = subjectsOf(operation, place, outcome === 'ok' ? input : plainFields(operation, input), output);
  return subjects.map((subject) => ({
    at: call.services.clock.now(),
    address: call.address,
    request_id: call.request_id,
    action: operation.name,
    actor: actor?.id ?? 'anonymous',
    organization_id: place.organization?.id ?? null,
    project_id: place.project?.id ?? null,
    subject,
    outcome: subject.outcome ?? outcome,
    input: knownFields(operation, input),
    ...(commit !== undefined && { commit }),
  }));
}

const denials = new Set(['forbidden', 'branch_protected', 'unauthenticated', 'reauthentication_required']);

/** What any client can send in any number, and gets nothing by: what cannot be read, what comes too often, a set-up that is over. */
const idle = new Set(['invalid_request', 'rate_limited', 'conflict']);

/** Without a credential only attempts to get one leave rows. */
const isAttempt = ({ auditsAttempts }: AnyOperation, code: string) => auditsAttempts === true && !idle.has(code);

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
  if (code === 'unavailable' || (!actor && !isAttempt(operation, code))) return;
  if (actor && code === 'unauthenticated' && !operation.auditsAttempts) return;
  const outcome: AuditOutcome = denials.has(code) ? 'denied' : 'failed';
  try {
    for (const entry of auditEntries(operation, call, actor, place, input, outcome, null))
      await call.services.audit.record(call.services.orm.em.fork(), entry);
  } catch (cause) {
    call.services.log.error({ err: cause, action: operation.name }, 'audit row of a refused command not written');
  }
}
