import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { copyFile, lstat, mkdir, readdir, rm, stat, utimes } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import type { Workspace } from '../../ports/deployer.ts';
import { BuildProcesses } from './build-processes.ts';
import type { BuildUser } from './build-users.ts';
import type { Isolation } from './isolation.ts';
import { type Lease, take } from './leases.ts';
import type { BuildLimits } from './limits.ts';
import { runCommand } from './run-command.ts';
import { workspaceDirectories } from './sandbox.ts';
import { walkOutput } from './walk-output.ts';
import { writeTree } from './write-tree.ts';

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
  for (const { name } of old) await rm(path.join(caches, name), { recursive: true, force: true });
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
      // The next build would find it as full.
      if (end.limit === 'workspace' || end.limit === 'files')
        for (const cache of opened)
          for (const name of await readdir(cache))
            await rm(path.join(cache, name), { recursive: true, force: true, maxRetries: 3 });
      return end;
    },
    output: (below) => walkOutput(tree, below, limits),
    async remove() {
      const user = await (handedOver ?? Promise.resolve(null)).catch(() => null);
      if (handedOver && user === null)
        await new BuildProcesses({ leader: null, workspace: directory, user }).end(false);
      await user?.release();
      for (const lease of held) await lease.release();
      await rm(directory, { recursive: true, force: true, maxRetries: 3 });
    },
  };
}
