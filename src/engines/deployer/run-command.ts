import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { setPriority } from 'node:os';
import type { Readable, Writable } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import type { Command, CommandEnd, CommandLimit } from '../../domain/ports/deployer.ts';
import { endProcesses } from './end-processes.ts';
import { withoutInherited } from './inherited-descriptors.ts';
import type { BuildLimits } from './limits.ts';
import { nameOf } from './processes.ts';
import { programPath } from './program-path.ts';
import { watchProcesses } from './watch.ts';

/** What a command runs in. */
export interface CommandPlace {
  /** Before the command: how it is kept apart. */
  wrapper: readonly string[];
  /** Working directory. */
  cwd: string;
  /** Of the whole workspace, for the watch on its size. */
  directory: string;
  home: string;
  environment: Record<string, string>;
  user: number | null;
  limits: BuildLimits;
}

/** How long output may still come when all is ended; milliseconds. */
const lastWords = 5_000;
const lowPriority = 10;
/** The kernel ends builds first when memory is short (proc_pid_oom_score_adj(5)). */
const endedFirst = '500';

/** Waits for a line on descriptor 3: nothing of the repository runs before its process is known, and nothing at all when nobody is left. */
const gate = 'read -r go <&3 || exit 125; exec 3<&-; exec "$@"';

function start({ text }: Command, { wrapper, cwd, environment, user, limits }: CommandPlace): ChildProcess {
  const prlimit = programPath('prlimit');
  const bounds =
    prlimit === null ? [] : [prlimit, `--nproc=${limits.processes}`, `--fsize=${limits.workspace}`, '--core=0', '--'];
  // As root the number of processes has no bound but the watch's.
  const bounded = user === null ? bounds.filter((bound) => !bound.startsWith('--nproc')) : bounds;
  return spawn('/bin/sh', ['-c', gate, 'sh', ...wrapper, ...bounded, '/bin/sh', '-c', text], {
    cwd,
    env: environment,
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe', 'pipe', ...withoutInherited(4)],
    ...(user !== null && { uid: user, gid: user }),
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
  const child = start(command, place);
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
  const remains = { leader, home: place.home, user: place.user };
  const end = (why: CommandLimit) => {
    if (limit !== null || child.exitCode !== null || child.signalCode !== null) return;
    limit = why;
    ending = endProcesses(remains, why === 'timeout' || why === 'aborted');
  };
  const abort = () => end('aborted');
  const timer = setTimeout(() => end('timeout'), command.time);
  const unwatch = watchProcesses({ leader, directory: place.directory }, place.limits, end);
  command.signal.addEventListener('abort', abort);
  try {
    await open(child, leader, command);
    const [exit_code, signal] = await exited;
    return { exit_code, signal, limit };
  } finally {
    clearTimeout(timer);
    unwatch();
    command.signal.removeEventListener('abort', abort);
    // What it left in the background goes with it; only then does its output end.
    await endProcesses(remains, false);
    await Promise.race([closed, delay(lastWords, null, { ref: false })]);
    // Whoever still holds it is nobody that could be found.
    for (const stream of [child.stdout, child.stderr]) stream?.destroy();
    // It must not come upon the next command of this home.
    await ending;
  }
}

/** Makes the process known, gives way to the server in everything, and lets the command begin. */
async function open(child: ChildProcess, leader: number, { onStart, signal }: Command): Promise<void> {
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
  gateway.end('go\n');
}
