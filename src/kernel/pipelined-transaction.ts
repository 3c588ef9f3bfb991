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

/** Sends what is asked for in one go in one piece: each piece wakes the database. */
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
      // Whoever asks too late must not get into the transaction that has the connection by then.
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
 * `em.transactional` for statements that are asked for together: `begin` and what `work` asks for in one go are sent at once, where the mapper
 * sends each when the one before it is answered. Each answer that is waited for costs a turn of a busy event loop.
 * @param work must not end before all that it has asked for is answered
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
    // PostgreSQL takes back what it is told to commit, and calls that no error, when a statement has failed before.
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
