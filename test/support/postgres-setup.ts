import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestProject } from 'vitest/node';
import { startEmbeddedPostgres } from '../../src/db/postgres.ts';
import { makeTemporaryRoot } from './temporary-root.ts';

const silent = { info() {}, warn() {}, error: (fields: object, message: string) => console.error(message, fields) };

/** Starts one embedded server for the whole test run, unless DATABASE_URL names one; `createDatabase` uses it. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const removeTemporaryRoot = await makeTemporaryRoot();
  const given = process.env.DATABASE_URL;
  if (given) {
    project.provide('databaseUrl', given);
    return removeTemporaryRoot;
  }
  const dataDir = await mkdtemp(join(tmpdir(), 'portico-test-'));
  const server = await startEmbeddedPostgres({ dataDir, log: silent, durable: false });
  project.provide('databaseUrl', server.url);
  return async () => {
    await server.stop();
    await rm(dataDir, { recursive: true, force: true });
    await removeTemporaryRoot();
  };
}
