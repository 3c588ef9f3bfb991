import type { EntityManager } from '@mikro-orm/postgresql';
import { settleAll } from '../lib/concurrency.ts';
import { asDriverException } from './sql.ts';

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
