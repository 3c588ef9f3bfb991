import type { EntityManager } from '@mikro-orm/postgresql';
import type { Actor } from '../../kernel/actor.ts';
import { DomainError } from '../../kernel/errors.ts';
import type { AnyOperation, AuditSubject, Call } from '../../kernel/operation.ts';
import type { Place } from '../../kernel/place.ts';
import type { Services } from '../../kernel/services.ts';
import { uuid7 } from '../../lib/ids.ts';
import { type AuditOutcome, AuditRow } from './audit.entity.ts';

/** What is kept of one command. */
interface AuditEntry {
  at: Date;
  actor: string;
  address: string | null;
  request_id: string;
  action: string;
  organization_id: number | null;
  project_id: number | null;
  subject: AuditSubject;
  outcome: AuditOutcome;
  input: Record<string, unknown>;
  /** The commit a content command made. */
  commit?: string;
}

const secretName = /password|secret|token|authorization|auth|cookie|key|variables|headers/i;
/** Content is in git, a definition in its version, and a log is no second place for it; a bare value may be a secret. */
const contentNames = new Set(['body', 'content', 'raw', 'frontmatter', 'definition', 'input', 'value']);
/** Where a command acts has columns of its own. */
const placeNames = new Set(['organization', 'project']);
const maxValue = 200;

/** Names of the fields a command set; values only where they are short, plain and not secret. */
function changesOf({ input, commit }: AuditEntry): Record<string, unknown> {
  const entries = Object.entries(input)
    .filter(([name, value]) => value !== undefined && !placeNames.has(name))
    .map(([name, value]) => {
      const plain =
        typeof value === 'number' ||
        typeof value === 'boolean' ||
        (typeof value === 'string' && value.length <= maxValue);
      const shown = plain && !secretName.test(name) && !contentNames.has(name);
      return [name, shown ? withoutCredentials(value) : null] as const;
    });
  return { ...Object.fromEntries(entries), ...(commit !== undefined && { commit }) };
}

/** An address may carry a credential before its host. */
const withoutCredentials = (value: unknown) =>
  typeof value === 'string'
    ? value
        .replaceAll('\u0000', '')
        .toWellFormed()
        .replace(/\/\/[^/@\s]*@/g, '//')
    : value;

/** Writes the audit row of one command, in the transaction of `em` when there is one. */
export async function recordAudit(em: EntityManager, entry: AuditEntry): Promise<void> {
  const { at, subject } = entry;
  await em.insert(AuditRow, {
    id: uuid7(at),
    at,
    organization_id: entry.organization_id,
    project_id: entry.project_id,
    actor: entry.actor,
    address: entry.address,
    action: entry.action,
    subject_type: subject.type,
    subject_id: subject.id?.replaceAll('\u0000', '') ?? null,
    outcome: entry.outcome,
    changes: changesOf(entry),
    request_id: entry.request_id,
  });
}

/** Tries again after these milliseconds: the database is back within seconds, or the log has the row. */
const tryAgainAfter = [250, 1_000, 4_000, 15_000, 60_000];

/**
 * Writes the row of a command whose effect is already durable outside the database. When the database is away the row is tried again in the
 * background: to answer that the command failed would be wrong.
 */
export async function recordSoon(services: Services, entry: AuditEntry, attempt = 0): Promise<void> {
  try {
    await recordAudit(services.orm.em.fork(), entry);
  } catch (err) {
    const wait = tryAgainAfter[attempt];
    if (wait === undefined) {
      services.log.error({ err, audit: { ...entry, input: Object.keys(entry.input) } }, 'audit row not written');
      return;
    }
    setTimeout(() => void recordSoon(services, entry, attempt + 1), wait).unref();
  }
}

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

/** The fields of an input that its operation knows: names of the caller's own are no part of the log. */
function knownFields(operation: AnyOperation, input: unknown): Record<string, unknown> {
  if (input === null || typeof input !== 'object') return {};
  return Object.fromEntries(Object.entries(input).filter(([name]) => Object.hasOwn(operation.input.shape, name)));
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
    for (const entry of auditEntries(operation, call, actor, place, input, outcome, null))
      await recordAudit(call.services.orm.em.fork(), entry);
  } catch (cause) {
    call.services.log.error({ err: cause, action: operation.name }, 'audit row of a refused command not written');
  }
}
