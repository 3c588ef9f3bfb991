import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import pg from 'pg';
import type { TestProject } from 'vitest/node';
import { startEmbeddedPostgres } from '../../src/db/postgres.ts';
import { databasePrefix, makeTemporaryRoot } from './temporary-root.ts';

const silent = { info() {}, warn() {}, error: (fields: object, message: string) => console.error(message, fields) };

/** Removes what the run has left on a server that is not its own. */
async function dropDatabases(url: string): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  const { rows } = await client.query('select datname from pg_database where starts_with(datname, $1)', [
    databasePrefix(),
  ]);
  for (const { datname } of rows)
    await client.query(`DROP DATABASE IF EXISTS ${pg.escapeIdentifier(datname)} WITH (FORCE)`);
  await client.end();
}

/** Starts one embedded server for the whole test run, unless DATABASE_URL names one; `createDatabase` uses it. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  // Each test file is a process of its own, which reads the same packages: what was compiled is kept beside them.
  process.env.NODE_COMPILE_CACHE ??= resolve('node_modules/.cache/portico-test/compiled');
  const removeTemporaryRoot = await makeTemporaryRoot();
  const given = process.env.DATABASE_URL;
  if (given) {
    project.provide('databaseUrl', given);
    return async () => {
      await dropDatabases(given);
      await removeTemporaryRoot();
    };
  }
  const dataDir = await mkdtemp(join(tmpdir(), 'portico-test-'));
  const server = await startEmbeddedPostgres({ dataDir, log: silent, durable: false });
  project.provide('databaseUrl', server.url);
  return async () => {
    await server.stop();
    await removeTemporaryRoot();
  };
}
