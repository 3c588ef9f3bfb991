import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { databaseName } from './address.ts';

/** Opens one connection and runs `work` on it. */
export async function withClient<T>(url: string, work: (client: pg.Client) => Promise<T>): Promise<T> {
  // TLS makes no sense on a unix socket, and PGSSLMODE of the environment is meant for another server.
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 5_000, ssl: false });
  // A connection lost between two queries is an event, and one without a listener ends the process.
  client.on('error', () => undefined);
  try {
    await client.connect();
    return await work(client);
  } finally {
    await client.end().catch(() => undefined);
  }
}

/** Codes with which a server refuses for good, of PostgreSQL's appendix A: wrong password, no such role. */
const refusals = new Set(['28P01', '28000']);

/**
 * Waits until the server answers on `url`, which names the database `portico`; makes that database on the first start.
 * Recovery after a crash may take its time, so there is no limit but the life of the server (`alive`) and the signal.
 */
export async function waitUntilReady(url: string, alive: () => boolean, signal: AbortSignal): Promise<void> {
  for (let attempt = 0; alive(); attempt++) {
    signal.throwIfAborted();
    try {
      return await withClient(url, async () => undefined);
    } catch (error) {
      const { code } = error as { code?: string };
      if (code === '3D000') await createDatabase(url);
      else if (code !== undefined && refusals.has(code)) throw error;
      else await sleep(attempt < 400 ? 4 : 50, undefined, { signal });
    }
  }
}

/** Whether the server answering on `url` accepts our password and serves the cluster in `clusterDir`. */
export async function servesCluster(url: string, clusterDir: string): Promise<boolean> {
  try {
    return await withClient(url, async (client) => {
      const { rows } = await client.query<{ data_directory: string }>('SHOW data_directory');
      return rows[0]?.data_directory === clusterDir;
    });
  } catch {
    return false;
  }
}

async function createDatabase(url: string): Promise<void> {
  const maintenance = new URL(url);
  maintenance.pathname = '/postgres';
  await withClient(maintenance.href, (client) => client.query(`CREATE DATABASE ${databaseName}`));
}
