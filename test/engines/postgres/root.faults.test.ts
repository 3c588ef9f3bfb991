import { spawnSync } from 'node:child_process';
import { chmod, mkdir, stat, symlink } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { findBinaries } from '../../../src/db/postgres/binaries.ts';
import { kill, postmasterPid, query, startProcess, temporaryDataDir } from './harness.ts';

describe.runIf(process.getuid?.() === 0)('as root', () => {
  test('PostgreSQL runs below a directory only root can enter', async () => {
    const dataDir = await temporaryDataDir();
    expect((await stat(dirname(dataDir))).mode & 0o777).toBe(0o700);
    const { answer } = await startProcess(dataDir);
    expect(await query(answer.url ?? '', 'SELECT 1 AS one')).toEqual([{ one: 1 }]);
  });

  test('without user namespaces it runs as the user nobody, or says what to do', async () => {
    const dataDir = await temporaryDataDir();
    const env = await withoutUnshare(dirname(dataDir));
    const refused = await startProcess(dataDir, { env });
    expect(refused.answer.message).toMatch(/does not run as root.*ordinary user.*DATABASE_URL/);

    await chmod(dirname(dataDir), 0o755);
    const { child, answer } = await startProcess(dataDir, { env });
    if (!(await nobodyCanRun())) {
      expect(answer.message).toMatch(/DATABASE_URL/);
      return;
    }
    expect(await query(answer.url ?? '', `CREATE TABLE note AS SELECT 'kept' AS body`)).toEqual([]);
    const pid = Number(await postmasterPid(dataDir));
    expect((await stat(`/proc/${pid}`)).uid).not.toBe(0);
    expect((await stat(dataDir)).mode & 0o777).toBe(0o710);

    // With user namespaces again: the cluster stays with the user it was given to, and the orphan is adopted.
    await kill(child);
    const later = await startProcess(dataDir);
    expect(await query(later.answer.url ?? '', 'SELECT body FROM note')).toEqual([{ body: 'kept' }]);
    expect(await postmasterPid(dataDir)).toBe(pid);
  });

  test('a cluster made in a user namespace is given to the user nobody where there are none', async () => {
    const dataDir = await temporaryDataDir();
    await chmod(dirname(dataDir), 0o755);
    const first = await startProcess(dataDir);
    await query(first.answer.url ?? '', `CREATE TABLE note AS SELECT 'kept' AS body`);
    await kill(first.child);
    spawnSync('kill', ['-INT', String(await postmasterPid(dataDir))]);
    const second = await startProcess(dataDir, { env: await withoutUnshare(dirname(dataDir)) });
    if (!(await nobodyCanRun())) expect(second.answer.message).toMatch(/DATABASE_URL/);
    else expect(await query(second.answer.url ?? '', 'SELECT body FROM note')).toEqual([{ body: 'kept' }]);
  });
});

test.runIf(process.getuid?.() !== 0)('an ordinary user runs PostgreSQL directly', async () => {
  const dataDir = await temporaryDataDir();
  await startProcess(dataDir);
  expect((await stat(`/proc/${await postmasterPid(dataDir)}`)).uid).toBe(process.getuid?.());
});

/** An environment in which the programs used are found, except unshare: as where user namespaces are forbidden. */
async function withoutUnshare(parent: string): Promise<NodeJS.ProcessEnv> {
  const bin = join(parent, 'bin');
  await mkdir(bin);
  for (const name of ['id', 'chown']) {
    const found = spawnSync('which', [name], { encoding: 'utf8' }).stdout.trim();
    await symlink(found, join(bin, name));
  }
  return { ...process.env, PATH: bin };
}

async function nobodyCanRun(): Promise<boolean> {
  const { postgres } = await findBinaries();
  return spawnSync(postgres, ['--version'], { uid: 65534, gid: 65534, cwd: '/' }).status === 0;
}
