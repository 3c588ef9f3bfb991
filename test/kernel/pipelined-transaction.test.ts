import type { EntityManager, MikroORM } from '@mikro-orm/postgresql';
import { DriverException } from '@mikro-orm/postgresql';
import { afterAll, beforeAll, beforeEach, expect, it, vi } from 'vitest';
import { openOrm } from '../../src/db/orm.ts';
import { executeBound, transactPipelined } from '../../src/kernel/sql.ts';
import { createDatabase, empty, type TestDatabase } from '../support/postgres.ts';

let database: TestDatabase;
let orm: MikroORM;

beforeAll(async () => {
  database = await createDatabase(empty);
  // One connection: a transaction that does not hand it back leaves none.
  orm = openOrm(database.url, 1);
  await orm.em.fork().execute('create table kept (number integer primary key)');
});
beforeEach(async () => void (await orm.em.fork().execute('delete from kept')));
afterAll(async () => {
  await orm?.close();
  await database?.drop();
});

const insert = (em: EntityManager, number: number) =>
  executeBound<{ number: number }>(em, 'insert into kept values ($1) returning number', [number]);
const kept = async () => {
  const rows = await orm.em.fork().execute<{ number: number }[]>('select number from kept order by number');
  return rows.map(({ number }) => number);
};
const poolOf = async () => await orm.em.getConnection().getNativeClient();

it('gives each statement its own answer, the mapper those of its own, too', async () => {
  const found = await transactPipelined(orm.em, (em) =>
    Promise.all([
      insert(em, 1),
      em.execute('select 7 as seven'),
      insert(em, 2),
      em.execute('select count(*)::int from kept'),
    ]),
  );
  expect(found).toEqual([[{ number: 1 }], [{ seven: 7 }], [{ number: 2 }], [{ count: 2 }]]);
  expect(await kept()).toEqual([1, 2]);
});

it('sends what is queried together before any of it is answered', async () => {
  const order: string[] = [];
  const pool = await poolOf();
  const connection = await pool.connect();
  const query = connection.query.bind(connection) as (...given: unknown[]) => Promise<unknown>;
  const spy = vi.spyOn(connection, 'query').mockImplementation((async (...given: unknown[]) => {
    order.push('sent');
    const answer = await query(...given);
    order.push('answered');
    return answer;
  }) as never);
  connection.release();
  await transactPipelined(orm.em, (em) => Promise.all([insert(em, 1), insert(em, 2)]));
  spy.mockRestore();
  // `begin` and two statements; then `commit`.
  expect(order).toEqual(['sent', 'sent', 'sent', 'answered', 'answered', 'answered', 'sent', 'answered']);
});

it('sends what comes last along with the commit', async () => {
  const found = await transactPipelined(
    orm.em,
    (em) => insert(em, 1),
    (em, [row]) => insert(em, (row?.number ?? 0) + 1),
  );
  expect(found).toEqual([{ number: 1 }]);
  expect(await kept()).toEqual([1, 2]);
});

it('takes everything back when what comes last fails, and says which', async () => {
  const failed = transactPipelined(
    orm.em,
    (em) => insert(em, 1),
    (em) => insert(em, 1),
  );
  await expect(failed).rejects.toThrow(/kept_pkey/);
  await expect(failed).rejects.toBeInstanceOf(DriverException);
  expect(await kept()).toEqual([]);
});

it('takes everything back when one statement fails, and says which', async () => {
  const failed = transactPipelined(orm.em, (em) => Promise.all([insert(em, 1), insert(em, 1), insert(em, 2)]));
  await expect(failed).rejects.toThrow(/kept_pkey/);
  await expect(failed).rejects.toBeInstanceOf(DriverException);
  expect(await kept()).toEqual([]);
});

it('takes everything back when the work throws', async () => {
  const failed = transactPipelined(orm.em, async (em) => {
    await insert(em, 1);
    throw new Error('no');
  });
  await expect(failed).rejects.toThrow('no');
  expect(await kept()).toEqual([]);
});

it('is no success when the work says nothing of a statement that failed', async () => {
  const silent = transactPipelined(orm.em, async (em) => {
    await Promise.allSettled([insert(em, 1), insert(em, 1)]);
  });
  await expect(silent).rejects.toThrow('a statement has failed before');
  expect(await kept()).toEqual([]);
});

it('refuses queries when it is over', async () => {
  const { inside } = await transactPipelined(orm.em, async (em) => ({ inside: em }));
  await expect(insert(inside, 1)).rejects.toThrow('the transaction is over');
  expect(await kept()).toEqual([]);
});

it('fails with the mapper’s own error when its connection is lost, and gives it up', async () => {
  const failed = transactPipelined(orm.em, (em) => em.execute('select pg_terminate_backend(pg_backend_pid())'));
  await expect(failed).rejects.toBeInstanceOf(DriverException);
  expect(await kept()).toEqual([]);
  const { totalCount, idleCount } = await poolOf();
  expect([totalCount, idleCount]).toEqual([1, 1]);
});
