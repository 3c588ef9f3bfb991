import { chmod, mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { databaseName, databaseUrl, removeSocketDirectory, socketDirectory } from './postgres/address.ts';
import { findBinaries } from './postgres/binaries.ts';
import { ensureCluster } from './postgres/cluster.ts';
import { type DataDirLock, lockDataDir } from './postgres/lock.ts';
import type { Log } from './postgres/log.ts';
import { clearRemains, settleOrphan } from './postgres/orphan.ts';
import { type LaunchPlan, launchPostmaster, type Postmaster, stopPostmaster } from './postgres/postmaster.ts';
import { readLastRecord, removeRecord, writeRecord } from './postgres/record.ts';
import { chooseRunAs } from './postgres/run-as.ts';
import { serverSettings } from './postgres/settings.ts';
import { type PostgresState, type StateListener, Supervisor } from './postgres/supervisor.ts';

export { DataDirInUse, type DataDirLock, lockDataDir } from './postgres/lock.ts';
export type { Log } from './postgres/log.ts';
export { readPostgresRecord } from './postgres/record.ts';
export type { PostgresState } from './postgres/supervisor.ts';

/** The running embedded server; it is started again when it dies, on the same URL. */
export interface EmbeddedPostgres {
  /** Of the database `portico`, read alike by pg, MikroORM and libpq; holds the password. */
  readonly url: string;
  readonly state: PostgresState;
  /** Calls the listener at every change of state; the answer ends that. */
  onStateChange(listener: StateListener): () => void;
  /** Disconnects all clients, writes a checkpoint, ends the server, and frees the data directory. */
  stop(): Promise<void>;
}

export interface EmbeddedPostgresOptions {
  dataDir: string;
  log: Log;
  /** Gives up the start; without effect once the server runs. */
  signal?: AbortSignal | undefined;
  /** Called when the server has been started and is on its way up, unless one is found running. */
  onLaunch?: (() => void) | undefined;
  /** The lock, when the caller holds it already: then it stays the caller's to release. */
  lock?: DataDirLock | undefined;
  /** false: written data does not survive a crash of the machine. For tests. */
  durable?: boolean | undefined;
}

/**
 * Starts the embedded PostgreSQL of a data directory and resolves when it accepts connections; the first start makes the
 * cluster, in `<dataDir>/postgres`. Takes the lock of the data directory unless it is given.
 * @throws DataDirInUse when another server has it; Error with a message for the user when PostgreSQL cannot run here.
 */
export async function startEmbeddedPostgres(options: EmbeddedPostgresOptions): Promise<EmbeddedPostgres> {
  const lock = options.lock ?? (await lockDataDir(options.dataDir));
  const release = async () => {
    if (!options.lock) await lock.release();
  };
  try {
    const { dataDir } = lock;
    const server = await prepare(dataDir, options);
    const supervisor = new Supervisor({ ...server, log: options.log });
    let stopped: Promise<void> | undefined;
    return {
      url: server.plan.url,
      get state() {
        return supervisor.state;
      },
      onStateChange: (listener) => supervisor.onStateChange(listener),
      stop() {
        stopped ??= supervisor.stop().then(async () => {
          await removeRecord(dataDir);
          await removeSocketDirectory(server.plan.socketDirectory, join(dataDir, 'postgres'));
          await release();
        });
        return stopped;
      },
    };
  } catch (error) {
    await release();
    throw error;
  }
}

interface Server {
  plan: LaunchPlan;
  first: Postmaster;
  relaunch(signal: AbortSignal): Promise<Postmaster>;
}

async function prepare(dataDir: string, options: EmbeddedPostgresOptions): Promise<Server> {
  const { log, signal, onLaunch, durable = true } = options;
  const abort = signal ?? new AbortController().signal;
  const postgresDir = join(dataDir, 'postgres');
  const clusterDir = join(postgresDir, 'data');
  await mkdir(postgresDir, { recursive: true, mode: 0o700 });
  await chmod(postgresDir, 0o700);
  const binaries = await findBinaries();
  const runAs = await chooseRunAs(dataDir, binaries);
  const password = await ensureCluster({ postgresDir, binaries, runAs, durable, signal: abort });
  const settings = serverSettings(clusterDir, durable);
  const record = await readLastRecord(dataDir);
  const last = { clusterDir, socketDirectory: record?.socket_directory ?? postgresDir };
  const adopted = await settleOrphan({ ...last, version: binaries.version, settings, log }, record);
  if (record && !adopted) await removeSocketDirectory(record.socket_directory, postgresDir);
  const socket = adopted && record ? record.socket_directory : await socketDirectory(postgresDir, runAs);
  const plan: LaunchPlan = {
    ...{ binary: binaries.postgres, runAs, clusterDir, settings },
    socketDirectory: socket,
    logFile: join(postgresDir, 'postgres.log'),
    url: databaseUrl(socket, password, databaseName),
  };
  const launch = async (stop: AbortSignal, onSpawn?: () => void) => {
    const postmaster = await launchPostmaster(plan, stop, onSpawn);
    const started = { url: plan.url, pid: postmaster.pid, started_at: new Date().toISOString() };
    try {
      await writeRecord(dataDir, { ...started, version: binaries.version, socket_directory: socket, settings });
      return postmaster;
    } catch (error) {
      await stopPostmaster(postmaster);
      throw error;
    }
  };
  return {
    plan,
    first: adopted ?? (await launch(abort, onLaunch)),
    relaunch: async (stop) => {
      await clearRemains(plan);
      return launch(stop);
    },
  };
}
