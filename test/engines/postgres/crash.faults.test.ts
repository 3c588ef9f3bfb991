import { join } from 'node:path';
import pg from 'pg';
import { expect, test, vi } from 'vitest';
import { postgresProcessesOf } from '../../../src/db/postgres/processes.ts';
import { clusterName } from '../../../src/db/postgres/settings.ts';
import { readPostgresRecord } from '../../../src/db/postgres.ts';
import { kill, killPid, postmasterPid, preparedDataDir, query, start, startProcess } from './harness.ts';

const write = (url: string) => query(url, `CREATE TABLE note AS SELECT 'kept' AS body`);
const kept = [{ body: 'kept' }];

/** Starts a durable server with a row in it, kills it as kill -9 does, and answers the postmaster it leaves. */
async function orphan(dataDir: string): Promise<number> {
  const { child, answer } = await startProcess(dataDir);
  await write(answer.url ?? '');
  await kill(child);
  return Number(await postmasterPid(dataDir));
}

test('after kill -9 of the server, its PostgreSQL is adopted, and stopped at the end', async () => {
  const dataDir = await preparedDataDir();
  const pid = await orphan(dataDir);
  const server = await start(dataDir, { durable: true });
  expect(await postmasterPid(dataDir)).toBe(pid);
  expect(await query(server.url, 'SELECT body FROM note')).toEqual(kept);
  await server.stop();
  expect(await postmasterPid(dataDir)).toBeNull();
});

test('an orphan with other settings is stopped and a new one started', async () => {
  const dataDir = await preparedDataDir();
  const pid = await orphan(dataDir);
  const server = await start(dataDir, { durable: false });
  expect(await postmasterPid(dataDir)).not.toBe(pid);
  expect(await query(server.url, 'SELECT body FROM note')).toEqual(kept);
});

test('after kill -9 of the server and of PostgreSQL the data is there', async () => {
  const dataDir = await preparedDataDir();
  await killPid(await orphan(dataDir));
  const server = await start(dataDir, { durable: true });
  expect(await query(server.url, 'SELECT body FROM note')).toEqual(kept);
});

test.each(['started', 'adopted'])(
  'a PostgreSQL of ours (%s) that is killed is started again, and a pool reconnects',
  async (how) => {
    const dataDir = await preparedDataDir();
    if (how === 'adopted') await orphan(dataDir);
    const server = await start(dataDir, { durable: true });
    const states: string[] = [];
    server.onStateChange((state) => states.push(state));
    const pool = new pg.Pool({ connectionString: server.url });
    pool.on('error', () => undefined);
    const ask = async () => (await pool.query('SELECT 1 AS one')).rows;
    expect(await ask()).toEqual([{ one: 1 }]);

    await killPid(Number(await postmasterPid(dataDir)));
    await vi.waitFor(() => expect(states).toEqual(['restarting', 'running']), { timeout: 60_000 });
    expect(await ask()).toEqual([{ one: 1 }]);
    expect(await readPostgresRecord(dataDir)).toMatchObject({ url: server.url, pid: await postmasterPid(dataDir) });
    await pool.end();
  },
);

test('a server that is stopped while PostgreSQL is being started again leaves none', async () => {
  const dataDir = await preparedDataDir();
  const server = await start(dataDir);
  const restarting = new Promise<void>((resolve) => server.onStateChange(() => resolve()));
  await killPid(Number(await postmasterPid(dataDir)));
  await restarting;
  await new Promise((resolve) => setTimeout(resolve, 110));
  await server.stop();
  expect(server.state).toBe('stopped');
  const clusterDir = join(dataDir, 'postgres', 'data');
  expect(await postgresProcessesOf({ clusterDir, clusterName: clusterName(clusterDir) })).toEqual([]);
  expect(await readPostgresRecord(dataDir)).toBeNull();
});
