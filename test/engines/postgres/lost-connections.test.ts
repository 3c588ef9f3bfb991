import pg from 'pg';
import { afterEach, expect, it } from 'vitest';
import { openOrm } from '../../../src/db/orm.ts';
import { createDatabase, empty, type TestDatabase } from '../../support/postgres.ts';

let database: TestDatabase;

afterEach(() => database.drop());

const endOthers = `select pg_terminate_backend(pid, 30000) from pg_stat_activity
  where datname = current_database() and pid <> pg_backend_pid() and query like $1`;

/** Ends the sessions of all others that have sent a query, as a restart of the database does; waits for the first. */
async function endSessions(requested: string): Promise<void> {
  const client = new pg.Client({ connectionString: database.url });
  await client.connect();
  while ((await client.query(endOthers, [requested])).rowCount === 0);
  await client.end();
}

it('a connection lost in a transaction is given up: the pool stays whole, and ends', async () => {
  database = await createDatabase(empty);
  const orm = openOrm(database.url, 2);
  // More often than the pool has connections.
  for (let round = 0; round < 3; round++) {
    const em = orm.em.fork();
    await em.begin();
    await endSessions('begin%');
    await expect(em.commit()).rejects.toThrow();
    await expect(em.rollback()).rejects.toThrow();
  }
  expect(await orm.em.fork().execute('select 1 as one')).toEqual([{ one: 1 }]);
  await orm.close();
});

it('a query under way fails, and its connection is handed back once', async () => {
  database = await createDatabase(empty);
  const orm = openOrm(database.url, 1);
  const sleeping = expect(orm.em.fork().execute('select pg_sleep(600)')).rejects.toThrow();
  // Not before it is under way: on a connection that is lost sooner it would not be, and be sent again.
  await endSessions('%pg_sleep%');
  await sleeping;
  expect(await orm.em.fork().execute('select 1 as one')).toEqual([{ one: 1 }]);
  await orm.close();
});

it('ends though a connection was still being opened', async () => {
  database = await createDatabase(empty);
  const orm = openOrm(database.url, 2);
  // With this one taken, another has to be opened.
  const holder = orm.em.fork();
  await holder.begin();
  const pool = await orm.em.getConnection().getNativeClient();
  const { promise: isOpening, resolve } = Promise.withResolvers<void>();
  const connect = pool.connect.bind(pool);
  pool.connect = () => {
    resolve();
    return connect();
  };
  const requested = orm.em.fork().execute('select 1').catch(String);
  await isOpening;
  const closed = orm.close();
  await holder.rollback();
  await closed;
  expect(await requested).toMatch('the connections to the database are being closed');
});
