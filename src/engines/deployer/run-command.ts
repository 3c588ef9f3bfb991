import { type ChildProcess, type IOType, spawn } from 'node:child_process';
import { once } from 'node:events';
import { openSync, readdirSync, readFileSync } from 'node:fs';
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { setPriority } from 'node:os';
import type { Readable, Writable } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import type { Command, CommandEnd, CommandLimit } from '../../ports/deployer.ts';
import { BuildProcesses, markOf } from './build-processes.ts';
import type { BuildLimits } from './limits.ts';
import { nameOf } from './processes.ts';
import { fixedEnvironment, workspaceDirectories } from './sandbox.ts';
import { watchBuild } from './watch.ts';

/** Set on what a program does not pass on (fcntl(2)); /proc shows flags in octal. */
const closeOnExec = 0o2000000;

function isPassedOn(descriptor: number): boolean {
  try {
    const flags = /^flags:\s*([0-7]+)/m.exec(readFileSync(`/proc/self/fdinfo/${descriptor}`, 'latin1'))?.[1] ?? '0';
    return (Number.parseInt(flags, 8) & closeOnExec) === 0;
  } catch {
    return false;
  }
}

let known: (IOType | number)[] | undefined;

/**
 * What `stdio` of a child has to hold from index `first` on, so that no descriptor is inherited that this server got from its own
 * parent: such a descriptor is replaced by /dev/null. Node opens all its own to be closed.
 */
function withoutInherited(first: number): (IOType | number)[] {
  if (known) return known;
  const names = (() => {
    try {
      return readdirSync('/proc/self/fd');
    } catch {
      return [];
    }
  })();
  const passedOn = new Set(names.map(Number).filter((descriptor) => descriptor >= first && isPassedOn(descriptor)));
  const nothing = passedOn.size > 0 ? openSync('/dev/null', 'r') : -1;
  const length = Math.max(first - 1, ...passedOn) - first + 1;
  known = Array.from({ length }, (_, index) => (passedOn.has(first + index) ? nothing : 'ignore'));
  return known;
}

/** What a command runs in. */
interface CommandPlace {
  /** How the command is isolated: the words before the starter, and the user that runs them (null: the server's user). */
  sandbox: { words: readonly string[]; user: number | null };
  /** Begins it inside, by the command and its environment on descriptor 3. */
  launcher: readonly string[];
  /** Working directory. */
  cwd: string;
  /** The whole workspace, for its mark and the watch on its size. */
  directory: string;
  /** Package caches of the workspace, for the watch on their size. */
  caches: readonly string[];
  environment: Record<string, string>;
  /** The user its processes run as in the end; null: the server's user. */
  user: number | null;
  limits: BuildLimits;
}

/** How long output may still come when all is ended; milliseconds. */
const lastWords = 5_000;
const lowPriority = 10;
/** The kernel ends builds first when memory is short (proc_pid_oom_score_adj(5)). */
const endedFirst = '500';

/**
 * Sets the limits that everything after it inherits, then waits for a line on descriptor 3: nothing of the repository runs before its process
 * is known, and nothing at all when the server has ended or a limit cannot be set. Shells name the limit on processes `-u` (bash) or `-p` (dash, ash).
 */
const gate = [
  'ulimit -c 0 && ulimit -t "$1" && ulimit -f "$2" &&',
  'if (ulimit -u "$3") 2>/dev/null; then ulimit -u "$3"; else ulimit -p "$3"; fi &&',
  'shift 3 && read -r go <&3 || exit 125; exec "$@"',
].join(' ');
/** Of `ulimit -f` (POSIX), bytes. */
const block = 512;

/** Processes and threads that the server's user has: the kernel counts them all for the limit of each (getrlimit(2), RLIMIT_NPROC). */
async function othersOf(user: number): Promise<number> {
  const names = (await readdir('/proc')).filter((name) => /^\d+$/.test(name));
  const counts = await Promise.all(
    names.map(async (name) => {
      const status = await readFile(`/proc/${name}/status`, 'latin1').catch(() => '');
      const isTheirs = Number(/^Uid:\s+(\d+)/m.exec(status)?.[1]) === user;
      return isTheirs ? Number(/^Threads:\s+(\d+)/m.exec(status)?.[1] ?? 1) : 0;
    }),
  );
  return counts.reduce((sum, count) => sum + count, 0);
}

async function start({ sandbox, launcher, cwd, directory, user, limits }: CommandPlace): Promise<ChildProcess> {
  const processes = limits.processes + (user === null ? await othersOf(process.getuid?.() ?? 0) : 0);
  const bounds = [markOf(directory), Math.ceil(limits.workspace / block), processes].map(String);
  return spawn('/bin/sh', ['-c', gate, 'sh', ...bounds, ...sandbox.words, ...launcher], {
    cwd,
    // The command has its own from the launcher.
    env: { ...fixedEnvironment, HOME: workspaceDirectories(directory).home },
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe', 'pipe', ...withoutInherited(4)],
    ...(sandbox.user !== null && { uid: sandbox.user, gid: sandbox.user }),
  });
}

function pass(stream: Readable, onOutput: Command['onOutput']): void {
  stream.on('data', (chunk: Buffer) => {
    const full = onOutput(chunk);
    if (!full) return;
    stream.pause();
    void full.finally(() => stream.resume());
  });
}

/** Runs a command to its end or its limit; nothing it has started is left afterwards. */
export async function runCommand(command: Command, place: CommandPlace): Promise<CommandEnd> {
  const child = await start(place);
  const exited = once(child, 'exit') as Promise<[number | null, string | null]>;
  const closed = once(child, 'close');
  exited.catch(() => {});
  closed.catch(() => {});
  const leader = child.pid;
  if (leader === undefined) await exited;
  if (leader === undefined) throw new Error('a command did not start');
  for (const stream of [child.stdout, child.stderr]) if (stream) pass(stream, command.onOutput);
  let limit: CommandLimit | null = null;
  let ending: Promise<void> = Promise.resolve();
  const build = new BuildProcesses({ leader, workspace: place.directory, user: place.user });
  const end = (why: CommandLimit) => {
    if (limit !== null || child.exitCode !== null || child.signalCode !== null) return;
    limit = why;
    ending = build.end(why === 'timeout' || why === 'aborted');
  };
  const abort = () => end('aborted');
  const timer = setTimeout(() => end('timeout'), command.time);
  const unwatch = watchBuild({ ...place, build }, end);
  command.signal.addEventListener('abort', abort);
  try {
    await open(child, leader, command, place.environment);
    const [exit_code, signal] = await exited;
    return { exit_code: limit === null ? exit_code : null, signal, limit };
  } finally {
    clearTimeout(timer);
    unwatch();
    command.signal.removeEventListener('abort', abort);
    // Its background processes are ended with it; only then does its output end.
    await build.end(false);
    await Promise.race([closed, delay(lastWords, null, { ref: false })]);
    // What holds it now could not be found.
    for (const stream of [child.stdout, child.stderr]) stream?.destroy();
    // It must not meet the next command of this workspace.
    await ending;
  }
}

/** Registers the process, lowers its priority below the server's, and lets the command begin. */
async function open(
  child: ChildProcess,
  leader: number,
  { text, onStart, signal }: Command,
  environment: Record<string, string>,
): Promise<void> {
  const gateway = child.stdio[3] as Writable;
  gateway.on('error', () => {});
  const name = await nameOf(leader);
  if (name) await onStart(name);
  try {
    setPriority(leader, lowPriority);
    await writeFile(`/proc/${leader}/oom_score_adj`, endedFirst);
  } catch {
    // Gone already, or a system that has no such thing.
  }
  if (signal.aborted) child.kill('SIGKILL');
  gateway.end(`go\n${JSON.stringify({ text, environment })}`);
}
