import { createHash } from 'node:crypto';
import { UniqueConstraintViolationException } from '@mikro-orm/core';
import type { EntityManager, EntityName, FilterQuery, MikroORM } from '@mikro-orm/postgresql';
import { fieldError } from './errors.ts';

/** What the mapper's own connections take (kysely's `CompiledQuery`); they hand `sql` and `parameters` to pg as they are. */
interface BoundQueries {
  executeQuery(query: object): Promise<{ rows: unknown[] }>;
}

/** Names of statements by their texts, of which there are as many as the program has. */
const names = new Map<string, string>();

function nameOf(sql: string): string {
  const known = names.get(sql);
  if (known !== undefined) return known;
  const name = `portico_${createHash('sha256').update(sql).digest('hex').slice(0, 24)}`;
  names.set(sql, name);
  return name;
}

/** What the driver throws, as the mapper would. */
export const asDriverException = (em: EntityManager, error: unknown): unknown =>
  error instanceof Error ? em.getPlatform().getExceptionConverter().convertException(error) : error;

/**
 * Runs a statement of constant text, in the transaction of `em` when it has one. Its values (`$1`, `$2`…) travel beside it, bytes as bytes, and
 * each connection reads and plans it once. The mapper writes every value into the text, bytes as twice as many digits, and the database reads
 * and plans that each time, which costs more than a small statement itself.
 * @param isKept false: it is planned each time, where a plan of another time would not do
 * @throws DriverException like `em.execute`
 */
export async function executeBound<Row>(
  em: EntityManager,
  sql: string,
  values: readonly unknown[],
  { isKept = true }: { isKept?: boolean } = {},
): Promise<Row[]> {
  const queries = (em.getTransactionContext() ?? em.getConnection().getClient()) as unknown as BoundQueries;
  const statement = { text: sql, ...(isKept && { name: nameOf(sql) }) };
  const query = { sql: statement, parameters: values, query: { kind: 'RawNode' }, queryId: { queryId: 'bound' } };
  try {
    return (await queries.executeQuery(query)).rows as Row[];
  } catch (error) {
    throw asDriverException(em, error);
  }
}

/** How much goes in one night. */
interface BatchLimits {
  /** Batches at most; what is left waits for the next night. */
  most: number;
  /** Aborted: no further batch is begun. */
  signal: AbortSignal;
}

/** Repeats a statement that deletes a limited number of rows until it finds none, each in its own transaction: locks are held briefly. */
export async function deleteInBatches(
  orm: MikroORM,
  sql: string,
  parameters: unknown[],
  { most, signal }: BatchLimits,
): Promise<void> {
  for (let batch = 0; batch < most && !signal.aborted; batch += 1) {
    const { affectedRows } = await orm.em.fork().execute<{ affectedRows?: number }>(sql, parameters, 'run');
    if (!affectedRows) return;
  }
}

/**
 * Which of these ids have a row, in one query: ids of deleted rows are not shown to callers.
 * @param ids null and undefined stand for none
 * @param where what the rows have to be besides
 */
export async function idsThere<Row extends { id: number }>(
  em: EntityManager,
  entity: EntityName<Row>,
  ids: readonly (number | null | undefined)[],
  where: FilterQuery<Row> = {},
): Promise<ReadonlySet<number>> {
  const named = [...new Set(ids)].filter((id) => id != null);
  if (named.length === 0) return new Set();
  const among = { $and: [{ id: { $in: named } }, where] } as FilterQuery<Row>;
  const rows = await em.find(entity, among, { fields: ['id'] as never, disableIdentityMap: true });
  return new Set(rows.map(({ id }) => id));
}

/** Runs an insert; a row that is already there becomes `already_exists`, naming the field whose value is taken. */
export async function orTaken<T>(field: string, problem: string, insert: () => Promise<T>): Promise<T> {
  try {
    return await insert();
  } catch (error) {
    if (error instanceof UniqueConstraintViolationException) throw fieldError('already_exists', field, problem);
    throw error;
  }
}

/** Whether a statement was refused for what was given (PostgreSQL's classes 22 and 23), which says nothing about the database or other rows. */
export const isAboutData = (error: unknown): boolean => /^2[23]/.test(String((error as { code?: unknown }).code ?? ''));
