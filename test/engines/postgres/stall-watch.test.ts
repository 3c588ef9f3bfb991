import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import pg from 'pg';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { openOrm } from '../../../src/db/orm.ts';
import { askAnything, StallWatch } from '../../../src/db/stall-watch.ts';
import { transactPipelined } from '../../../src/kernel/sql.ts';
import { asUnavailable } from '../../../src/kernel/unavailable.ts';
import { openLine } from '../../support/database-line.ts';
import { createDatabase, empty, type TestDatabase } from '../../support/postgres.ts';

let database: TestDatabase;
let ends: (() => unknown)[] = [];
beforeEach(async () => {
  database = await createDatabase(empty);
});
afterEach(async () => {
  for (const end of ends.splice(0)) await end();
  await database.drop();
});

/** A mapper behind a line that can be cut, and the watch of its connections. */
async function watched({ pool = 3, patience = 300 }: { pool?: number; patience?: number } = {}) {
  const line = await openLine(database.url);
  const log = { warn: vi.fn(), info: vi.fn() };
  const ask = vi.fn(() => askAnything(line.url));
  const watch = new StallWatch({ log, ask, unanswered: 50, patience, every: 20 });
  const orm = openOrm(line.url, pool, { watch });
  ends = [line.mend, () => orm.close(), () => watch.close()];
  const one = () => orm.em.fork().execute('select 1 as one');
  expect(await one()).toEqual([{ one: 1 }]);
  return { line, log, ask, orm, one };
}

/** How work fails, as callers see it. */
const failure = (work: Promise<unknown>) =>
  work.then(
    () => 'it did not fail',
    (error: unknown) => (asUnavailable(error) as { code?: string }).code,
  );

describe('a database that answers nothing any more', () => {
  it('has what waits for it given up as unavailable: statements, transactions, commits and connections', async () => {
    const { line, orm, one } = await watched({ pool: 4 });
    const begun = orm.em.fork();
    await begun.begin();
    await begun.execute('select 1');
    line.cut();
    const all = [
      begun.commit(),
      one(),
      orm.em.fork().transactional((em) => em.execute('select 1')),
      transactPipelined(orm.em.fork(), (em) => em.execute('select 1')),
      // More than the pool has connections.
      ...Array.from({ length: 6 }, one),
    ];
    expect(await Promise.all(all.map(failure))).toEqual(all.map(() => 'unavailable'));
  });

  it('is not begun with any more, nor by a transaction that had its connection before', async () => {
    const { line, orm, one } = await watched();
    const begun = orm.em.fork();
    await begun.begin();
    line.cut();
    expect(await failure(one())).toBe('unavailable');
    expect(await failure(begun.execute('select 1'))).toBe('unavailable');
    expect(await failure(begun.rollback())).toBe('unavailable');
    const sockets = line.sockets.length;
    expect(await Promise.all(Array.from({ length: 5 }, one).map(failure))).toEqual(Array(5).fill('unavailable'));
    expect(line.sockets).toHaveLength(sockets);
  });

  it('is gone on with by itself when it answers again, with as many connections as before', async () => {
    const { line, log, orm, one } = await watched({ pool: 2 });
    for (let round = 0; round < 3; round += 1) {
      line.cut();
      expect(await Promise.all([one(), one(), one()].map(failure))).toEqual(Array(3).fill('unavailable'));
      line.mend();
      await vi.waitFor(() => expect(log.info).toHaveBeenCalledTimes(round + 1), 30_000);
      // Each transaction has a connection of its own as long as the other has not ended.
      const [first, second] = [orm.em.fork(), orm.em.fork()];
      await Promise.all([first.begin(), second.begin()]);
      await Promise.all([first.commit(), second.commit()]);
    }
    expect(log.warn).toHaveBeenCalledTimes(3);
  });
});

describe('a database that answers', () => {
  it('has all the time for a statement that takes long, and for one that waits for a lock or a connection', async () => {
    const { ask, log, orm } = await watched({ patience: 60_000 });
    const holder = orm.em.fork();
    await holder.begin();
    await holder.execute('select pg_advisory_xact_lock(1)');
    const waits = [
      orm.em.fork().execute('select pg_sleep(0.4)'),
      orm.em.fork().execute('select pg_advisory_xact_lock(1)'),
      // The pool is used up by those before.
      orm.em.fork().execute('select 1'),
    ];
    await vi.waitFor(() => expect(ask.mock.calls.length).toBeGreaterThan(2), 30_000);
    await holder.commit();
    await Promise.all(waits);
    expect(log.warn).not.toHaveBeenCalled();
  });

  it('gets no probe as long as nothing is unanswered for long', async () => {
    vi.useFakeTimers({ toFake: ['performance'] });
    try {
      const { ask, one } = await watched();
      for (let round = 0; round < 50; round += 1) await one();
      expect(ask).not.toHaveBeenCalled();
    } finally {
      vi.useRealTimers();
    }
  });

  it('that refuses the probe is none that hangs: what waits for it fails by itself', async () => {
    const { ask, log, orm } = await watched();
    ask.mockRejectedValue(new Error('connection refused'));
    await orm.em.fork().execute('select pg_sleep(0.4)');
    expect(ask.mock.calls.length).toBeGreaterThan(0);
    expect(log.warn).not.toHaveBeenCalled();
  });
});

/** A message of the server (PostgreSQL's frontend/backend protocol 3.0): its type, its length, and what it says. */
function message(type: string, body: Buffer): Buffer {
  const length = Buffer.alloc(4);
  length.writeInt32BE(body.length + 4);
  return Buffer.concat([Buffer.from(type), length, body]);
}

it('survives a connection that is ended as soon as it is accepted', async () => {
  const accepted = message('R', Buffer.alloc(4));
  const ready = message('Z', Buffer.from('I'));
  const ended = message('E', Buffer.from('SFATAL\0C57P01\0Mterminating connection\0\0'));
  const server = createServer((socket) => {
    socket.on('error', () => {});
    socket.once('data', () => socket.end(Buffer.concat([accepted, ready, ended])));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const pool = new pg.Pool({ connectionString: `postgres://one@127.0.0.1:${port}/any` });
  pool.on('error', () => {});
  const watch = new StallWatch({ log: { warn: vi.fn(), info: vi.fn() }, ask: () => Promise.resolve() });
  watch.watch(pool);
  ends = [() => pool.end(), () => watch.close(), () => server.close()];
  await expect(pool.query('select 1')).rejects.toThrow();
});
