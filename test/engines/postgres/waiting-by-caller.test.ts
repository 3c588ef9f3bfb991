import type { MikroORM } from '@mikro-orm/postgresql';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { openOrm } from '../../../src/db/orm.ts';
import { workFor } from '../../../src/lib/concurrency.ts';
import { createDatabase, empty, type TestDatabase } from '../../support/postgres.ts';

let database: TestDatabase;
let orm: MikroORM;
beforeAll(async () => {
  database = await createDatabase(empty);
  orm = openOrm(database.url, 1);
});
afterAll(async () => {
  await orm?.close();
  await database?.drop();
});

const readFor = (caller: string, order: string[]) =>
  workFor(caller, () => orm.em.fork().execute('select 1')).then(() => void order.push(caller));

it('gives connections in turns to callers, each in the order of what it sent', async () => {
  const order: string[] = [];
  const busy = Array.from({ length: 20 }, () => readFor('busy', order));
  const others = [readFor('a', order), readFor('b', order), readFor('a', order)];
  await Promise.all([...busy, ...others]);
  expect(order.filter((caller) => caller === 'busy')).toHaveLength(20);
  expect(order.slice(0, 8).filter((caller) => caller !== 'busy')).toEqual(['a', 'b', 'a']);
});

it('goes on when what waited has been given up', async () => {
  const pool = await orm.em.getConnection().getNativeClient();
  pool.options.connectionTimeoutMillis = 50;
  const held = await pool.connect();
  const late = readFor('late', []);
  await expect(late).rejects.toThrow(/timeout/);
  pool.options.connectionTimeoutMillis = 10_000;
  const order: string[] = [];
  const next = [readFor('late', order), readFor('other', order)];
  held.release();
  await Promise.all(next);
  expect(order.toSorted()).toEqual(['late', 'other']);
});
