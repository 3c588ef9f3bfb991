import { randomBytes } from 'node:crypto';
import pg from 'pg';
import { inject } from 'vitest';
import { databasePrefix } from './temporary-root.ts';

declare module 'vitest' {
  interface ProvidedContext {
    /** A database of the server all tests share: DATABASE_URL, or the embedded one started for the run. */
    databaseUrl: string;
    /** Name of a database of that server with the newest schema and no rows; no connection to it is open. */
    migratedDatabase: string;
  }
}

export interface TestDatabase {
  name: string;
  url: string;
  drop(): Promise<void>;
}

/** Name of the database to copy for one without tables. */
export const empty = 'template0';

/**
 * Makes a fresh database on the server of the test run; drop it when done.
 * @param template name of the database to copy, to which no connection is open; default: the one migrated for the run
 */
export async function createDatabase(template = inject('migratedDatabase')): Promise<TestDatabase> {
  const name = `${databasePrefix()}${randomBytes(5).toString('hex')}`;
  await administer(
    `CREATE DATABASE ${name} TEMPLATE ${pg.escapeIdentifier(template)} ENCODING 'UTF8' STRATEGY FILE_COPY`,
  );
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
