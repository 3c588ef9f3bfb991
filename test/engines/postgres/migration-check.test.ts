import { execFile } from 'node:child_process';
import path from 'node:path';
import { promisify, stripVTControlCharacters } from 'node:util';
import { afterEach, expect, it } from 'vitest';
import { openOrm } from '../../../src/db/orm.ts';
import { createDatabase, empty, type TestDatabase } from '../../support/postgres.ts';

let database: TestDatabase;

afterEach(() => database.drop());

const root = path.resolve(import.meta.dirname, '../../..');

/** `npx mikro-orm migration:check` on the test's database. @returns its exit code and what it prints */
async function check(): Promise<[code: number, text: string]> {
  const program = path.join(root, 'node_modules/@mikro-orm/cli/cli.js');
  const env = { ...process.env, DATABASE_URL: database.url, NO_COLOR: '1', NODE_OPTIONS: '' };
  const ran = promisify(execFile)(process.execPath, [program, 'migration:check'], { cwd: root, env });
  const { code, stdout, stderr } = await ran.then(
    (printed) => ({ code: 0, ...printed }),
    (failed: { code: number; stdout: string; stderr: string }) => failed,
  );
  return [code, stripVTControlCharacters(stdout + stderr)];
}

/** Changes the database. @returns whether the entities still say what is there, as the command finds out */
async function alter(sql: string): Promise<boolean> {
  const orm = openOrm(database.url, 1);
  try {
    await orm.em.fork().execute(sql);
    return !(await orm.migrator.checkSchema());
  } finally {
    await orm.close();
  }
}

it('migration:check finds nothing to migrate: the entities say what the migrations make', async () => {
  database = await createDatabase();
  expect(await check()).toEqual([0, 'No changes required, schema is up-to-date\n']);
});

const missing = 'alter table workflow drop column description';

it.each([
  ['a column is missing', missing],
  ['a column has another type', 'alter table workflow alter column description type varchar(20)'],
  ['a column may be null', 'alter table token alter column name drop not null'],
  ['a default differs', 'alter table crawler_run alter column rate drop default'],
  ['a column has no property', 'alter table workflow add column further text'],
  ['a unique constraint is missing', 'alter table pull drop constraint pull_project_id_number_key'],
])('the entities differ from the database when %s', async (_what, sql) => {
  database = await createDatabase();
  expect(await alter(sql)).toBe(false);
});

it('migration:check exits with 1 when the entities differ from the database', async () => {
  database = await createDatabase();
  await alter(missing);
  expect(await check()).toEqual([1, 'Changes detected. Please create migration to update schema.\n']);
});

it('migration:check names the command that has to run first on a database without the migrations', async () => {
  database = await createDatabase(empty);
  const [code, text] = await check();
  expect([code, text]).toEqual([1, expect.stringContaining('run "npx mikro-orm migration:up", then compare')]);
});
