import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect, it } from 'vitest';
import { launchPostmaster } from '../../../src/db/postgres/postmaster.ts';

it('says why a server could not be started', async () => {
  const directory = await mkdtemp(path.join(tmpdir(), 'portico-postmaster-'));
  const plan = {
    binary: path.join(directory, 'postgres'),
    runAs: { prefix: [], owner: {} },
    clusterDir: directory,
    socketDirectory: directory,
    logFile: path.join(directory, 'log'),
    settings: {},
    url: `postgres://postgres@localhost/postgres?host=${directory}`,
  };
  await expect(launchPostmaster(plan as never, new AbortController().signal)).rejects.toThrow(
    /^PostgreSQL could not be started: spawn .*ENOENT$/,
  );
  await rm(directory, { recursive: true });
});
