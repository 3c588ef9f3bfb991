import type { EntityManager } from '@mikro-orm/postgresql';
import type { AuditEntry, AuditLog, Ports } from '../../kernel/services.ts';
import { SharedCommits } from '../../kernel/shared-commits.ts';
import { executeBound, isAboutData } from '../../kernel/sql.ts';
import { uuid7 } from '../../lib/ids.ts';
import { redactText } from '../../lib/text.ts';

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

/** An address may carry a credential before its host, and whatever a person pastes may be one. */
const withoutCredentials = (value: unknown) =>
  typeof value === 'string'
    ? redactText(value.replaceAll('\u0000', '').toWellFormed()).replace(/\/\/[^/@\s]*@/g, '//')
    : value;

/** Columns of the table, in the order of `columnsOf`. */
const insertSql = `
  insert into audit (id, at, organization_id, project_id, actor, address, action, subject_type, subject_id, outcome, changes, request_id)
  select * from unnest($1::uuid[], $2::timestamptz[], $3::int[], $4::int[], $5::text[], $6::text[], $7::text[], $8::text[], $9::text[],
    $10::text[], $11::json[], $12::text[])`;

/** Entries as one array of values for each column. */
function columnsOf(entries: readonly AuditEntry[]): unknown[][] {
  const rows = entries.map((entry) => [
    uuid7(entry.at),
    entry.at,
    entry.organization_id,
    entry.project_id,
    entry.actor,
    entry.address,
    entry.action,
    entry.subject.type,
    withoutCredentials(entry.subject.id ?? null),
    entry.outcome,
    JSON.stringify(changesOf(entry)),
    entry.request_id,
  ]);
  return Array.from({ length: 12 }, (_, column) => rows.map((row) => row[column]));
}

/** Writes audit rows, in the transaction of `em` when there is one. */
export async function recordAudit(em: EntityManager, ...entries: readonly AuditEntry[]): Promise<void> {
  if (entries.length > 0) await executeBound(em, insertSql, columnsOf(entries));
}

/** Tries again after these milliseconds: the database is back within seconds, or the log has the rows. */
const tryAgainAfter = [250, 1_000, 4_000, 15_000, 60_000];

/**
 * Rows of commands whose effect is already durable outside the database: those of commands that end at the same time share one statement, and
 * so one sync. When the database is away the rows are tried again in the background: to answer that the command failed would be wrong.
 */
class AuditRows implements AuditLog {
  readonly #log: Ports['log'];
  readonly #rows: SharedCommits<AuditEntry, void>;

  constructor({ orm, log }: Pick<Ports, 'orm' | 'log'>) {
    this.#log = log;
    const write = async (entries: readonly AuditEntry[]) => {
      await recordAudit(orm.em.fork(), ...entries);
      return [];
    };
    // A row is waited for however long it takes, and more statements at once would not make it come sooner.
    this.#rows = new SharedCommits(write, {
      most: 1_000,
      lanes: 1,
      crowd: Number.POSITIVE_INFINITY,
      limit: Number.POSITIVE_INFINITY,
      isDefinite: isAboutData,
    });
  }

  record(em: EntityManager, entry: AuditEntry): Promise<void> {
    return recordAudit(em, entry);
  }

  async recordSoon(entry: AuditEntry, attempt = 0): Promise<void> {
    try {
      await this.#rows.add(entry);
    } catch (err) {
      const wait = tryAgainAfter[attempt];
      if (wait !== undefined) setTimeout(() => void this.recordSoon(entry, attempt + 1), wait).unref();
      else this.#log.error({ err, audit: { ...entry, input: Object.keys(entry.input) } }, 'audit row not written');
    }
  }
}

/** The audit log as rows. */
export const createAuditLog = (services: Pick<Ports, 'orm' | 'log'>): AuditLog => new AuditRows(services);
