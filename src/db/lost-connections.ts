import type { Pool, PoolClient } from 'pg';

/**
 * Makes a pool forget a connection that was lost while a transaction had it. The query builder below the mapper never hands back the connection
 * of a transaction whose `begin`, `commit` or `rollback` fails: every restart of the database would leave the pool smaller, and its end would
 * wait for connections that nobody returns.
 */
export function forgetLostConnections(pool: Pool): void {
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
export function takeBackLateConnections(pool: Pool): void {
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
