import { createHash } from 'node:crypto';
import { UniqueConstraintViolationException } from '@mikro-orm/core';
import type { EntityManager, EntityName, FilterQuery, MikroORM } from '@mikro-orm/postgresql';
import { settleAll } from '../lib/concurrency.ts';
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

interface Answer {
  command: string;
  rows: unknown[];
}

/** A connection of the mapper's pool; its `pipeline` option lets statements go out before those ahead of them are answered. */
interface Connection {
  query(statement: unknown, values?: readonly unknown[]): Promise<Answer>;
  release(isLost?: boolean): void;
  /** Of the protocol, with its socket. */
  connection: { stream: { cork(): void; uncork(): void } };
}

/** Sends the statements of one tick in one piece: each piece wakes the database. */
function sender(connection: Connection): Connection['query'] {
  const { stream } = connection.connection;
  let isHeld = false;
  const letGo = () => {
    isHeld = false;
    stream.uncork();
  };
  return (statement, values) => {
    if (!isHeld) {
      isHeld = true;
      stream.cork();
      process.nextTick(letGo);
    }
    return connection.query(statement, values);
  };
}

/** A transaction as the mapper and `executeBound` want it. */
function contextOn(connection: Connection) {
  const send = sender(connection);
  const begun = send('begin');
  begun.catch(() => {});
  let isOver = false;
  return {
    async executeQuery({ sql, parameters }: { sql: unknown; parameters: readonly unknown[] }) {
      // A late statement must not get into the transaction that has the connection by then.
      if (isOver) throw new Error('the transaction is over');
      const answer = send(sql, parameters);
      await Promise.all([begun, answer]);
      return answer;
    },
    async end(statement: 'commit' | 'rollback') {
      isOver = true;
      await begun;
      return (await send(statement)).command;
    },
  };
}

/**
 * `em.transactional` for concurrent statements: `begin` and the statements that `work` issues together are sent at once, where the mapper
 * sends each when the one before it is answered. Each round trip costs an iteration of a busy event loop.
 * @param work must not end before all its statements are answered
 * @param last asks, by `executeBound` and without waiting, for what goes out with the commit
 * @throws DriverException when the transaction cannot begin or commit; whatever `work` throws, when all is taken back
 */
export async function transactPipelined<Result>(
  em: EntityManager,
  work: (em: EntityManager) => Promise<Result>,
  last?: (em: EntityManager, result: Result) => Promise<unknown>,
): Promise<Result> {
  const failed = (error: unknown): never => {
    throw asDriverException(em, error);
  };
  const pool = (await em.getConnection().getNativeClient()) as unknown as { connect(): Promise<Connection> };
  const connection = await pool.connect().catch(failed);
  const transaction = contextOn(connection);
  const inside = em.fork();
  inside.setTransactionContext(transaction as never);
  try {
    const result = await work(inside);
    const [, command] = await settleAll([last?.(inside, result), transaction.end('commit').catch(failed)]);
    // PostgreSQL answers `commit` with a rollback, without an error, when a statement has failed before.
    if (command !== 'COMMIT') throw new Error('a statement has failed before');
    connection.release();
    return result;
  } catch (error) {
    await transaction.end('rollback').then(
      () => connection.release(),
      () => connection.release(true),
    );
    throw error;
  }
}
