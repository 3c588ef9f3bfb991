import pg from 'pg';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { openOrm } from '../../../src/db/orm.ts';
import { SessionLocks } from '../../../src/db/session-locks.ts';
import { createDatabase, empty, type TestDatabase } from '../../support/postgres.ts';

let database: TestDatabase;
/** Two processes. */
let one: SessionLocks;
let other: SessionLocks;

beforeEach(async () => {
  database = await createDatabase(empty);
  one = new SessionLocks(database.url);
  other = new SessionLocks(database.url);
});
afterEach(async () => {
  await one.close();
  await other.close();
  await database.drop();
});

const nothing = async () => {};

/** Takes a lock and keeps it. */
async function hold(locks: SessionLocks, name: string) {
  const held = Promise.withResolvers<void>();
  const begun = Promise.withResolvers<void>();
  const done = locks.unlessHeld(name, () => {
    begun.resolve();
    return held.promise;
  });
  await Promise.race([begun.promise, done]);
  return { release: held.resolve, done };
}

async function sessions(): Promise<number> {
  const client = new pg.Client({ connectionString: database.url });
  await client.connect();
  const { rows } = await client.query(
    `select pid from pg_stat_activity where application_name = 'portico-locks' and datname = current_database()`,
  );
  await client.end();
  return rows.length;
}

it('does nothing under a lock that this process or another one holds', async () => {
  const { release, done } = await hold(one, 'a');
  expect(await one.unlessHeld('a', nothing)).toBeNull();
  expect(await other.unlessHeld('a', nothing)).toBeNull();
  expect(await other.unlessHeld('b', async () => 'done')).toEqual({ result: 'done' });
  release();
  await done;
  expect(await other.unlessHeld('a', nothing)).not.toBeNull();
});

it('holds all locks of a process on one connection, and closes it with the last of them', async () => {
  const held = await Promise.all(['a', 'b', 'c'].map((name) => hold(one, name)));
  expect(await sessions()).toBe(1);
  for (const { release, done } of held) {
    release();
    await done;
  }
  await expect.poll(sessions).toBe(0);
});

it('gives a lock back when the work under it fails', async () => {
  await expect(one.unlessHeld('a', () => Promise.reject(new Error('failed')))).rejects.toThrow('failed');
  expect(await one.unlessHeld('a', nothing)).not.toBeNull();
  expect(await other.unlessHeld('a', nothing)).not.toBeNull();
});

it('leaves a lost lock to another process, and takes new ones on a new connection', async () => {
  const { release, done } = await hold(one, 'a');
  const client = new pg.Client({ connectionString: database.url });
  await client.connect();
  await client.query(
    `select pg_terminate_backend(pid, 30000) from pg_stat_activity
     where application_name = 'portico-locks' and datname = current_database()`,
  );
  await client.end();
  const next = await hold(other, 'a');
  await expect.poll(() => one.unlessHeld('b', nothing).catch(() => null)).not.toBeNull();
  release();
  await done;
  expect(await one.unlessHeld('a', nothing)).toBeNull();
  next.release();
  await next.done;
});

it('excludes transactions that take the same lock until their end', async () => {
  const orm = openOrm(database.url, 2);
  const { release, done } = await hold(one, 'a');
  const take = () => orm.em.fork().transactional((em) => one.tryUntilCommit(em, 'a'));
  expect(await take()).toBe(false);
  release();
  await done;
  await orm.em.fork().transactional(async (em) => {
    expect(await one.tryUntilCommit(em, 'a')).toBe(true);
    expect(await one.unlessHeld('a', nothing)).toBeNull();
  });
  expect(await one.unlessHeld('a', nothing)).not.toBeNull();
  await orm.close();
});

it('refuses at once all that wait for a connection which cannot be made', async () => {
  const away = new SessionLocks(`${database.url}_that_is_not_there`);
  const tried = await Promise.allSettled(['a', 'b', 'c'].map((name) => away.unlessHeld(name, nothing)));
  const reasons = tried.map((each) => (each.status === 'rejected' ? String(each.reason) : each.status));
  expect(reasons).toEqual(Array.from(tried, () => expect.stringMatching(/_that_is_not_there" does not exist/)));
});
