import { PgBoss } from 'pg-boss';
import { afterAll, afterEach, beforeAll, expect, it, vi } from 'vitest';
import { keepQueueAwake, outliveQueueSetback } from '../../src/jobs/queue.ts';
import { createDatabase, empty, type TestDatabase } from '../support/postgres.ts';

let database: TestDatabase;
let boss: PgBoss;
beforeAll(async () => {
  database = await createDatabase(empty);
  boss = new PgBoss({ connectionString: database.url, max: 2, supervise: false, schedule: false });
  boss.on('error', () => {});
  await boss.start();
  await boss.createQueue('one', { heartbeatSeconds: 10 });
});
afterAll(async () => {
  await boss?.stop({ graceful: false });
  await database?.drop();
});
afterEach(() => vi.useRealTimers());

const sql = async <T>(text: string, values: unknown[] = []): Promise<T[]> =>
  (await boss.getDb().executeSql(text, values)).rows as T[];
/** As if the clock had been an hour further on until now. */
const setBack = () =>
  sql(`with queue as (update pgboss.queue set monitor_claim_on = now() + interval '1 hour' where name = 'one')
       update pgboss.job set created_on = created_on + interval '1 hour', start_after = start_after + interval '1 hour',
         started_on = started_on + interval '1 hour', heartbeat_on = heartbeat_on + interval '1 hour'`);

it('a job that waits is due, and a worker that died is found, though the clock was set back by an hour', async () => {
  const waiting = await boss.send('one', {}, { startAfter: 60 });
  const lost = await boss.send('one', {});
  expect((await boss.fetch('one'))?.map(({ id }) => id)).toEqual([lost]);
  await setBack();
  await outliveQueueSetback(boss);
  expect((await boss.fetch('one'))?.map(({ id }) => id)).toEqual([waiting]);
  const seconds = `extract(epoch from max(greatest(heartbeat_on, started_on)) - now())`;
  const [row] = await sql<{ ahead: string }>(`select ${seconds} as ahead from pgboss.job where id = $1`, [lost]);
  expect(Number(row?.ahead)).toBeLessThanOrEqual(0);
  const [queue] = await sql<{ claimed: unknown }>(
    `select monitor_claim_on as claimed from pgboss.queue where name = 'one'`,
  );
  expect(queue?.claimed).toBeNull();
});

it('a clock that goes on leaves jobs to their times', async () => {
  await sql(`update pgboss.queue set monitor_claim_on = now()`);
  const later = await boss.send('one', {}, { startAfter: 3_600 });
  await outliveQueueSetback(boss);
  const [row] = await sql<{ waits: boolean }>('select start_after > now() as waits from pgboss.job where id = $1', [
    later,
  ]);
  expect(row?.waits).toBe(true);
});

it('workers are woken every thirty seconds, however long they would sleep, until it ends', () => {
  vi.useFakeTimers();
  const notifyWorker = vi.fn();
  const executeSql = vi.fn(async () => ({ rows: [] }));
  const end = keepQueueAwake({ notifyWorker, getDb: () => ({ executeSql }) } as unknown as PgBoss, ['a', 'b'], {
    debug() {},
  });
  vi.advanceTimersByTime(60_000);
  expect(notifyWorker.mock.calls.map(([id]) => id)).toEqual(['a', 'b', 'a', 'b']);
  end();
  vi.advanceTimersByTime(60_000);
  expect(notifyWorker).toHaveBeenCalledTimes(4);
});
