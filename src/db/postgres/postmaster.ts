import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { waitUntilReady } from './connect.ts';
import { lastLines, openServerLog } from './log.ts';
import { processIdentity, signalProcess, waitUntilGone } from './processes.ts';
import type { RunAs } from './run-as.ts';
import { type PostgresSettings, programEnvironment } from './settings.ts';

/** A running PostgreSQL server, our child or one adopted. */
export interface Postmaster {
  pid: number;
  /** Its start time, so that a later process with the same number is never signalled. */
  identity: string | null;
  /** Resolves when it is gone, with how it ended. */
  gone: Promise<string>;
}

type StopTarget = Pick<Postmaster, 'pid' | 'identity'>;

export interface LaunchPlan {
  binary: string;
  runAs: RunAs;
  clusterDir: string;
  socketDirectory: string;
  logFile: string;
  settings: PostgresSettings;
  url: string;
}

/**
 * Starts the server and resolves when it accepts connections.
 * @param onSpawn called while it comes up
 * @throws Error with the end of its log when it does not come up; the abort reason when aborted, with the server stopped.
 */
export async function launchPostmaster(
  plan: LaunchPlan,
  signal: AbortSignal,
  onSpawn?: () => void,
): Promise<Postmaster> {
  const { pid, gone } = await spawnServer(plan);
  let reason: string | null = null;
  void gone.then((ended) => (reason = ended));
  if (pid === undefined) throw new Error(`PostgreSQL could not be started: ${await gone}`);
  const postmaster: Postmaster = { pid, identity: await processIdentity(pid), gone };
  onSpawn?.();
  try {
    await waitUntilReady(plan.url, () => reason === null, signal);
  } catch (error) {
    await stopPostmaster(postmaster);
    throw error;
  }
  if (reason !== null) {
    throw new Error(
      `PostgreSQL did not start (${reason}). The end of its log ${plan.logFile}:\n${await lastLines(plan.logFile)}`,
    );
  }
  return postmaster;
}

/** @returns its id; undefined: it could not be started. `gone` resolves with why it has ended. */
async function spawnServer({ binary, runAs, clusterDir, socketDirectory, logFile, settings }: LaunchPlan) {
  const options = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
  const [program = '', ...args] = [
    ...runAs.prefix,
    ...[binary, '-D', clusterDir, '-k', socketDirectory, '-p', '5432'],
    ...options,
  ];
  const log = await openServerLog(logFile);
  try {
    const child = spawn(program, args, {
      cwd: '/',
      env: programEnvironment(),
      stdio: ['ignore', log.fd, log.fd],
      // In a session of its own: Ctrl-C in the terminal must not stop the database before the server has drained.
      detached: true,
      ...runAs.owner,
    });
    // Subscribed before anything is awaited: what could not be started emits 'error' instead of 'exit', and without a subscriber that ends this process.
    const gone: Promise<string> = once(child, 'exit').then(
      ([code, killedBy]) => (killedBy ? `killed by ${killedBy}` : `exit status ${code}`),
      (error: Error) => error.message,
    );
    return { pid: child.pid, gone };
  } finally {
    await log.close();
  }
}

/** Takes a running postmaster that is not our child; its end is noticed within half a second. */
export async function adoptPostmaster(pid: number): Promise<Postmaster> {
  const identity = await processIdentity(pid);
  const watch = async () => {
    while (identity !== null && (await processIdentity(pid)) === identity) {
      // Not referenced: to watch is no reason for this process to live on.
      await sleep(500, undefined, { ref: false });
    }
    return 'it was adopted, so its exit status is not known';
  };
  return { pid, identity, gone: watch() };
}

/**
 * Stops a server as `pg_ctl stop -m fast` does: SIGINT disconnects all clients and writes a checkpoint. When that has not
 * ended it after `patience` milliseconds, SIGQUIT does, at the price of a recovery at the next start.
 */
export async function stopPostmaster({ pid, identity }: StopTarget, patience = 20_000): Promise<void> {
  if (identity === null || (await processIdentity(pid)) !== identity) return;
  for (const [signal, milliseconds] of [
    ['SIGINT', patience],
    ['SIGQUIT', 5_000],
    ['SIGKILL', 5_000],
  ] as const) {
    signalProcess(pid, signal);
    if (await waitUntilGone(pid, identity, milliseconds)) return;
  }
  throw new Error(`PostgreSQL (process ${pid}) could not be stopped.`);
}
