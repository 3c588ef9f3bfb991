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
