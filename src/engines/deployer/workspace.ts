import { isUtf8 } from 'node:buffer';
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import {
  chown,
  copyFile,
  lstat,
  mkdir,
  readdir,
  readlink,
  realpath,
  rm,
  stat,
  symlink,
  utimes,
  writeFile,
} from 'node:fs/promises';
import path from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { promisify } from 'node:util';
import { neverPublished, type OutputLimits, OutputSize } from '../../domain/studio/deployments/manifest.ts';
import type { Output, OutputFile, OutputProblem, Workspace, WorkspaceFile } from '../../ports/deployer.ts';
import { BuildProcesses } from './build-processes.ts';
import { type BuildUser, removeTrees } from './build-users.ts';
import type { Isolation } from './isolation.ts';
import { type Lease, take } from './leases.ts';
import type { BuildLimits } from './limits.ts';
import { runCommand } from './run-command.ts';
import { workspaceDirectories } from './sandbox.ts';

type Problem = { problem: OutputProblem; detail: string };

async function resolveInside(root: string, directory: string): Promise<string | Problem> {
  const missing = { problem: 'missing', detail: `There is no directory ${directory || '.'} after the build` } as const;
  const wanted = path.join(root, directory);
  const real = await realpath(wanted).catch(() => null);
  if (real === null) return missing;
  if (real !== root && !real.startsWith(`${root}${path.sep}`))
    return { problem: 'outside', detail: `${directory} leads out of the workspace` };
  return (await lstat(real)).isDirectory() ? real : missing;
}

/**
 * The plain files below a directory of the tree. Links, special files and names that are not UTF-8 are refused and named, whatever they lead to.
 * @param root the tree, without links; nothing may be writing to it any more
 */
export async function walkOutput(root: string, directory: string, limits: OutputLimits): Promise<Output | Problem> {
  const start = await resolveInside(root, directory);
  if (typeof start !== 'string') return start;
  const files: OutputFile[] = [];
  const refused: string[] = [];
  const total = new OutputSize(limits);
  const waiting = [''];
  for (let below = waiting.pop(); below !== undefined; below = waiting.pop()) {
    for (const item of await readdir(path.join(start, below), { withFileTypes: true, encoding: 'buffer' })) {
      const own = item.name.toString();
      const name = below === '' ? own : `${below}/${own}`;
      // Another file may have the name that such bytes are read as.
      if (!isUtf8(item.name)) refused.push(name);
      else if (item.isDirectory()) {
        if (!neverPublished.has(own)) waiting.push(name);
      } else if (item.isFile()) {
        const file = path.join(start, name);
        const found = { path: name, file, size: (await lstat(file)).size };
        files.push(found);
        const problem = total.add(name, found.size);
        if (problem) return problem;
      } else refused.push(name);
    }
  }
  if (files.length === 0) return { problem: 'empty', detail: `${directory || 'The root directory'} holds no file` };
  files.sort((a, b) => (a.path < b.path ? -1 : 1));
  return { files, refused: refused.sort() };
}

/** Larger files are written by a thread; bytes. */
const largestAtOnce = 256 * 1024;
/** Milliseconds of writing after which it yields to the event loop. */
const timeBudget = 5;

const isInside = (root: string, file: string) => file === root || file.startsWith(`${root}${path.sep}`);

/** Whether the target of a link is inside: by its text, and by its real path when the target exists. */
async function leadsInside(root: string, link: string): Promise<boolean> {
  const target = await readlink(link);
  if (path.isAbsolute(target) || !isInside(root, path.resolve(path.dirname(link), target))) return false;
  const real = await realpath(link).catch(() => null);
  return real === null || isInside(root, real);
}

/**
 * Makes directories below a root, each once. A file of a few kilobytes takes the system less time than a promise and a thread take to
 * hand it over, and a directory still less; so both are made at once, for a few milliseconds at a time.
 */
function directoriesBelow(root: string): (directory: string) => void {
  const made = new Set([root]);
  return function make(directory) {
    if (made.has(directory)) return;
    make(path.dirname(directory));
    mkdirSync(directory);
    made.add(directory);
  };
}

/**
 * Writes files below an empty directory, links last: nothing is ever written through one.
 * @param root without links
 * @returns the links that lead out, which are removed again
 */
export async function writeTree(root: string, files: AsyncIterable<WorkspaceFile>): Promise<string[]> {
  const links: WorkspaceFile[] = [];
  const make = directoriesBelow(root);
  let began = performance.now();
  for await (const file of files) {
    const target = path.join(root, file.path);
    if (!isInside(root, target)) throw new Error(`${file.path} is not below the workspace`);
    if (file.kind === 'link') {
      links.push(file);
      continue;
    }
    make(path.dirname(target));
    const options = { flag: 'wx', mode: file.kind === 'executable' ? 0o755 : 0o644 };
    if (file.content.length <= largestAtOnce) writeFileSync(target, file.content, options);
    else await writeFile(target, file.content, options);
    if (performance.now() - began < timeBudget) continue;
    await setImmediate();
    began = performance.now();
  }
  for (const { path: name, content } of links) {
    const link = path.join(root, name);
    make(path.dirname(link));
    await symlink(content.toString('utf8'), link);
  }
  const leftOut: string[] = [];
  for (const { path: name } of links) {
    const link = path.join(root, name);
    if (await leadsInside(root, link)) continue;
    leftOut.push(name);
    await rm(link);
  }
  return leftOut;
}

const run = promisify(execFile);
const keptCaches = 3;

interface Options {
  /** Of this attempt alone; without links. */
  directory: string;
  /** Of all caches of the project. */
  caches: string;
  project: string;
  isolation: Isolation;
  /** Further root certificates (PEM); null: none. */
  caFile: string | null;
  limits: BuildLimits;
}

/** Where package managers keep what they have fetched. */
const cacheVariables = (cache: string) => ({
  npm_config_cache: path.join(cache, 'npm'),
  PNPM_HOME: path.join(cache, 'pnpm'),
  YARN_CACHE_FOLDER: path.join(cache, 'yarn'),
  BUN_INSTALL_CACHE_DIR: path.join(cache, 'bun'),
  PIP_CACHE_DIR: path.join(cache, 'pip'),
  UV_CACHE_DIR: path.join(cache, 'uv'),
  BUNDLE_USER_CACHE: path.join(cache, 'bundle'),
});

/** Removes the caches of other keys that were used longest ago. */
async function pruneCaches(caches: string): Promise<void> {
  const found = await Promise.all(
    (await readdir(caches)).map(async (name) => ({ name, used: (await stat(path.join(caches, name))).mtimeMs })),
  );
  const old = found.sort((a, b) => b.used - a.used).slice(keptCaches);
  await removeTrees(old.map(({ name }) => path.join(caches, name)));
}

export async function openWorkspace({
  directory,
  caches,
  project,
  isolation,
  caFile,
  limits,
}: Options): Promise<Workspace> {
  const { level, runtime } = isolation;
  const { tree, home, temporary, sharedMemory } = workspaceDirectories(directory);
  for (const made of [directory, tree, home, temporary, sharedMemory]) await mkdir(made, { mode: 0o700 });
  // Where the server keeps them a build may not be able to look.
  const roots = caFile === null ? null : path.join(directory, 'roots.pem');
  if (caFile !== null && roots !== null) await copyFile(caFile, roots);
  // Until a command is to run, all of it is the server's: what is published as it is never changes hands.
  let handedOver: Promise<BuildUser | null> | null = null;
  const handOver = () => {
    handedOver ??= (async () => {
      const taken = await isolation.takeUser(project, directory);
      if (taken !== null) await run('chown', ['-Rh', `${taken.id}:${taken.id}`, directory]);
      return taken;
    })();
    return handedOver;
  };
  const held: Lease[] = [];
  /** Caches beside it that it may write to. */
  const opened = new Set<string>();

  return {
    isolation: level,
    reason: isolation.reason,
    enforcesNetwork: level === 'bubblewrap',
    write: (files) => writeTree(tree, files),
    async cache(key) {
      const shared = path.join(caches, key);
      const user = await handOver();
      const digest = createHash('sha256').update(shared).digest('hex').slice(0, 16);
      const lease = user && (await take(`cache-${digest}`, directory.slice(-8)));
      if (lease) held.push(lease);
      // Another build has it, and its user alone can write there.
      const isOwn = user !== null && lease === null;
      const cache = isOwn ? path.join(directory, 'cache') : shared;
      await mkdir(cache, { recursive: true, mode: 0o711 });
      const { uid } = await lstat(cache);
      await utimes(cache, new Date(), new Date());
      // No more than what the user before had: a link may lead to a file of the machine.
      if (user !== null) await run('chown', ['-Rh', `--from=${uid}`, `${user.id}:${user.id}`, cache]);
      if (isOwn) return cache;
      await pruneCaches(caches);
      opened.add(cache);
      return cache;
    },
    async run(command) {
      const user = (await handOver())?.id ?? null;
      const writable = [directory, ...(command.cache === undefined ? [] : [command.cache])];
      const { network } = command;
      const end = await runCommand(command, {
        sandbox: isolation.enclose({ user, writable, temporary, sharedMemory, network }),
        launcher: runtime.launcher,
        cwd: path.join(tree, command.directory),
        directory,
        caches: [...opened],
        user,
        limits,
        environment: {
          LANG: 'C.UTF-8',
          npm_config_update_notifier: 'false',
          // Its errors would lead to a file that is gone by then.
          npm_config_logs_max: '0',
          ...(roots !== null && { NODE_EXTRA_CA_CERTS: roots }),
          ...(command.cache !== undefined && cacheVariables(command.cache)),
          ...command.variables,
          PATH: runtime.path,
          HOME: home,
          TMPDIR: temporary,
        },
      });
      // The next build would find it as full, or as closed.
      if (end.limit === 'workspace' || end.limit === 'files' || end.limit === 'unmeasured')
        for (const cache of opened) {
          await removeTrees([cache]);
          await mkdir(cache, { mode: 0o711 });
          if (user !== null) await chown(cache, user, user);
        }
      return end;
    },
    output: (below) => walkOutput(tree, below, limits),
    async remove() {
      const user = await (handedOver ?? Promise.resolve(null)).catch(() => null);
      if (handedOver && user === null)
        await new BuildProcesses({ leader: null, workspace: directory, user }).end(false);
      await user?.release();
      for (const lease of held) await lease.release();
      await removeTrees([directory]);
    },
  };
}
