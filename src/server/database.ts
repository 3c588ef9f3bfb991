import { setTimeout as sleep } from 'node:timers/promises';
import type pg from 'pg';
import { withClient } from '../db/postgres/connect.ts';
import {
  DataDirInUse,
  type DataDirLock,
  lockDataDir,
  readPostgresRecord,
  startEmbeddedPostgres,
} from '../db/postgres.ts';
import type { Log } from '../ports/log.ts';
import type { Config } from './config.ts';
import { prepareDataDir } from './start-error.ts';

interface OpenOptions {
  signal?: AbortSignal;
  /** Called when the embedded PostgreSQL has been started and is on its way up, unless it was found running. */
  onLaunch?: () => void;
}

/** The database a process works on; `stop` ends it when it is ours. */
export interface Database {
  url: string;
  stop(): Promise<void>;
}

/**
 * The database the settings name: `DATABASE_URL`, or the embedded PostgreSQL below the data directory, which one process at a time may run.
 * Either way the data directory is there and can be written afterwards.
 * @throws DataDirInUse when another server has the data directory; StartError when it cannot be written.
 */
export async function openDatabase(config: Config, log: Log, options: OpenOptions = {}): Promise<Database> {
  await prepareDataDir(config.PORTICO_DATA_DIR);
  if (config.DATABASE_URL !== undefined) return { url: config.DATABASE_URL, stop: async () => {} };
  const lock: DataDirLock = await lockDataDir(config.PORTICO_DATA_DIR);
  try {
    const postgres = await startEmbeddedPostgres({ ...options, dataDir: config.PORTICO_DATA_DIR, log, lock });
    return {
      url: postgres.url,
      async stop() {
        await postgres.stop();
        await lock.release();
      },
    };
  } catch (error) {
    await lock.release();
    throw error;
  }
}

/** How long a server that has the data directory may take to bring its database up, milliseconds. */
const joinPatience = 15_000;

/**
 * The database for a command: `DATABASE_URL`; that of the server which has the data directory; or, when none has it, the embedded PostgreSQL for
 * the command's own duration.
 * @throws DataDirInUse when the holder's database does not answer in time.
 */
export async function joinDatabase(config: Config, log: Log, signal: AbortSignal): Promise<Database> {
  const until = performance.now() + joinPatience;
  for (;;) {
    try {
      const database = await openDatabase(config, log, { signal });
      if (config.DATABASE_URL !== undefined) return database;
      // Another command may have joined ours meanwhile, and would lose it.
      return { ...database, stop: () => waitUntilAlone(database.url, signal).then(() => database.stop()) };
    } catch (error) {
      if (!(error instanceof DataDirInUse)) throw error;
      const record = await readPostgresRecord(config.PORTICO_DATA_DIR);
      // A server on its way up or down has the lock and no database; it is there, or gone, a moment later.
      if (record && (await answers(record.url))) return { url: record.url, stop: async () => {} };
      if (performance.now() > until) throw error;
    }
    await sleep(100, undefined, { signal });
  }
}

function answers(url: string): Promise<boolean> {
  return withClient(url, (client) => client.query('select 1')).then(
    () => true,
    () => false,
  );
}

const others =
  "select 1 from pg_stat_activity where backend_type = 'client backend' and pid <> pg_backend_pid() and datname = current_database()";

/** Waits until no other client is connected, or for the signal. */
async function waitUntilAlone(url: string, signal: AbortSignal): Promise<void> {
  const alone = async (client: pg.Client) => {
    while (!signal.aborted && (await client.query(others)).rowCount !== 0)
      await sleep(100, undefined, { signal }).catch(() => undefined);
  };
  // A database that does not answer has no clients to wait for.
  await withClient(url, alone).catch(() => undefined);
}
