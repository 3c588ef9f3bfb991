import { AsyncLocalStorage } from 'node:async_hooks';
import { TransactionContext } from '@mikro-orm/core';
import type { EntityManager, MikroORM } from '@mikro-orm/postgresql';
import type { Pool } from 'pg';

/** Transactions around what runs, the outermost first. */
const around = new AsyncLocalStorage<readonly EntityManager[]>();

const create = TransactionContext.create.bind(TransactionContext);
TransactionContext.create = (em, next) =>
  around.run([...(around.getStore() ?? []), em as unknown as EntityManager], () => create(em, next));

/** The lines of the program that led here, without those of libraries. */
function whereFrom(): string {
  const { stackTraceLimit } = Error;
  Error.stackTraceLimit = 100;
  const { stack = '' } = new Error();
  Error.stackTraceLimit = stackTraceLimit;
  return stack
    .split('\n')
    .filter((line) => /\/(src|test)\//.test(line))
    .slice(1)
    .join('\n');
}

/**
 * Notes who takes a connection of a pool while a transaction around it holds one already: enough of those at once hold every connection, and each
 * waits for one more until it is given up.
 * @returns where that happened, as stack traces
 */
export async function noteHeldConnections(orm: MikroORM): Promise<string[]> {
  const found: string[] = [];
  const pool = (await orm.em.getConnection().getNativeClient()) as unknown as Pool;
  const connect = pool.connect.bind(pool) as (...given: unknown[]) => unknown;
  const isHeld = (em: EntityManager) => em.name === orm.em.name && em.isInTransaction();
  pool.connect = ((...given: unknown[]) => {
    if (around.getStore()?.some(isHeld)) found.push(whereFrom());
    return connect(...given);
  }) as Pool['connect'];
  return found;
}
