/**
 * How builds are kept apart from the server here. Each way that this machine may have is tried by running a command in it, which shows that
 * its user and its limits are in force; the first that works is taken, and why the better ones do not is kept as the reason. A server started
 * as root never builds as root: where no other user can build, nothing is built.
 */
import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { chown, lstat, mkdir, readdir, realpath, rm, stat } from 'node:fs/promises';
import { homedir } from 'node:os';
import path from 'node:path';
import type { IsolationLevel } from '../../ports/deployer.ts';
import { BuildProcesses } from './build-processes.ts';
import { type BuildUser, firstUser, removeTrees, takeUser, takeUserOf, writtenBy } from './build-users.ts';
import { giveBack } from './leases.ts';
import { type BuildLimits, buildLimits } from './limits.ts';
import { runCommand } from './run-command.ts';
import { isBelow, makeRuntime, type Runtime } from './runtime.ts';
import {
  programFor,
  programPath,
  type SandboxKind,
  type SandboxOptions,
  sandboxed,
  sandboxKinds,
  workspaceDirectories,
} from './sandbox.ts';

export interface Isolation {
  level: IsolationLevel;
  /** Why it is this level, in one sentence or two. */
  reason: string;
  /** Takes the user and group that commands of a workspace run as; null: the server's own. */
  takeUser(project: string, workspace: string): Promise<BuildUser | null>;
  /** What commands cannot see where they have mounts of their own. */
  hidden: readonly string[];
  runtime: Runtime;
  enclose(options: Omit<SandboxOptions, 'hidden' | 'hiddenFiles' | 'readable' | 'programs'>): {
    words: string[];
    user: number | null;
  };
}

/** No way to build; `missing` names what stands in the way, piece by piece. */
export interface NoIsolation {
  level: null;
  missing: readonly string[];
}

/** Which user a project tries first, always the same. */
const seedOf = (project: string): number => Number.parseInt(project.replaceAll('-', '').slice(-8), 16);

/** Makes the directory of workspaces, which no other user may have made before. @returns the first directory that was made for it, if any */
export async function makeBuildDirectory(directory: string): Promise<string | undefined> {
  const made = await mkdir(directory, { recursive: true, mode: 0o711 });
  const found = await lstat(directory);
  if (!found.isDirectory() || (process.getuid && found.uid !== process.getuid()))
    throw new Error(`${directory} belongs to another user: set PORTICO_BUILD_DIR to a directory of the server's own`);
  await spread(directory);
  return made;
}

/**
 * Has workspaces put far from one another: ext4 lays related directories together (chattr(1), T), and one that begins where another was just
 * removed is slow to fill, a hundred times so without a journal. Other file systems refuse, and need it not.
 */
async function spread(directory: string): Promise<void> {
  const chattr = programPath('chattr');
  if (chattr === null) return;
  await new Promise<void>((resolve) => {
    const child = spawn(chattr, ['+T', directory], { stdio: 'ignore' });
    child.once('error', () => resolve());
    child.once('exit', () => resolve());
  });
}

/** Existing paths without links, each once, shorter ones first: a longer one may be inside. */
async function realPaths(wanted: readonly string[]): Promise<string[]> {
  const found = await Promise.all(wanted.map((file) => realpath(file).catch(() => null)));
  return [...new Set(found.filter((file) => file !== null && file !== '/'))].sort() as string[];
}

/**
 * What builds are not to see: homes, temporary files of others, the server's data, other builds, and what runs on this machine: a socket below
 * `/run` answers the server's user, so its systemd would start programs outside of the sandbox, and a database would open.
 */
const hiddenDirectories = (root: string, dataDirectory: string): Promise<string[]> =>
  realPaths([homedir(), '/root', '/home', '/run', '/var/run', dataDirectory, root]);

/** How names are resolved: many distributions keep this below `/run`. */
const resolverFile = '/etc/resolv.conf';

/** The first directory of a path that other users cannot enter; null when every user can enter it. */
async function closedParent(file: string): Promise<string | null> {
  const parts = file.split(path.sep);
  for (let length = 1; length <= parts.length; length++) {
    const directory = parts.slice(0, length).join(path.sep) || '/';
    const mode = (await stat(directory).catch(() => null))?.mode ?? 0o777;
    if ((mode & 0o001) === 0) return `${directory} (mode ${(mode & 0o7777).toString(8).padStart(4, '0')})`;
  }
  return null;
}

/** Null when another user can work below the directory; else what keeps it from that. */
async function unreachable(root: string): Promise<string | null> {
  const closed = await closedParent(root);
  if (closed !== null) {
    const remedy = 'set PORTICO_BUILD_DIR to a directory that every user can enter, such as /var/tmp/portico-builds';
    return `other users cannot enter ${closed} on the way to the build directory ${root}: ${remedy}`;
  }
  const probe = path.join(root, `probe-${randomBytes(4).toString('hex')}`);
  try {
    await mkdir(probe, { mode: 0o700 });
    await chown(probe, firstUser, firstUser);
    return null;
  } catch (error) {
    return `files in ${root} cannot be given to user ${firstUser}: ${(error as Error).message}`;
  } finally {
    await rm(probe, { recursive: true, force: true });
  }
}

const wanting: Record<SandboxKind, readonly [program: string, advice: string]> = {
  bubblewrap: ['bwrap', 'install bubblewrap'],
  namespace: ['unshare', 'install util-linux'],
  plain: ['sh', 'install a POSIX shell'],
};

/** Milliseconds a trial may take: a busy machine is no reason for a weaker level. */
const trialTime = 60_000;

/** @returns why a program cannot be started by the user of builds, and what to do; null when it can */
async function wants(kind: SandboxKind, user: number | null): Promise<string | null> {
  const [program, advice] = wanting[kind];
  const name = program === 'bwrap' ? 'bubblewrap' : program;
  // Root itself makes namespaces.
  const { file, closed } = await programFor(program, kind === 'namespace' ? null : user);
  if (file !== null) return null;
  if (closed === null) return `${name} is not installed: ${advice}`;
  return `user ${user}, as builds have one, cannot start ${closed}: ${advice} where every user can start it, such as in /usr/bin`;
}

interface Trial {
  kind: SandboxKind;
  root: string;
  user: number | null;
  isolation: Pick<Isolation, 'enclose' | 'runtime'>;
  limits: BuildLimits;
}

/** Runs a command as builds will run. @returns null when its user and its limits are as they have to be; else what is wrong */
async function fault({ kind, root, user, isolation, limits }: Trial): Promise<string | null> {
  const wanted = await wants(kind, user);
  if (wanted !== null) return wanted;
  const directory = path.join(root, `probe-${randomBytes(4).toString('hex')}`);
  const { tree, home, temporary, sharedMemory } = workspaceDirectories(directory);
  try {
    for (const made of [directory, tree, home, temporary, sharedMemory]) {
      await mkdir(made, { mode: 0o700 });
      if (user !== null) await chown(made, user, user);
    }
    let output = '';
    const writable = [directory];
    const { exit_code, signal, limit } = await runCommand(
      {
        text: 'cat /proc/self/status /proc/self/limits',
        directory: '',
        variables: {},
        network: true,
        time: trialTime,
        signal: new AbortController().signal,
        onOutput: (chunk) => {
          output += chunk.toString();
          return undefined;
        },
        onStart: async () => {},
      },
      {
        sandbox: isolation.enclose({ user, writable, temporary, sharedMemory, network: true }),
        launcher: isolation.runtime.launcher,
        cwd: tree,
        directory,
        caches: [],
        environment: { PATH: isolation.runtime.path, HOME: home },
        user,
        limits,
      },
    );
    if (limit !== null) throw new Error(`a trial of ${kind} for builds was ended after ${trialTime / 1000} s`);
    const who = user ?? process.getuid?.();
    const runsAs = /^Uid:\s+(\d+)\s+(\d+)\s+(\d+)\s+(\d+)/m.exec(output)?.slice(1).map(Number) ?? [];
    const bounded = ['processes', 'file size', 'cpu time'].every((name) =>
      new RegExp(`^Max ${name}\\s+\\d+\\s+\\d+\\s`, 'm').test(output),
    );
    const name = kind === 'plain' ? `user ${who}` : `${kind === 'namespace' ? 'unshare' : 'bubblewrap'} as user ${who}`;
    if (exit_code !== 0) {
      const said = output.trim().split('\n').at(-1)?.slice(0, 300) || `exit code ${exit_code}, signal ${signal}`;
      return `${name} cannot run a command here (${said})`;
    }
    if (runsAs.length !== 4 || runsAs.some((id) => id !== who || id === 0)) return `${name} does not run as that user`;
    return bounded ? null : `${name} has no limits on processes, file size and CPU time`;
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

/**
 * Ends what still runs of a workspace that was left.
 * @param owner user its directory belongs to
 * @param leader process it was begun by, where that is still the same
 */
export async function endLeft(workspace: string, owner: number, leader: number | null): Promise<void> {
  const isOwn = owner === process.getuid?.();
  // Another build that has the user by now has ended what there was.
  const user = isOwn ? null : await takeUserOf(owner, workspace);
  await new BuildProcesses({ leader, workspace, user: user?.id ?? null }).end(false);
  await user?.release();
  if (!isOwn) await giveBack(workspace.slice(-8));
}

/** A server that was killed during a trial leaves its directory. */
async function clearTrials(root: string): Promise<void> {
  for (const name of (await readdir(root)).filter((one) => one.startsWith('probe-'))) {
    const left = path.join(root, name);
    const found = await stat(left).catch(() => null);
    if (found === null || Date.now() - found.mtimeMs < 2 * trialTime) continue;
    await endLeft(left, found.uid, null);
    await removeTrees([left]);
  }
}

interface Wanted {
  /** Of workspaces, without links. */
  root: string;
  dataDirectory: string;
  /** Files outside of the data directory that hold secrets of the server. */
  secretFiles?: readonly string[];
  /** The ways to try; default: all, the best first. */
  kinds?: readonly SandboxKind[];
}

/** Finds the best way to keep builds apart that this machine has. */
export async function findIsolation({
  root,
  dataDirectory,
  secretFiles = [],
  kinds = sandboxKinds,
}: Wanted): Promise<Isolation | NoIsolation> {
  // Processes are found, and their limits shown to hold, by proc(5).
  if (process.platform !== 'linux') return { level: null, missing: ['builds need Linux, which holds their limits'] };
  const isRoot = process.getuid?.() === 0;
  const closed = isRoot ? await unreachable(root) : null;
  if (closed !== null) return { level: null, missing: [closed] };
  // By no file, it only shows whether it can look at all.
  const canLook = await writtenBy(isRoot ? firstUser : null, ['/dev/null']).catch(() => null);
  if (canLook === null) return { level: null, missing: ['find(1) of GNU is not installed: install findutils'] };
  await clearTrials(root);
  try {
    const probe = randomBytes(4);
    const user = isRoot ? await takeUser(probe.readUInt32BE(), probe.toString('hex')) : null;
    try {
      return await tryKinds({ root, dataDirectory, secretFiles, kinds }, user?.id ?? null);
    } finally {
      await user?.release();
    }
  } catch (error) {
    return { level: null, missing: [(error as Error).message] };
  }
}

async function tryKinds(
  { root, dataDirectory, secretFiles, kinds }: Required<Wanted>,
  user: number | null,
): Promise<Isolation | NoIsolation> {
  const isRoot = user !== null;
  const hidden = await hiddenDirectories(root, dataDirectory);
  const isHidden = (file: string) => hidden.some((directory) => isBelow(file, directory));
  const hiddenFiles = (await realPaths(secretFiles)).filter((file) => !isHidden(file));
  const needed = (await realPaths([resolverFile])).filter(isHidden);
  const runtime = await makeRuntime(root, { user, hidden: [...hidden, '/tmp', '/dev/shm'] });
  const without = runtime.missing.length > 0 ? `; builds cannot reach ${runtime.missing.join(', ')}` : '';
  const missing: string[] = [];
  const [bwrap, setpriv] = await Promise.all(['bwrap', 'setpriv'].map((name) => programFor(name, user)));
  const programs = { bwrap: bwrap?.file ?? null, setpriv: setpriv?.file ?? null };
  for (const kind of kinds) {
    const enclose: Isolation['enclose'] = (options) =>
      sandboxed(kind, { ...options, hidden, hiddenFiles, readable: [runtime.directory, ...needed], programs });
    const problem = await fault({ kind, root, user, isolation: { enclose, runtime }, limits: buildLimits });
    if (problem !== null) {
      missing.push(problem);
      continue;
    }
    const level = kind === 'bubblewrap' ? 'bubblewrap' : isRoot ? 'user' : 'process';
    const reason = `${[reasons[level], ...(kind === 'namespace' ? [ownProcesses] : []), ...missing].join('; ')}${without}`;
    return {
      level,
      reason,
      takeUser: async (project, workspace) => (isRoot ? takeUser(seedOf(project), workspace) : null),
      hidden,
      runtime,
      enclose,
    };
  }
  return { level: null, missing };
}

const ownProcesses = 'its processes are in a namespace of their own';
const reasons: Record<IsolationLevel, string> = {
  bubblewrap: 'bubblewrap works here',
  user: 'the server is root, so each build runs as a user of its own',
  process: 'the server is not root, so builds run as its own user and can reach what that user can',
};
