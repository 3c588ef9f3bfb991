import pg from 'pg';
import { expect, onTestFinished, vi } from 'vitest';
import { readPostgresRecord } from '../../../src/db/postgres.ts';

/** A connection of its own to a server's embedded database, by which a test holds locks until it ends. */
export async function openHolder(dataDir: string): Promise<pg.Client> {
  const holder = new pg.Client({ connectionString: (await readPostgresRecord(dataDir))?.url });
  // After the test the database may end first.
  holder.on('error', () => {});
  onTestFinished(() => holder.end().catch(() => {}));
  await holder.connect();
  return holder;
}

/** Has the commit of what ends a run wait for a lock of the holder. */
const holdCommits = `
  create function hold_commit() returns trigger language plpgsql as
    'begin perform pg_advisory_xact_lock_shared(4711); return null; end';
  create constraint trigger hold_commit after update of status on crawler_run deferrable initially deferred
    for each row when (new.status = 'completed') execute function hold_commit();
  select pg_advisory_lock(4711)`;
const letCommitsGo = 'select pg_advisory_unlock_all(); drop function hold_commit cascade';

/** Where the end of a run is held up while its process is killed: each has done more than the one before. */
export const endingMoments = [
  {
    where: 'before its snapshot is sealed',
    hold: 'begin; select id from snapshot for no key update',
    waiting: 'update "snapshot"',
    release: 'commit',
    epoch: 2,
  },
  {
    where: 'when its snapshot is sealed and published',
    hold: 'begin; lock table notification in share mode',
    waiting: 'insert into "notification"',
    release: 'commit',
    epoch: 2,
  },
  {
    where: 'in its commit, which fails',
    hold: holdCommits,
    waiting: 'commit',
    release: `select pg_terminate_backend(pid, 60000) from pg_stat_activity where query = 'commit' and wait_event = 'advisory';
      ${letCommitsGo}`,
    epoch: 2,
  },
  { where: 'in its commit, which succeeds', hold: holdCommits, waiting: 'commit', release: letCommitsGo, epoch: 1 },
];

/** Waits until a statement that begins like this waits for what the holder has. */
export const untilHeldUp = (db: pg.Client, beginning: string): Promise<void> =>
  vi.waitFor(
    async () => {
      // Of activity a transaction otherwise goes on to see what it saw first.
      await db.query('select pg_stat_clear_snapshot()');
      const { rows } = await db.query(
        'select pid from pg_stat_activity where pg_backend_pid() = any (pg_blocking_pids(pid)) and query ilike $1',
        [`${beginning}%`],
      );
      expect(rows).toHaveLength(1);
    },
    { timeout: 60_000 },
  );
