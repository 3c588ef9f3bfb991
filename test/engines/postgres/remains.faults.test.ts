import { mkdir, readdir, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { postmasterPid, preparedDataDir, query, start, temporaryDataDir } from './harness.ts';

const one = (url: string) => query(url, 'SELECT 1 AS one');

test.each([
  ['of a process that is gone', 2 ** 22 + 1],
  ['whose number is now another program', process.pid],
])('a stale postmaster.pid %s does not hinder', async (_, pid) => {
  const dataDir = await preparedDataDir();
  const cluster = join(dataDir, 'postgres', 'data');
  const lines = [pid, cluster, 1, 5432, join(dataDir, 'postgres'), '', '  1  1', 'ready   '];
  await writeFile(join(cluster, 'postmaster.pid'), `${lines.join('\n')}\n`);
  const server = await start(dataDir);
  expect(await one(server.url)).toEqual([{ one: 1 }]);
  expect(await postmasterPid(dataDir)).not.toBe(pid);
});

test('an interrupted initdb is done again', async () => {
  const dataDir = await temporaryDataDir();
  const half = join(dataDir, 'postgres', 'data.new-1');
  await mkdir(join(half, 'base', '1'), { recursive: true });
  await writeFile(join(half, 'PG_VERSION'), '18\n');
  await writeFile(join(dataDir, 'postgres', 'password'), 'of the interrupted one');
  const server = await start(dataDir);
  expect(await one(server.url)).toEqual([{ one: 1 }]);
  expect((await readdir(join(dataDir, 'postgres'))).filter((name) => name.startsWith('data.'))).toEqual([]);
});

test.each(['PG_VERSION', 'global/pg_control'])(
  'a cluster without %s is refused by name, and stays as it is',
  async (lost) => {
    const dataDir = await preparedDataDir();
    const cluster = join(dataDir, 'postgres', 'data');
    await rename(join(cluster, lost), join(dataDir, 'lost'));
    const before = (await readdir(join(dataDir, 'postgres'))).sort();
    await expect(start(dataDir)).rejects.toThrow(
      /data is no complete PostgreSQL data directory.*Restore.*DATABASE_URL/,
    );
    expect((await readdir(join(dataDir, 'postgres'))).sort()).toEqual(before);
    await rename(join(dataDir, 'lost'), join(cluster, lost));
    expect(await one((await start(dataDir)).url)).toEqual([{ one: 1 }]);
  },
);

test('an empty directory is used', async () => {
  const dataDir = await temporaryDataDir();
  await mkdir(join(dataDir, 'postgres', 'data'), { recursive: true });
  expect(await one((await start(dataDir)).url)).toEqual([{ one: 1 }]);
});

test('a cluster of another major version is refused by name', async () => {
  const dataDir = await preparedDataDir();
  await writeFile(join(dataDir, 'postgres', 'data', 'PG_VERSION'), '17\n');
  await expect(start(dataDir)).rejects.toThrow(/belongs to PostgreSQL 17.*DATABASE_URL/);
});

test('a lost password is named', async () => {
  const dataDir = await preparedDataDir();
  await rm(join(dataDir, 'postgres', 'password'));
  await expect(start(dataDir)).rejects.toThrow(/postgres\/password, cannot be read/);
});
