import { readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import { servesCluster } from './connect.ts';
import { DataDirInUse } from './lock.ts';
import type { Log } from './log.ts';
import { adoptPostmaster, type Postmaster, stopPostmaster } from './postmaster.ts';
import { isPostgresOf, postgresProcessesOf, signalProcess } from './processes.ts';
import type { PostgresRecord } from './record.ts';
import type { PostgresSettings } from './settings.ts';

export interface Expected {
  dataDir: string;
  clusterDir: string;
  version: string;
  settings: PostgresSettings;
  log: Log;
}

/**
 * Deals with what a killed server left: a postmaster that lives on is adopted when it is as we would start it, else stopped;
 * a stale postmaster.pid is removed. Call only under the lock of the data directory.
 * @returns the adopted postmaster; null when the cluster is free to be started.
 * @throws DataDirInUse when the server answers but its process cannot be seen: it runs in another container.
 */
export async function settleOrphan(expected: Expected, record: PostgresRecord | null): Promise<Postmaster | null> {
  const { clusterDir, log } = expected;
  const pid = await readPostmasterPid(clusterDir);
  if (pid === null) return null;
  if (await isPostgresOf(pid, clusterDir)) {
    if (record !== null && (await isOurs(pid, expected, record))) {
      log.info({ pid }, 'took over the PostgreSQL that a killed server left running');
      return adoptPostmaster(pid);
    }
    log.warn({ pid }, 'stopping a PostgreSQL left running with other settings, or not answering');
    await stopPostmaster(pid, 10_000);
  } else if (record !== null && (await servesCluster(record.url, clusterDir))) {
    throw new DataDirInUse(expected.dataDir, null);
  }
  await clearRemains(clusterDir);
  return null;
}

/**
 * Waits until the children of a dead postmaster are gone, for PostgreSQL refuses to start beside them, and removes the
 * stale postmaster.pid: its number may by now be another program's, which PostgreSQL would take for a running server.
 */
export async function clearRemains(clusterDir: string): Promise<void> {
  const steps = [
    // They notice by themselves, except in the middle of a long computation.
    { signal: null, until: 5_000 },
    { signal: 'SIGQUIT', until: 8_000 },
    { signal: 'SIGKILL', until: 15_000 },
  ] as const;
  const begin = Date.now();
  for (const { signal, until } of steps) {
    let left = await postgresProcessesOf(clusterDir);
    if (signal) for (const pid of left) signalProcess(pid, signal);
    while (left.length > 0 && Date.now() - begin < until) {
      await sleep(20);
      left = await postgresProcessesOf(clusterDir);
    }
    if (left.length === 0) {
      await rm(join(clusterDir, 'postmaster.pid'), { force: true });
      return;
    }
  }
  throw new Error(`Processes of an earlier PostgreSQL in ${clusterDir} do not end.`);
}

async function isOurs(pid: number, { clusterDir, version, settings }: Expected, record: PostgresRecord) {
  if (record.pid !== pid || record.version !== version || !isDeepStrictEqual(record.settings, settings)) return false;
  return servesCluster(record.url, clusterDir);
}

async function readPostmasterPid(clusterDir: string): Promise<number | null> {
  const text = await readFile(join(clusterDir, 'postmaster.pid'), 'utf8').catch(() => null);
  if (text === null) return null;
  // The first line; negative when it is a single-user backend.
  return Math.abs(Number.parseInt(text, 10)) || 0;
}
