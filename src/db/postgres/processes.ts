import { execFile } from 'node:child_process';
import { readdir, readFile, readlink } from 'node:fs/promises';
import { basename } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';

const run = promisify(execFile);
const linux = process.platform === 'linux';

/**
 * What distinguishes a process from a later one with the same number: its start time, with the boot it belongs to. `null` when there
 * is no such process. A zombie counts as gone: in a container without an init it is never reaped, and it holds nothing any more.
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

/** What identifies the processes of one cluster. */
export interface ClusterProcesses {
  /** Absolute and without links. */
  clusterDir: string;
  /** The setting `cluster_name`, unique to the directory: it stands in the titles of a postmaster's children. */
  clusterName: string;
}

/** Whether `pid` is a PostgreSQL process of the cluster: its postmaster, or a child of that. */
export async function isPostgresOf(pid: number, { clusterDir, clusterName }: ClusterProcesses): Promise<boolean> {
  if ((await processIdentity(pid)) === null) return false;
  const [program = '', ...args] = await commandLine(pid);
  if (program.startsWith(`postgres: ${clusterName}: `)) return true;
  if (basename(program) !== 'postgres') return false;
  if (args[args.indexOf('-D') + 1] === clusterDir) return true;
  // One started by hand, perhaps from elsewhere; every postmaster works in its data directory.
  return (await readlink(`/proc/${pid}/cwd`).catch(() => '')) === clusterDir;
}

/** All PostgreSQL processes of a cluster, also those whose postmaster is dead. */
export async function postgresProcessesOf(cluster: ClusterProcesses): Promise<number[]> {
  const names = linux ? await readdir('/proc') : (await output('ps', ['-axo', 'pid='])).split(/\s+/);
  const pids = names.filter((name) => /^\d+$/.test(name)).map(Number);
  const ours = await Promise.all(pids.map((pid) => isPostgresOf(pid, cluster)));
  return pids.filter((_, index) => ours[index]);
}

/** Whether the number is taken, be it by a zombie or by another user's process. */
export function isPidTaken(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== 'ESRCH';
  }
}

/** Program and arguments, which anyone may read; the working directory root in a container may not, without CAP_SYS_PTRACE. */
async function commandLine(pid: number): Promise<string[]> {
  if (linux) return (await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '')).split('\0');
  const line = await output('ps', ['-ww', '-o', 'command=', '-p', String(pid)]);
  if (line.startsWith('postgres: ')) return [line];
  // ps joins the arguments with spaces, of which a path may have its own.
  const [, program = '', rest = '', directory = ''] = /^(.*?\/postgres)( -D (.*?) -k )?/.exec(line) ?? [];
  return rest === '' ? [program] : [program, '-D', directory];
}

/** Waits until the process is gone; false when it is still there after `milliseconds`. */
export async function waitUntilGone(pid: number, identity: string | null, milliseconds: number): Promise<boolean> {
  const end = performance.now() + milliseconds;
  while (identity !== null && (await processIdentity(pid)) === identity) {
    if (performance.now() >= end) return false;
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
