import type { Config } from './config.ts';
import { type DataDirLock, lockDataDir, startEmbeddedPostgres } from './db/postgres.ts';
import type { Log } from './domain/ports/log.ts';

/** The database a process works on; `stop` ends it when it is ours. */
export interface Database {
  url: string;
  stop(): Promise<void>;
}

/**
 * The database the settings name: `DATABASE_URL`, or the embedded PostgreSQL below the data directory, which one process at a time may run.
 * @throws DataDirInUse when another server has the data directory.
 */
export async function openDatabase(config: Config, log: Log, signal?: AbortSignal): Promise<Database> {
  if (config.DATABASE_URL !== undefined) return { url: config.DATABASE_URL, stop: async () => {} };
  const lock: DataDirLock = await lockDataDir(config.PORTICO_DATA_DIR);
  try {
    const postgres = await startEmbeddedPostgres({ dataDir: config.PORTICO_DATA_DIR, log, lock, signal });
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
