import { execFile } from 'node:child_process';
import { accessSync, constants } from 'node:fs';
import path from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);

/**
 * How a command is closed in: `bubblewrap`: mounts, processes and communication of its own; `namespace`: processes and communication of its
 * own by unshare(1); `plain`: a user id at most.
 */
export const sandboxKinds = ['bubblewrap', 'namespace', 'plain'] as const;
export type SandboxKind = (typeof sandboxKinds)[number];

export interface SandboxOptions {
  /** User and group the command runs as; null: the server's own. */
  user: number | null;
  /** Directories the command may not see, without links. */
  hidden: readonly string[];
  /** Files outside of these that it may not read, without links. */
  hiddenFiles: readonly string[];
  /** Directories and files inside hidden ones that it may read. */
  readable: readonly string[];
  /** The only directories it may write to. */
  writable: readonly string[];
  /** Replace `/tmp` and `/dev/shm`, whose memory no limit of a build would count. */
  temporary: string;
  sharedMemory: string;
  network: boolean;
  /** What the user of a build starts to be closed in; null: not to be had. */
  programs: { bwrap: string | null; setpriv: string | null };
}

/** What all that is not the command itself runs with, whatever the server and the build have. */
export const systemPath = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';
export const fixedEnvironment = { PATH: systemPath, LANG: 'C.UTF-8' };

const placesOf = (name: string, first: readonly string[]): string[] =>
  [...first, ...(process.env.PATH ?? '').split(path.delimiter)]
    .filter(path.isAbsolute)
    .map((directory) => path.join(directory, name));

/** Path of a program that the server finds by its own PATH, which commands do not have, and can start; null when it finds none. */
export function programPath(name: string, first: readonly string[] = []): string | null {
  for (const file of placesOf(name, first)) {
    try {
      accessSync(file, constants.X_OK);
      return file;
    } catch {
      // Not here.
    }
  }
  return null;
}

/**
 * Those of these files that pass a test run as a user of builds, who may not reach a path that root reaches.
 * @param test of `$file`, as a shell has it
 */
export async function passing(files: readonly string[], test: string, user: number): Promise<Set<string>> {
  if (files.length === 0) return new Set();
  const look = `for file do if ${test}; then printf "%s\\n" "$file"; fi; done`;
  const as = { uid: user, gid: user, cwd: '/', env: fixedEnvironment };
  const { stdout } = await run('/bin/sh', ['-c', look, 'sh', ...files], as).catch(() => ({ stdout: '' }));
  return new Set(stdout.split('\n').filter((line) => line !== ''));
}

/**
 * The first place on the server's PATH where a user of builds can start a program.
 * @param user null: the server's own
 * @returns `file` null when it finds none; `closed` is then the first path that has it, out of that user's reach
 */
export async function programFor(
  name: string,
  user: number | null,
): Promise<{ file: string | null; closed: string | null }> {
  const own = programPath(name);
  if (user === null || own === null) return { file: own, closed: null };
  const places = placesOf(name, []);
  const startable = await passing(places, 'test -f "$file" && test -x "$file"', user);
  return { file: places.find((place) => startable.has(place)) ?? null, closed: own };
}

/** Where a workspace has the files of the commit, the home of its commands, their temporary files and their shared memory. */
export const workspaceDirectories = (directory: string) => ({
  tree: path.join(directory, 'tree'),
  home: path.join(directory, 'home'),
  temporary: path.join(directory, 'tmp'),
  sharedMemory: path.join(directory, 'shm'),
});

function bubblewrap(options: SandboxOptions): string[] {
  const { hidden, hiddenFiles, readable, writable, temporary, sharedMemory, network, programs } = options;
  return [
    programs.bwrap ?? 'bwrap',
    // Inside, a build may make further user namespaces (no --disable-userns): the sandbox of a Chromium that it starts needs them.
    ...['--unshare-user', '--unshare-pid', '--unshare-ipc', '--unshare-uts', '--die-with-parent'],
    // Without a network of its own it would reach the metadata service of a cloud, too.
    ...(network ? [] : ['--unshare-net']),
    ...['--ro-bind', '/', '/', '--proc', '/proc', '--dev', '/dev'],
    ...['--bind', temporary, '/tmp', '--bind', sharedMemory, '/dev/shm'],
    ...hidden.flatMap((directory) => ['--tmpfs', directory]),
    ...hiddenFiles.flatMap((file) => ['--ro-bind', '/dev/null', file]),
    ...readable.flatMap((directory) => ['--ro-bind', directory, directory]),
    ...writable.flatMap((directory) => ['--bind', directory, directory]),
    // What covers a directory is memory, too: nothing can be written there.
    ...[...hidden, '/dev'].flatMap((directory) => ['--remount-ro', directory]),
    '--',
  ];
}

/** Process 1 of a namespace: collects what is orphaned, and the kernel ends the namespace with it (pid_namespaces(7)). */
const firstProcess = ['/bin/sh', '-c', '"$@"; exit "$?"', 'sh'];

function namespace({ user }: SandboxOptions): string[] {
  const unshare = [programPath('unshare') ?? 'unshare', '--pid', '--ipc', '--fork', '--kill-child', '--mount-proc'];
  if (user === null) return [...unshare, '--user', '--map-current-user', '--', ...firstProcess];
  const privileges = ['--inh-caps=-all', '--ambient-caps=-all', '--bounding-set=-all', '--no-new-privs'];
  const identity = [`--reuid=${user}`, `--regid=${user}`, '--clear-groups', ...privileges];
  // A change of user clears the signal that --kill-child has set (prctl(2), PR_SET_PDEATHSIG).
  const setpriv = [programPath('setpriv') ?? 'setpriv', ...identity, '--pdeathsig=KILL', '--'];
  return [...unshare, '--', ...setpriv, ...firstProcess];
}

function plain({ programs: { setpriv } }: SandboxOptions): string[] {
  return setpriv === null ? [] : [setpriv, '--no-new-privs', '--'];
}

/** @returns the words before a command, and the user they are started as (null: the server's own) */
export function sandboxed(kind: SandboxKind, options: SandboxOptions): { words: string[]; user: number | null } {
  const { user } = options;
  if (kind === 'bubblewrap') return { words: bubblewrap(options), user };
  // Only root can make these namespaces without a user namespace; it drops its privileges inside.
  if (kind === 'namespace') return { words: namespace(options), user: null };
  return { words: plain(options), user };
}
