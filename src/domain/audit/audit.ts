import type { EntityManager } from '@mikro-orm/postgresql';
import type { AuditEntry, AuditLog, Ports } from '../../kernel/services.ts';
import { uuid7 } from '../../lib/ids.ts';
import { AuditRow } from './audit.entity.ts';

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
async function recordSoon(services: Pick<Ports, 'orm' | 'log'>, entry: AuditEntry, attempt = 0): Promise<void> {
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

/** The audit log as rows. */
export const createAuditLog = (services: Pick<Ports, 'orm' | 'log'>): AuditLog => ({
  record: recordAudit,
  recordSoon: (entry) => recordSoon(services, entry),
});
