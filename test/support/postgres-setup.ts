import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import pg from 'pg';
import type { TestProject } from 'vitest/node';
import { migrate } from '../../src/db/migrate.ts';
import { openOrm } from '../../src/db/orm.ts';
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

/** Makes the database that `createDatabase` copies: migrated once for the run. @returns its name */
async function makeMigratedDatabase(server: string): Promise<string> {
  const name = `${databasePrefix()}migrated`;
  const client = new pg.Client({ connectionString: server });
  await client.connect();
  await client.query(`CREATE DATABASE ${pg.escapeIdentifier(name)} TEMPLATE template0 ENCODING 'UTF8'`);
  await client.end();
  const url = new URL(server);
  url.pathname = `/${name}`;
  const orm = openOrm(url.href, 4);
  await migrate(orm).finally(() => orm.close());
  return name;
}

/** Starts one embedded server for the whole test run, unless DATABASE_URL names one; `createDatabase` uses it. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  // Each test file is a process of its own, which reads the same packages: what was compiled is kept beside them.
  process.env.NODE_COMPILE_CACHE ??= resolve('node_modules/.cache/portico-test/compiled');
  // What is freed goes back to the system at once: processes of tests stay small, and with them the copies that each start of a program makes.
  process.env.MALLOC_ARENA_MAX ??= '1';
  process.env.MALLOC_MMAP_THRESHOLD_ ??= '1048576';
  process.env.MALLOC_TRIM_THRESHOLD_ ??= '1048576';
  const removeTemporaryRoot = await makeTemporaryRoot();
  const given = process.env.DATABASE_URL;
  if (given) {
    project.provide('databaseUrl', given);
    project.provide('migratedDatabase', await makeMigratedDatabase(given));
    return async () => {
      await dropDatabases(given);
      await removeTemporaryRoot();
    };
  }
  const dataDir = await mkdtemp(join(tmpdir(), 'portico-test-'));
  const server = await startEmbeddedPostgres({ dataDir, log: silent, durable: false });
  const end = async () => {
    await server.stop();
    await removeTemporaryRoot();
  };
  project.provide('databaseUrl', server.url);
  const migrated = await makeMigratedDatabase(server.url).catch(async (error: unknown) => {
    await end();
    throw error;
  });
  project.provide('migratedDatabase', migrated);
  return end;
}
