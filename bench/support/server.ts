import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import type { AddressInfo } from 'node:net';
import { createServer } from 'node:net';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { readPostgresRecord } from '../../src/db/postgres.ts';
import { durationsIn, type ReadyLine, readyLine } from './server-log.ts';

/** The root of the repository, seen from `bench/dist/bench/support`. */
export const root = path.resolve(import.meta.dirname, '../../../..');
const mainFile = path.join(root, 'dist/bundle/main.js');
/** What `npm start` gives node: the server is measured as it is run. */
const { scripts } = createRequire(import.meta.url)(path.join(root, 'package.json')) as { scripts: { start: string } };
export const startFlags = / node (.+) scripts\//.exec(scripts.start)?.[1]?.split(' ') ?? [];
const startLimit = 60_000;
const stopLimit = 30_000;

export interface ServerOptions {
  dataDir: string;
  environment?: Record<string, string>;
  /** Further options of node, such as `--cpu-prof`. */
  nodeOptions?: readonly string[];
  /** Starts it by `npm start`, in place of node alone; what is measured then begins where a person presses the key. */
  byNpm?: boolean;
}

export interface RunningServer {
  url: string;
  /** Of node, or of npm, which has node as its child. */
  pid: number;
  /** Milliseconds from spawning the process until `/readyz` answered 200 and the server had logged that it is ready. */
  sinceSpawn: number;
  /** The same from the moment node itself began (its `performance.timeOrigin`). */
  sinceNode: number;
  /** Resident memory, MiB, as the process says itself. */
  memory(): Promise<number>;
  /** The most memory that was resident since the start, MiB, as Linux keeps it (`VmHWM`). */
  peakMemory(): Promise<number>;
  /** Makes Linux keep that from now on. */
  resetPeak(): Promise<void>;
  /** Milliseconds the server itself took for requests, by request id, from its log. */
  durations(): Promise<Map<string, number>>;
  stop(): Promise<void>;
}

export function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const probe = createServer();
    probe.once('error', reject);
    probe.listen(0, '127.0.0.1', () => {
      const { port } = probe.address() as AddressInfo;
      probe.close(() => resolve(port));
    });
  });
}

/** Waits until the server says that it is ready and its readiness probe agrees. */
async function untilReady(url: string, child: ChildProcess, logFile: string): Promise<ReadyLine> {
  let answers = false;
  for (const began = Date.now(); Date.now() - began < startLimit; await delay(5)) {
    if (child.exitCode !== null) break;
    const response: Response | null = answers ? null : await fetch(`${url}/readyz`).catch(() => null);
    await response?.arrayBuffer();
    answers ||= response?.status === 200;
    const line = answers ? await readyLine(logFile) : null;
    if (line) return line;
  }
  throw new Error(`The server did not become ready:\n${await readFile(logFile, 'utf8')}`);
}

const metricsToken = 'metrics-of-a-benchmark';

async function peakOf(child: ChildProcess): Promise<number> {
  const status = await readFile(`/proc/${child.pid}/status`, 'utf8');
  return Number(/^VmHWM:\s+(\d+) kB$/m.exec(status)?.[1]) / 1024;
}

async function endProcess(child: ChildProcess, dataDir: string): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  child.kill('SIGTERM');
  if (await Promise.race([ended.then(() => true), delay(stopLimit, false, { ref: false })])) return;
  // A server that does not stop must not leave its database behind.
  const postgres = await readPostgresRecord(dataDir);
  child.kill('SIGKILL');
  await ended;
  if (postgres) process.kill(postgres.pid, 'SIGINT');
}

/** Starts the server as `npm start` does, in a process of its own, its log in a file so that its output need not be consumed. */
export async function startServer({
  dataDir,
  environment = {},
  nodeOptions = [],
  byNpm = false,
}: ServerOptions): Promise<RunningServer> {
  const port = await freePort();
  const logFile = path.join(dataDir, '..', `server-${port}.log`);
  const log = openSync(logFile, 'w', 0o600);
  const began = Date.now();
  const [program, words] = byNpm ? ['npm', ['start']] : [process.execPath, [...startFlags, ...nodeOptions, mainFile]];
  const child = spawn(program, words, {
    cwd: root,
    stdio: ['ignore', log, log],
    env: {
      PATH: process.env.PATH,
      HOME: process.env.HOME,
      PORTICO_DATA_DIR: dataDir,
      PORTICO_PORT: String(port),
      PORTICO_PREVIEW_PORT: '0',
      PORTICO_METRICS_TOKEN: metricsToken,
      ...environment,
    },
  });
  closeSync(log);
  const url = `http://127.0.0.1:${port}`;
  const stop = () => endProcess(child, dataDir);
  try {
    const { time, milliseconds } = await untilReady(url, child, logFile);
    const ready = Date.now();
    return {
      url,
      pid: child.pid ?? 0,
      sinceSpawn: ready - began,
      sinceNode: ready - (Date.parse(time) - milliseconds),
      async memory() {
        const text = await (
          await fetch(`${url}/metrics`, { headers: { Authorization: `Bearer ${metricsToken}` } })
        ).text();
        return Number(/^portico_process_resident_memory_bytes (\S+)/m.exec(text)?.[1]) / 2 ** 20;
      },
      peakMemory: () => peakOf(child),
      resetPeak: () => writeFile(`/proc/${child.pid}/clear_refs`, '5'),
      durations: () => durationsIn(logFile),
      stop,
    };
  } catch (error) {
    await stop();
    throw error;
  }
}
