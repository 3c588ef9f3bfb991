import { readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import { socketLock } from './address.ts';
import { servesCluster } from './connect.ts';
import type { Log } from './log.ts';
import { adoptPostmaster, type Postmaster, stopPostmaster } from './postmaster.ts';
import { isPidTaken, isPostgresOf, postgresProcessesOf, processIdentity, signalProcess } from './processes.ts';
import type { PostgresRecord } from './record.ts';
import { clusterName, type PostgresSettings } from './settings.ts';

export interface Remains {
  clusterDir: string;
  /** Where it had its socket. */
  socketDirectory: string;
}

export interface Expected extends Remains {
  version: string;
  settings: PostgresSettings;
  log: Log;
}

/**
 * Deals with what a killed server left: a postmaster that lives on is adopted when it is as we would start it, else stopped;
 * a stale postmaster.pid does not hinder. Call only under the lock of the data directory.
 * @returns the adopted postmaster; null when the cluster is free to be started.
 */
export async function settleOrphan(expected: Expected, record: PostgresRecord | null): Promise<Postmaster | null> {
  const { clusterDir, log } = expected;
  const processes = { clusterDir, clusterName: clusterName(clusterDir) };
  const pid = await readPid(join(clusterDir, 'postmaster.pid'));
  if (pid === null && (await readPid(socketLock(expected.socketDirectory))) === null) return null;
  if (pid !== null && (await isPostgresOf(pid, processes))) {
    if (record !== null && (await isOurs(pid, expected, record))) {
      log.info({ pid }, 'took over the PostgreSQL that a killed server left running');
      return adoptPostmaster(pid);
    }
    log.warn({ pid }, 'stopping a PostgreSQL left running with other settings, or not answering');
    await stopPostmaster({ pid, identity: await processIdentity(pid) }, 10_000);
  }
  await clearRemains(expected);
  return null;
}

/**
 * Waits until the children of a dead postmaster are gone, for PostgreSQL refuses to start beside them. A lock file
 * whose number is another program's by now, or a zombie's, is removed, because PostgreSQL would take that for a running
 * server; any other stays, for postmaster.pid names the shared memory by which PostgreSQL makes sure of the same.
 */
export async function clearRemains({ clusterDir, socketDirectory }: Remains): Promise<void> {
  const steps = [
    // They notice by themselves, except in the middle of a long computation.
    { signal: null, until: 5_000 },
    { signal: 'SIGQUIT', until: 8_000 },
    { signal: 'SIGKILL', until: 15_000 },
  ] as const;
  const processes = { clusterDir, clusterName: clusterName(clusterDir) };
  const begin = performance.now();
  for (const { signal, until } of steps) {
    let left = await postgresProcessesOf(processes);
    if (signal) for (const pid of left) signalProcess(pid, signal);
    while (left.length > 0 && performance.now() - begin < until) {
      await sleep(20);
      left = await postgresProcessesOf(processes);
    }
    if (left.length === 0) {
      for (const path of [join(clusterDir, 'postmaster.pid'), socketLock(socketDirectory)]) {
        const pid = await readPid(path);
        if (pid !== null && isPidTaken(pid)) await rm(path, { force: true });
      }
      return;
    }
  }
  throw new Error(`Processes of an earlier PostgreSQL in ${clusterDir} do not end.`);
}

async function isOurs(pid: number, { clusterDir, version, settings }: Expected, record: PostgresRecord) {
  if (record.pid !== pid || record.version !== version || !isDeepStrictEqual(record.settings, settings)) return false;
  return servesCluster(record.url, clusterDir);
}

async function readPid(lockFile: string): Promise<number | null> {
  const text = await readFile(lockFile, 'utf8').catch(() => null);
  if (text === null) return null;
  // The first line; negative when it is a single-user backend.
  return Math.abs(Number.parseInt(text, 10)) || 0;
}
