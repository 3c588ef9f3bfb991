import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { DataDirInUse, lockDataDir } from '../../../src/db/postgres.ts';
import { kill, killPid, postmasterPid, startProcess, temporaryDataDir } from './harness.ts';

test('the lock of a killed process is taken over, by exactly one of many', async () => {
  const dataDir = await temporaryDataDir();
  for (let round = 0; round < 3; round++) {
    const starts = await Promise.all(Array.from({ length: 4 }, () => startProcess(dataDir, { lock: true })));
    expect(starts.map(({ answer }) => answer.up).sort()).toEqual([false, false, false, true]);
    const winner = starts.find(({ answer }) => answer.up);
    for (const { answer } of starts.filter((each) => !each.answer.up)) {
      expect(answer.message).toContain(`(process ${winner?.child.pid})`);
    }
    for (const { child } of starts) await kill(child);
  }
});

test('of many takers in one process exactly one wins, over and over', async () => {
  const dataDir = await temporaryDataDir();
  for (let round = 0; round < 20; round++) {
    const results = await Promise.allSettled(Array.from({ length: 8 }, () => lockDataDir(dataDir)));
    const won = results.filter((result) => result.status === 'fulfilled');
    expect(won).toHaveLength(1);
    await won[0]?.value.release();
  }
  expect(await readdir(join(dataDir, 'lock'))).toHaveLength(1);
});

test('a lock whose process number is another process by now is stale; so is an unreadable one', async () => {
  const dataDir = await temporaryDataDir();
  await lockDataDir(dataDir);
  await expect(lockDataDir(dataDir)).rejects.toThrow(DataDirInUse);
  const holder = JSON.parse(await readFile(join(dataDir, 'lock', '1'), 'utf8'));
  await writeFile(join(dataDir, 'lock', '1'), JSON.stringify({ ...holder, identity: 'of an earlier process' }));
  await lockDataDir(dataDir);
  await writeFile(join(dataDir, 'lock', '2'), '{"pid":');
  await (await lockDataDir(dataDir)).release();
});

test('a holder in another container is known by its PostgreSQL, which answers on the socket', async () => {
  const dataDir = await temporaryDataDir();
  const { child } = await startProcess(dataDir);
  const file = join(dataDir, 'lock', '1');
  await writeFile(file, JSON.stringify({ ...JSON.parse(await readFile(file, 'utf8')), namespace: 'pid:[1]' }));
  await expect(lockDataDir(dataDir)).rejects.toThrow(/in use by another Portico server \(in another container\)/);
  await killPid(Number(await postmasterPid(dataDir)));
  await kill(child);
  await (await lockDataDir(dataDir)).release();
});
