import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { cp, mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { onTestFinished } from 'vitest';
import { processIdentity, signalProcess, waitUntilGone } from '../../src/db/postgres/processes.ts';
import { builtProgram } from './build.ts';
import { oncePerRun } from './once-per-run.ts';

/** An ordinary environment: none of the settings the tests run with. */
export function plainEnvironment(settings: Record<string, string>): Record<string, string> {
  const { PATH = '' } = process.env;
  return { PATH, HOME: tmpdir(), TMPDIR: tmpdir(), LC_ALL: 'C', ...settings };
}

/** A data directory that does not exist yet, in a directory of mode 0700; its remains are gone after the test. */
export async function newDataDir(): Promise<string> {
  const directory = await mkdtemp(path.join(tmpdir(), 'portico-run-'));
  onTestFinished(() => removeDataDir(directory));
  return path.join(directory, 'data');
}

async function removeDataDir(directory: string): Promise<void> {
  const pid = await postmasterPid(path.join(directory, 'data'));
  if (pid !== null) await endPid(pid, 'SIGQUIT');
  for (const place of [directory, `${directory}-builds`])
    await rm(place, { recursive: true, force: true, maxRetries: 5 });
}

/** The postmaster of a data directory by PostgreSQL's own file; null when there is none. */
export async function postmasterPid(dataDir: string): Promise<number | null> {
  const text = await readFile(path.join(dataDir, 'postgres/data/postmaster.pid'), 'utf8').catch(() => '');
  return Number.parseInt(text, 10) || null;
}

/** Signals a process and waits until it is gone. */
export async function endPid(pid: number, signal: NodeJS.Signals = 'SIGKILL'): Promise<void> {
  const identity = await processIdentity(pid);
  signalProcess(pid, signal);
  if (!(await waitUntilGone(pid, identity, 60_000))) throw new Error(`Process ${pid} survives ${signal}.`);
}

/** How a child ended and all it wrote. */
export interface Ended {
  code: number | null;
  stdout: string;
  stderr: string;
}

export interface Running {
  readonly child: ChildProcess;
  readonly ended: Promise<Ended>;
  /** What it has written so far. */
  output(): { stdout: string; stderr: string };
  /** Resolves with the match as soon as standard output contains it; rejects when the child ends without. */
  says(pattern: RegExp): Promise<RegExpExecArray>;
}

/** Runs one of the built programs; what still runs after the test is killed. */
export async function startProgram(
  program: 'main' | 'portico',
  args: readonly string[],
  settings: Record<string, string>,
  cwd = tmpdir(),
): Promise<Running> {
  const file = path.join(await builtProgram(), `${program}.js`);
  const env = plainEnvironment(settings);
  const child = spawn(process.execPath, [file, ...args], { cwd, env, stdio: ['ignore', 'pipe', 'pipe'] });
  onTestFinished(() => kill(child));
  const written = { stdout: '', stderr: '' };
  for (const name of ['stdout', 'stderr'] as const)
    child[name].setEncoding('utf8').on('data', (text: string) => {
      written[name] += text;
    });
  const ended = once(child, 'close').then(([code]) => ({ code: code as number | null, ...written }));
  const says = (pattern: RegExp) =>
    new Promise<RegExpExecArray>((resolve, reject) => {
      const look = () => {
        const match = pattern.exec(written.stdout);
        if (match) resolve(match);
      };
      child.stdout.on('data', look);
      look();
      void ended.then(({ code, stderr }) => reject(new Error(`Ended with ${code} before ${pattern}: ${stderr}`)));
    });
  return { child, ended, output: () => ({ ...written }), says };
}

/** Runs a command of `portico` to its end. */
export async function portico(args: readonly string[], settings: Record<string, string>, cwd?: string): Promise<Ended> {
  return (await startProgram('portico', args, settings, cwd)).ended;
}

export interface ServerProcess extends Running {
  url: string;
  dataDir: string;
  /** Sends a signal and waits for the end. */
  stop(signal?: NodeJS.Signals): Promise<Ended>;
}

/** What `/metrics` of these servers requires. */
export const metricsToken = 'metrics-of-a-process';

const anyPort = { PORTICO_PORT: '0', PORTICO_PREVIEW_PORT: '0', PORTICO_METRICS_TOKEN: metricsToken };

/** Settings of a server, or of a command, on a data directory. */
export const settingsFor = (dataDir: string, more: Record<string, string> = {}): Record<string, string> => ({
  ...anyPort,
  PORTICO_DATA_DIR: dataDir,
  // Other users cannot enter the data directory, nor the one it is in.
  PORTICO_BUILD_DIR: `${path.dirname(dataDir)}-builds`,
  ...more,
});

/** Starts a server and waits until it is ready. */
export async function startServer(dataDir: string, settings: Record<string, string> = {}): Promise<ServerProcess> {
  const running = await startProgram('main', [], settingsFor(dataDir, settings));
  const [, url = ''] = await running.says(/Portico is ready at (\S+)/);
  return {
    ...running,
    // The listener is on IPv4, and "localhost" may be tried as IPv6 first.
    url: url.replace('localhost', '127.0.0.1'),
    dataDir,
    async stop(signal = 'SIGTERM') {
      running.child.kill(signal);
      return running.ended;
    },
  };
}

/** kill -9, and waits for the end; what has ended already is left alone. */
export async function kill(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const gone = once(child, 'exit');
  child.kill('SIGKILL');
  await gone;
}

/** A data directory as a first start with the demo and a stop leave it; made once for all test files, then copied. */
export async function demoDataDir(): Promise<{ dataDir: string; token: string }> {
  const { directory } = await oncePerRun('demo', async (place) => {
    const server = await startServer(path.join(place, 'data'));
    await server.stop();
  });
  const dataDir = await newDataDir();
  await cp(path.join(directory, 'data'), dataDir, { recursive: true });
  return { dataDir, token: (await readFirstRun(dataDir)).token ?? '' };
}

export interface FirstRunRecord {
  url: string;
  preview_url: string;
  /** Until there is an account. */
  setup_url?: string;
  token?: string;
}

/** `first-run.json` of a data directory. */
export async function readFirstRun(dataDir: string): Promise<FirstRunRecord> {
  return JSON.parse(await readFile(path.join(dataDir, 'first-run.json'), 'utf8')) as FirstRunRecord;
}
