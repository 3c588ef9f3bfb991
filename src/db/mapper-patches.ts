/**
 * What of @mikro-orm 7.2.1 and of the pools of its query builder (kysely) has to be otherwise, and cannot be by a setting. Each has a test in
 * `test/engines/postgres` that fails when it is left out.
 */
import type { Platform } from '@mikro-orm/core';
import type { PostgreSqlSchemaHelper } from '@mikro-orm/postgresql';
import type { Pool, PoolClient } from 'pg';
import { currentCaller } from '../lib/concurrency.ts';
import { FairQueue } from '../lib/fair-queue.ts';

/**
 * A text as a literal of SQL, as libpq's `PQescapeLiteral` writes it. The mapper's own goes character by character, which took longer than
 * the statements themselves where a batch of rows is one text of JSON.
 */
export function quoteLiteral(text: string): string {
  const quoted = `'${text.replaceAll("'", "''")}'`;
  return text.includes('\\') ? ` E${quoted.replaceAll('\\', '\\\\')}` : quoted;
}

/**
 * Makes a pool forget a connection that was lost while a transaction had it. The query builder below the mapper never hands back the connection
 * of a transaction whose `begin`, `commit` or `rollback` fails: every restart of the database would leave the pool smaller, and its end would
 * wait for connections that are never returned.
 */
function forgetLostConnections(pool: Pool): void {
  const taken = new WeakSet<PoolClient>();
  pool.on('acquire', (client) => taken.add(client));
  pool.on('release', (_error, client) => taken.delete(client));
  pool.on('connect', (client) =>
    client.once('end', () => {
      if (!taken.has(client)) return;
      client.release(true);
      // Who has it may still hand it back, and a pool takes nothing back twice.
      client.release = () => {};
    }),
  );
}

type Callback = Parameters<Pool['connect']>[0];

/**
 * Makes a pool take back a connection that was opened only when the pool was being closed. The query builder has let go of its pool by then, fails
 * with the connection in its hand, and the end of the pool would wait for it for ever.
 */
function takeBackLateConnections(pool: Pool): void {
  const connect = pool.connect.bind(pool);
  const inTime = async (): Promise<PoolClient> => {
    const client = await connect();
    if (!pool.ending) return client;
    client.release();
    throw new Error('the connections to the database are being closed');
  };
  // With a callback the pool itself asks, for its own `query`.
  pool.connect = ((callback?: Callback) => (callback ? connect(callback) : inTime())) as Pool['connect'];
}

/** A fair queue as the pool uses its list: one caller that sends hundreds of reads at once keeps no other waiting. */
class WaitingByCaller extends FairQueue<object> {
  get length(): number {
    return this.size;
  }

  push(item: object): void {
    this.add(currentCaller(), item);
  }

  shift(): object | undefined {
    return this.take();
  }

  /** With `splice`, the pool takes out what has waited for too long. */
  findIndex(isIt: (item: object) => boolean): number {
    let at = 0;
    for (const item of this) {
      if (isIt(item)) return at;
      at += 1;
    }
    return -1;
  }

  splice(at: number): object[] {
    let left = at;
    for (const item of this) {
      if (left === 0) return this.delete(item) ? [item] : [];
      left -= 1;
    }
    return [];
  }
}

/** For `driverOptions.onPoolCreated`. */
export function adaptPool(pool: Pool): void {
  Object.assign(pool, { _pendingQueue: new WaitingByCaller() });
  forgetLostConnections(pool);
  takeBackLateConnections(pool);
}

/**
 * Has `migration:check` see of a database what entities say. The rest, which migrations alone say, would count as a difference: there is a
 * setting that leaves triggers out of the comparison, and none for indexes, checks and foreign keys.
 */
function comparingWhatEntitiesSay(helper: PostgreSqlSchemaHelper): Partial<PostgreSqlSchemaHelper> {
  const all = helper.getAllIndexes.bind(helper);
  return {
    async getAllIndexes(...given) {
      const tables = Object.entries(await all(...given));
      return Object.fromEntries(tables.map(([table, found]) => [table, found.filter((index) => index.constraint)]));
    },
    getAllChecks: async () => ({}),
    getAllForeignKeys: async () => ({}),
  };
}

/** For `discovery.afterDiscovered`. */
export function adaptPlatform(platform: Platform): void {
  Object.assign(platform, { escapeLiteral: quoteLiteral });
  const helper = platform.getSchemaHelper() as PostgreSqlSchemaHelper;
  Object.assign(helper, comparingWhatEntitiesSay(helper));
}
