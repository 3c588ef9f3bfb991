import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { cp, mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import pg from 'pg';
import { onTestFinished } from 'vitest';
import { processIdentity, signalProcess, waitUntilGone } from '../../../src/db/postgres/processes.ts';
import {
  type EmbeddedPostgres,
  type EmbeddedPostgresOptions,
  startEmbeddedPostgres,
} from '../../../src/db/postgres.ts';

/** A fresh data directory; below a directory of mode 0700, as mkdtemp makes them. */
export async function temporaryDataDir(): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), 'portico-pg-'));
  onTestFinished(async () => {
    const pid = await postmasterPid(directory);
    if (pid !== null) await killPid(pid, 'SIGQUIT');
    await rm(directory, { recursive: true, force: true, maxRetries: 5 });
  });
  return join(directory, 'data');
}

let prepared: Promise<string> | undefined;

/** A data directory with a cluster, as a first start and a stop leave it: made once, in a directory that goes with the run, then copied. */
export async function preparedDataDir(): Promise<string> {
  prepared ??= prepare();
  const dataDir = await temporaryDataDir();
  await cp(await prepared, dataDir, { recursive: true });
  return dataDir;
}

async function prepare(): Promise<string> {
  const dataDir = await mkdtemp(join(tmpdir(), 'portico-pg-'));
  const log = { info() {}, warn() {}, error() {} };
  await (await startEmbeddedPostgres({ dataDir, log, durable: false })).stop();
  return dataDir;
}

/** Starts a server in this process; it is stopped after the test. */
export async function start(
  dataDir: string,
  options: Partial<EmbeddedPostgresOptions> = {},
): Promise<EmbeddedPostgres> {
  const log = { info() {}, warn() {}, error() {} };
  const server = await startEmbeddedPostgres({ dataDir, log, durable: false, ...options });
  onTestFinished(() => server.stop());
  return server;
}

export interface Answer {
  up: boolean;
  url?: string;
  inUse?: boolean;
  message?: string;
}

/** Starts a server, or takes the lock alone, in a process of its own, and waits for what it says. */
export async function startProcess(dataDir: string, options: { lock?: boolean; env?: NodeJS.ProcessEnv } = {}) {
  const script = fileURLToPath(new URL('server-process.ts', import.meta.url));
  const child = spawn(process.execPath, [script, dataDir, ...(options.lock ? ['lock'] : [])], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: options.env ?? process.env,
  });
  onTestFinished(() => kill(child));
  for await (const line of createInterface({ input: child.stdout })) {
    return { child, answer: JSON.parse(line) as Answer };
  }
  throw new Error('The process ended without a word.');
}

/** kill -9, and waits for the end. */
export async function kill(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const gone = once(child, 'exit');
  child.kill('SIGKILL');
  await gone;
}

export async function killPid(pid: number, signal: NodeJS.Signals = 'SIGKILL'): Promise<void> {
  const identity = await processIdentity(pid);
  signalProcess(pid, signal);
  if (!(await waitUntilGone(pid, identity, 10_000))) throw new Error(`Process ${pid} survives ${signal}.`);
}

/** The postmaster of a data directory (or of `data` below it) by PostgreSQL's own file. */
export async function postmasterPid(dataDir: string): Promise<number | null> {
  for (const path of [dataDir, join(dataDir, 'data')]) {
    const text = await readFile(join(path, 'postgres', 'data', 'postmaster.pid'), 'utf8').catch(() => null);
    const pid = Number.parseInt(text ?? '', 10);
    if (pid > 0 && pid !== process.pid) return pid;
  }
  return null;
}

/** Runs one statement on a connection of its own. */
export async function query(url: string, statement: string): Promise<unknown[]> {
  const client = new pg.Client({ connectionString: url });
  client.on('error', () => undefined);
  await client.connect();
  try {
    return (await client.query(statement)).rows;
  } finally {
    await client.end();
  }
}
