import { readdir, readFile, stat, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { postgresProcessesOf } from '../../../src/db/postgres/processes.ts';
import { clusterName } from '../../../src/db/postgres/settings.ts';
import { DataDirInUse, lockDataDir, readPostgresRecord } from '../../../src/db/postgres.ts';
import { postmasterPid, preparedDataDir, query, start, startProcess, temporaryDataDir } from './harness.ts';

const modeOf = async (path: string) => (await stat(path)).mode & 0o777;

test('the first start makes a cluster, a later one finds its data, and stop leaves nothing running', async () => {
  const dataDir = await temporaryDataDir();
  const first = await start(dataDir);
  await query(first.url, `CREATE TABLE note AS SELECT 'kept' AS body`);
  expect(await modeOf(dataDir)).toBe(0o700);
  expect(await modeOf(join(dataDir, 'postgres.json'))).toBe(0o600);
  expect(await modeOf(join(dataDir, 'postgres', 'password'))).toBe(0o600);
  expect(await readPostgresRecord(dataDir)).toMatchObject({ url: first.url, pid: await postmasterPid(dataDir) });

  const clusterDir = join(dataDir, 'postgres', 'data');
  const processes = { clusterDir, clusterName: clusterName(clusterDir) };
  expect((await postgresProcessesOf(processes)).length).toBeGreaterThan(1);
  await first.stop();
  expect(await postgresProcessesOf(processes)).toEqual([]);
  expect(first.state).toBe('stopped');
  expect(await readPostgresRecord(dataDir)).toBeNull();
  expect(await readdir(dataDir)).not.toContain('postgres.json');

  const second = await start(dataDir);
  expect(second.url).toBe(first.url);
  expect(await query(second.url, 'SELECT body FROM note')).toEqual([{ body: 'kept' }]);
});

test('the cluster is as configured: UTF-8, checksums, no TCP, a password', async () => {
  const { url } = await start(await temporaryDataDir());
  const [row] = await query(
    url,
    `SELECT current_setting('server_version_num')::int / 10000 AS major, current_setting('server_encoding') AS encoding,
            current_setting('data_checksums') AS checksums, current_setting('listen_addresses') AS tcp,
            current_setting('timezone') AS zone, datlocprovider AS provider, datlocale AS locale,
            upper('zażółć') AS upper
     FROM pg_database WHERE datname = current_database()`,
  );
  expect(row).toEqual({
    ...{ major: 18, encoding: 'UTF8', checksums: 'on', tcp: '', zone: 'UTC' },
    ...{ provider: 'b', locale: 'C.UTF-8', upper: 'ZAŻÓŁĆ' },
  });
  const wrong = new URL(url);
  wrong.password = 'wrong';
  await expect(query(wrong.href, 'SELECT 1')).rejects.toThrow(/password authentication failed/);
});

test('written data is synchronous unless a test asks otherwise', async () => {
  const { url } = await start(await preparedDataDir(), { durable: true });
  const [row] = await query(
    url,
    `SELECT current_setting('fsync') AS fsync, current_setting('synchronous_commit') AS synchronous,
            current_setting('full_page_writes') AS full_page_writes`,
  );
  expect(row).toEqual({ fsync: 'on', synchronous: 'on', full_page_writes: 'on' });
});

test('a second server on the data directory is refused, from this process and another', async () => {
  const dataDir = await preparedDataDir();
  await start(dataDir);
  await expect(start(dataDir)).rejects.toThrow(DataDirInUse);
  const { answer } = await startProcess(dataDir);
  expect(answer.inUse).toBe(true);
  expect(answer.message).toBe(
    `The data directory ${dataDir} is in use by another Portico server (process ${process.pid}). ` +
      'Stop it, or set PORTICO_DATA_DIR to another directory.',
  );
});

test('a lock taken before is used and stays with the caller', async () => {
  const dataDir = await preparedDataDir();
  const lock = await lockDataDir(dataDir);
  const server = await start(dataDir, { lock });
  await server.stop();
  await expect(lockDataDir(dataDir)).rejects.toThrow(DataDirInUse);
  await lock.release();
  await (await lockDataDir(dataDir)).release();
});

test('a path too long for a socket gets one in a temporary directory, removed at the end', async () => {
  const dataDir = join(await temporaryDataDir(), 'ąę and a space', 'x'.repeat(100));
  const server = await start(dataDir);
  expect(await query(server.url, 'SELECT 1 AS one')).toEqual([{ one: 1 }]);
  const record = await readPostgresRecord(dataDir);
  expect(record?.socket_directory).not.toContain('xxx');
  await server.stop();
  await expect(stat(record?.socket_directory ?? '/')).rejects.toThrow(/ENOENT/);
});

test('an aborted start leaves no server', async () => {
  const dataDir = await preparedDataDir();
  const aborted: number[] = [];
  // How far a start has come by then depends on the machine; one that was done is stopped.
  for (const delay of [0, 10, 25, 50, 100]) {
    const server = await start(dataDir, { signal: AbortSignal.timeout(delay) }).catch((error: Error) => error);
    if (server instanceof Error) {
      expect(server.message).toMatch(/abort|timeout/i);
      aborted.push(delay);
    } else await server.stop();
    expect(await postmasterPid(dataDir)).toBeNull();
  }
  expect(aborted).toContain(0);
});

test('a log over 10 MiB is put aside at the next start', async () => {
  const dataDir = await preparedDataDir();
  await (await start(dataDir)).stop();
  const log = join(dataDir, 'postgres', 'postgres.log');
  await truncate(log, 10 * 1024 * 1024 + 1);
  await start(dataDir);
  expect((await stat(`${log}.1`)).size).toBe(10 * 1024 * 1024 + 1);
  expect(await readFile(log, 'utf8')).toContain('ready to accept connections');
});

test('a server that does not come up says what its log says', async () => {
  const dataDir = await preparedDataDir();
  await writeFile(join(dataDir, 'postgres', 'data', 'postgresql.auto.conf'), 'no_such_setting = 1\n');
  await expect(start(dataDir)).rejects.toThrow(/did not start \(exit status 1\)[\s\S]*no_such_setting/);
});
