import type { ChildProcessWithoutNullStreams } from 'node:child_process';
import { DomainError } from '../../kernel/errors.ts';
import { type Bounds, exceeded } from './bounds.ts';

export type Config = readonly (readonly [key: string, value: string])[];

export interface SpawnOptions {
  /** The repository; absent for commands that need none. */
  gitDir?: string;
  config?: Config;
  env?: Record<string, string>;
  /** Wall time in milliseconds, after which the process group is ended; absent for processes that live on. */
  timeout?: number;
  /** Processor time of the process, seconds; default: its wall time, or an hour. */
  cpu?: number;
  /** Most bytes of a file it writes; default: any number. */
  mostFile?: number;
  signal?: AbortSignal;
  /** Connects to another host, and shares the memory for all that do. */
  outgoing?: boolean;
  /** Works for the current caller, and shares the memory for all that do. */
  shared?: boolean;
  /** Runs only when the processor is idle otherwise. */
  lowPriority?: boolean;
  /** Called before the process group is ended by us, with its id. */
  onKill?: (group: number) => void;
  /** Called with git's stderr as it arrives; the last 16 KiB are kept in any case. */
  onStderr?: (text: string) => void;
}

export interface GitExit {
  code: number | null;
  signal: NodeJS.Signals | null;
  /** The end of what git wrote to stderr: for the log, never for a caller. */
  stderr: string;
  /** Why this process was ended by us, or could not start. */
  ended: unknown;
  /** The bound at which it failed, as an error for the caller. */
  over: DomainError | null;
}

export interface GitChild {
  readonly bounds: Bounds;
  readonly streams: ChildProcessWithoutNullStreams;
  /** Resolves when the process is gone and its streams are closed; never rejects. */
  readonly exited: Promise<GitExit>;
  /** Ends the whole process group; `reason` becomes `ended` (null: it just was not needed any longer). */
  kill(reason: unknown): void;
}

const keptStderr = 16 * 1024;
/** How long a group may take to clean up after SIGTERM (git removes its locks and temporary files). */
const graceMs = 2_000;

/** Signals a process group; false when it is gone. */
function signalGroup(pid: number, signal: NodeJS.Signals): boolean {
  try {
    process.kill(-pid, signal);
    return true;
  } catch {
    return false;
  }
}

/** Watches over a process just started within bounds in a group of its own: wall time, abort, stderr, and its end. */
export function watchChild(streams: ChildProcessWithoutNullStreams, options: SpawnOptions, bounds: Bounds): GitChild {
  const began = performance.now();
  let ended: unknown = null;
  let ending = false;
  let stderr = '';
  let grace: NodeJS.Timeout | undefined;
  const kill = (reason: unknown) => {
    if (ending || streams.pid === undefined || streams.exitCode !== null || streams.signalCode !== null) return;
    ending = true;
    ended = reason;
    const { pid } = streams;
    options.onKill?.(pid);
    if (signalGroup(pid, 'SIGTERM')) grace = setTimeout(() => signalGroup(pid, 'SIGKILL'), graceMs);
  };
  const timer =
    options.timeout === undefined
      ? undefined
      : setTimeout(() => kill(new DomainError('git_timeout', 'git took too long and was stopped')), options.timeout);
  const onAbort = () => kill(options.signal?.reason);
  options.signal?.addEventListener('abort', onAbort, { once: true });
  if (options.signal?.aborted) onAbort();

  streams.stderr.setEncoding('utf8');
  streams.stderr.on('data', (text: string) => {
    stderr = (stderr + text).slice(-keptStderr);
    options.onStderr?.(text);
  });
  // A process that ends early closes its stdin during the write; its exit code gives the reason.
  streams.stdin.on('error', () => {});
  streams.stdout.on('error', () => {});

  const exited = new Promise<GitExit>((resolve) => {
    const finish = (code: number | null, signal: NodeJS.Signals | null = null) => {
      clearTimeout(timer);
      clearTimeout(grace);
      options.signal?.removeEventListener('abort', onAbort);
      // The shell that sets the bounds found no git to become.
      if (code === 127 || code === 126) ended ??= new DomainError('unavailable', 'git could not be started');
      const seconds = (performance.now() - began) / 1000;
      const over = code === 0 || ended !== null ? null : exceeded(bounds, { signal, stderr, seconds });
      resolve({ code, signal, stderr: stderr.trim(), ended, over });
    };
    streams.once('close', finish);
    streams.once('error', (cause) => {
      ended ??= new DomainError('unavailable', 'git could not be started', { cause });
      if (streams.pid === undefined) finish(null);
    });
  });
  return { streams, bounds, exited, kill };
}
