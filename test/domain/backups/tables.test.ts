import { defineEntity, p } from '@mikro-orm/core';
import { expect, it } from 'vitest';
import { backedUp, rowLine } from '../../../src/domain/backups/backed-up-table.ts';
import { notBackedUp, projectRow, projectTables } from '../../../src/domain/backups/project-tables.ts';
import { usualSettings } from '../../../src/domain/crawlers/config/crawler.entity.ts';
import { studioSettings } from '../../../src/domain/projects/project.entity.ts';
import { shared, startTestApp } from '../../support/app.ts';

const app = shared(startTestApp);

const rowsOf = async (sql: string, values: unknown[] = []) =>
  (await app.services.orm.em.fork().execute(sql, values)) as { name: string }[];

/** Tables with a `project_id`, and those whose rows belong to a project's by foreign keys or go with them, over as many tables as it takes. */
const ofProjects = `
  with recursive belongs(id) as (
    select 'project'::regclass::oid
    union
    select child from belongs join (
      select confrelid as parent, conrelid as child from pg_constraint where contype = 'f'
      union all
      select tgrelid, split_part(encode(tgargs, 'escape'), '\\000', 1)::regclass from pg_trigger where tgfoid = 'remove_rows_of'::regproc
    ) as kept on parent = belongs.id
  )
  select relname as name from belongs join pg_class on pg_class.oid = belongs.id where relname <> 'project'
  union
  select table_name from information_schema.columns where column_name = 'project_id' and table_schema = 'public'
  order by 1`;

it('every table that belongs to projects is backed up, or is known not to be', async () => {
  const known = [...projectTables.map(({ name }) => name), ...Object.keys(notBackedUp)].sort();
  expect((await rowsOf(ofProjects)).map(({ name }) => name)).toEqual(known);
});

it.each([projectRow, ...projectTables].map((table) => [table.name, table] as const))(
  'every column of %s is backed up, or is known not to be',
  async (name, { row, left }) => {
    const sql = 'select column_name as name from information_schema.columns where table_name = ? order by 1';
    const columns = (await rowsOf(sql, [name])).map((column) => column.name);
    expect([...Object.keys(row.shape), ...Object.keys(left)].sort()).toEqual(columns.sort());
  },
);

it('every setting of a project is backed up', () => {
  const settings = { ...studioSettings(null), fresh_for: { read: 5, write: 6 }, of_a_later_version: true };
  const row = {
    name: 'A',
    machine_name: 'a',
    region: null,
    import: null,
    settings,
    created_at: new Date(),
    updated_at: new Date(),
  };
  expect(JSON.parse(rowLine(projectRow, row)).settings).toEqual(settings);
});

it.each(['api_key', 'password_hash', 'credentials', 'next_secret'])(
  'refuses to back up a column %s by default',
  (name) => {
    const entity = defineEntity({
      name: `With ${name}`,
      tableName: 'x',
      properties: { id: p.integer().primary(), [name]: p.text() },
    });
    expect(() => backedUp({ entity, left: { id: 'given anew' } })).toThrow(
      `x.${name}: say how backups hold it, or leave it`,
    );
    expect(Object.keys(backedUp({ entity, left: { id: 'given anew', [name]: 'a secret' } }).row.shape)).toEqual([]);
  },
);

it('refuses to back up a column by default whose shape only its owner knows', () => {
  const entity = defineEntity({
    name: 'Shaped',
    tableName: 'x',
    properties: { id: p.integer().primary(), data: p.json<object>() },
  });
  expect(() => backedUp({ entity, left: {} })).toThrow('x.data: say how backups hold it, or leave it');
});

it('reads a row from before there was a column with the default of the column', () => {
  const properties = { name: p.text().primary(), note: p.text().nullable(), tries: p.integer().default(3) };
  const { row } = backedUp({ entity: defineEntity({ name: 'Later', tableName: 'x', properties }), left: {} });
  expect(row.parse({ name: 'a' })).toEqual({ name: 'a', note: null, tries: 3 });
  expect(row.safeParse({ note: 'a' }).success).toBe(false);
});

it('reads a crawler from before there was a setting with the setting as by default', () => {
  const table = projectTables.find(({ name }) => name === 'crawler');
  const { publish, ...earlier } = usualSettings();
  const at = '2026-03-01T08:00:00.000Z';
  const row = { id: 1, name: 'a', domain: 'a.example', host: 'a.example', created_at: at, updated_at: at };
  expect(table?.row.parse({ ...row, settings: { ...earlier, later: 1 } })).toMatchObject({
    settings: { ...earlier, publish, later: 1 },
  });
});
