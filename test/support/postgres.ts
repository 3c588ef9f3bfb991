import { randomBytes } from 'node:crypto';
import pg from 'pg';
import { inject } from 'vitest';
import { databasePrefix } from './temporary-root.ts';

declare module 'vitest' {
  interface ProvidedContext {
    /** A database of the server all tests share: DATABASE_URL, or the embedded one started for the run. */
    databaseUrl: string;
  }
}

export interface TestDatabase {
  name: string;
  url: string;
  drop(): Promise<void>;
}

/**
 * Makes a fresh database on the server of the test run; drop it when done.
 * @param template a database to copy, with nobody connected to it: migrated once, copied for each test. Empty without it.
 */
export async function createDatabase(template = 'template0'): Promise<TestDatabase> {
  const name = `${databasePrefix()}${randomBytes(5).toString('hex')}`;
  await administer(`CREATE DATABASE ${name} TEMPLATE ${pg.escapeIdentifier(template)} ENCODING 'UTF8'`);
  const url = new URL(inject('databaseUrl'));
  url.pathname = `/${name}`;
  return {
    name,
    url: url.href,
    async drop() {
      await administer(`DROP DATABASE IF EXISTS ${name} WITH (FORCE)`);
    },
  };
}

async function administer(statement: string): Promise<void> {
  const client = new pg.Client({ connectionString: inject('databaseUrl') });
  await client.connect();
  await client.query(statement).finally(() => client.end());
}
