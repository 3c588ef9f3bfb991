import type { MikroORM } from '@mikro-orm/postgresql';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openOrm } from '../../src/db/orm.ts';
import { DomainError } from '../../src/kernel/errors.ts';
import { executeBound } from '../../src/kernel/sql.ts';
import { asUnavailable } from '../../src/kernel/unavailable.ts';
import { createDatabase, empty, type TestDatabase } from '../support/postgres.ts';

let database: TestDatabase;
let orm: MikroORM;
beforeAll(async () => {
  database = await createDatabase(empty);
  orm = openOrm(database.url, 2);
  await orm.em.fork().execute('create table bound (id integer primary key, text text, bytes bytea, list text[])');
});
afterAll(async () => {
  await orm?.close(true);
  await database?.drop();
});

const em = () => orm.em.fork();
const failureOf = (work: Promise<unknown>) =>
  work.then(
    () => null,
    (error: unknown) => error,
  );

describe('a bound statement', () => {
  it('carries values of every kind as they are', async () => {
    const text = `'; drop table bound; -- $1 ? \\ "é😀`;
    const bytes = Buffer.from([0, 255, 39, 92, 0]);
    const list = ['{a,b}', 'c"d', ''];
    await executeBound(em(), 'insert into bound (id, text, bytes, list) values ($1, $2, $3, $4)', [
      1,
      text,
      bytes,
      list,
    ]);
    const rows = await executeBound<{ text: string; bytes: Buffer; list: string[]; none: null }>(
      em(),
      'select text, bytes, list, $2::text as none from bound where id = $1',
      [1, null],
    );
    expect(rows).toEqual([{ text, bytes, list, none: null }]);
  });

  it('is part of the transaction it is run in', async () => {
    const count = async (within = em()) =>
      (
        await executeBound<{ count: number }>(
          within,
          'select count(*)::integer as count from bound where id > $1',
          [100],
        )
      )[0]?.count;
    const undone = em().transactional(async (within) => {
      await executeBound(within, 'insert into bound (id) values ($1)', [101]);
      expect([await count(within), await count()]).toEqual([1, 0]);
      throw new Error('undo');
    });
    await expect(undone).rejects.toThrow('undo');
    expect(await count()).toBe(0);
  });

  it('is planned once for each connection, whatever its values', async () => {
    await em().transactional(async (within) => {
      for (const id of [1, 2, 3]) await executeBound(within, 'select text from bound where id = $1', [id]);
      const prepared = await within.execute<{ times: number }[]>(
        `select generic_plans + custom_plans as times from pg_prepared_statements where statement = 'select text from bound where id = $1'`,
      );
      expect(prepared.map(({ times }) => Number(times))).toEqual([3]);
    });
  });

  it('fails like every other statement', async () => {
    await executeBound(em(), 'insert into bound (id) values ($1) on conflict do nothing', [1]);
    const error = await failureOf(executeBound(em(), 'insert into bound (id) values ($1)', [1]));
    expect(error).toMatchObject({ name: 'UniqueConstraintViolationException', code: '23505' });
  });
});

describe('a database counts as away', () => {
  it('not for a statement it cannot read, which would be as wrong the next time', async () => {
    const error = await failureOf(executeBound(em(), 'select $1::text, $2::text', ['one is missing']));
    expect(error).toMatchObject({ code: '08P01' });
    expect(asUnavailable(error)).toBe(error);
  });

  it('for a connection that was ended', async () => {
    const error = await failureOf(executeBound(em(), 'select pg_terminate_backend(pg_backend_pid())', []));
    expect(asUnavailable(error)).toBeInstanceOf(DomainError);
  });

  it.each([
    ['08P01', 'FATAL', 'a pooler whose server is gone'],
    ['57P03', 'FATAL', 'a server that is starting'],
    ['08006', 'ERROR', 'a lost connection'],
  ])('for %s %s: %s', async (code, severity) => {
    const raised = await failureOf(executeBound(em(), 'select $1::integer', ['no number']));
    expect(asUnavailable(Object.assign(raised as Error, { code, severity }))).toMatchObject({ code: 'unavailable' });
  });
});
