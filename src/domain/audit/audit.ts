import type { EntityManager } from '@mikro-orm/postgresql';
import type { Actor } from '../identity/actor.ts';
import type { AuditSubject, Call } from '../operation.ts';
import { uuid7 } from '../uuid7.ts';
import { type AuditOutcome, AuditRow } from './audit.entity.ts';

interface Entry {
  call: Call;
  action: string;
  actor: Actor | null;
  organization_id: number | null;
  project_id: number | null;
  subject: AuditSubject;
  outcome: AuditOutcome;
  input: Record<string, unknown>;
}

const secretName = /password|secret|token|authorization|auth|cookie|key|variables|headers/i;
const maxValue = 200;

/** Names of the fields a command set; values only of those that are short, plain and not secret. */
function changesOf(input: Record<string, unknown>): Record<string, unknown> {
  const entries = Object.entries(input).map(([name, value]) => {
    const plain =
      typeof value === 'number' ||
      typeof value === 'boolean' ||
      (typeof value === 'string' && value.length <= maxValue);
    return [name, plain && !secretName.test(name) ? withoutCredentials(value) : null] as const;
  });
  return Object.fromEntries(entries);
}

/** An address may carry a credential before its host. */
const withoutCredentials = (value: unknown) =>
  typeof value === 'string' ? value.replaceAll('\u0000', '').replace(/\/\/[^/@\s]*@/g, '//') : value;

/** Writes the audit row of one command, in the transaction of `em` when there is one. */
export async function recordAudit(em: EntityManager, entry: Entry): Promise<void> {
  const { call, actor, subject } = entry;
  const at = call.services.clock.now();
  await em.insert(AuditRow, {
    id: uuid7(at),
    at,
    organization_id: entry.organization_id,
    project_id: entry.project_id,
    actor: actor?.id ?? 'anonymous',
    address: call.address,
    action: entry.action,
    subject_type: subject.type,
    subject_id: subject.id?.replaceAll('\u0000', '') ?? null,
    outcome: entry.outcome,
    changes: changesOf(entry.input),
    request_id: call.request_id,
  });
}
