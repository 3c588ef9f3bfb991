import { execFile } from 'node:child_process';
import { readdir, readFile, readlink } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';

const run = promisify(execFile);
const linux = process.platform === 'linux';

/**
 * What tells a process from a later one with the same number: its start time, with the boot it belongs to. `null` when there
 * is no such process. A zombie counts as gone: in a container without an init nobody reaps it, and it holds nothing any more.
 */
export async function processIdentity(pid: number): Promise<string | null> {
  if (!Number.isSafeInteger(pid) || pid <= 0) return null;
  if (!linux) {
    const line = await output('ps', ['-o', 'stat=,lstart=', '-p', String(pid)]);
    const [state = 'Z', ...started] = line.split(/\s+/);
    return state.startsWith('Z') ? null : started.join(' ');
  }
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '');
  // The second field is the program's name in parentheses and may itself hold spaces and parentheses (proc(5)).
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  const [state = '', startTime] = [fields[0], fields[19]];
  if (startTime === undefined || 'ZXx'.includes(state)) return null;
  return `${await bootId()}/${startTime}`;
}

/** Whether `pid` is a PostgreSQL process of the cluster in `clusterDir` (an absolute path without links). */
export async function isPostgresOf(pid: number, clusterDir: string): Promise<boolean> {
  if ((await processIdentity(pid)) === null) return false;
  if (!linux) {
    const command = await output('ps', ['-ww', '-o', 'command=', '-p', String(pid)]);
    return command.includes('postgres') && command.includes(`-D ${clusterDir} `);
  }
  // A postmaster and its children work in their data directory. A shell may too, hence the look at the program.
  const [directory, program] = await Promise.all([
    readlink(`/proc/${pid}/cwd`).catch(() => ''),
    readlink(`/proc/${pid}/exe`).catch(() => ''),
  ]);
  return directory === clusterDir && /\/postgres( \(deleted\))?$/.test(program);
}

/** All PostgreSQL processes of a cluster, also those whose postmaster is dead. Empty where there is no /proc to ask. */
export async function postgresProcessesOf(clusterDir: string): Promise<number[]> {
  if (!linux) return [];
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name)).map(Number);
  const ours = await Promise.all(pids.map((pid) => isPostgresOf(pid, clusterDir)));
  return pids.filter((_, index) => ours[index]);
}

/** Waits until the process is gone; false when it is still there after `milliseconds`. */
export async function waitUntilGone(pid: number, identity: string | null, milliseconds: number): Promise<boolean> {
  const end = Date.now() + milliseconds;
  while (identity !== null && (await processIdentity(pid)) === identity) {
    if (Date.now() >= end) return false;
    await sleep(10);
  }
  return true;
}

/** Sends a signal; a process that has just gone is no error. */
export function signalProcess(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}

let boot: Promise<string> | undefined;

function bootId(): Promise<string> {
  boot ??= readFile('/proc/sys/kernel/random/boot_id', 'utf8').then(
    (id) => id.trim(),
    () => '',
  );
  return boot;
}

async function output(program: string, args: string[]): Promise<string> {
  return run(program, args, { env: { ...process.env, LC_ALL: 'C' } }).then(
    ({ stdout }) => stdout.trim(),
    () => '',
  );
}
