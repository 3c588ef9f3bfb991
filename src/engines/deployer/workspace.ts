import { execFile } from 'node:child_process';
import { copyFile, mkdir, readdir, rm, stat, utimes } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import type { Workspace } from '../../domain/ports/deployer.ts';
import { bubblewrapArguments } from './bubblewrap.ts';
import { endProcesses } from './end-processes.ts';
import type { Isolation } from './isolation.ts';
import type { BuildLimits } from './limits.ts';
import { programPath } from './program-path.ts';
import { runCommand } from './run-command.ts';
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
  /** Hidden from commands where they have mounts of their own. */
  hidden: readonly string[];
  /** Further root certificates (PEM); null: none. */
  caFile: string | null;
  limits: BuildLimits;
}

const systemPath = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';

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

/** The directory where a deployment's commands run, `tree`, with a home and a place for temporary files beside it. */
export const homeIn = (directory: string): string => path.join(directory, 'home');

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
  hidden,
  caFile,
  limits,
}: Options): Promise<Workspace> {
  const { level } = isolation;
  const user = isolation.userOf(project);
  const [tree, home, temporary] = [path.join(directory, 'tree'), homeIn(directory), path.join(directory, 'tmp')];
  for (const made of [directory, tree, home, temporary]) await mkdir(made, { mode: 0o700 });
  // Where the server keeps them a build may not be able to look.
  const roots = caFile === null ? null : path.join(directory, 'roots.pem');
  if (caFile !== null && roots !== null) await copyFile(caFile, roots);
  // Until a command is to run, all of it is the server's: what is published as it is never changes hands.
  let handedOver: Promise<unknown> | null = null;
  const handOver = () => {
    handedOver ??= user === null ? Promise.resolve() : run('chown', ['-Rh', `${user}:${user}`, directory]);
    return handedOver;
  };

  return {
    isolation: level,
    enforcesNetwork: level === 'bubblewrap',
    write: (files) => writeTree(tree, files),
    async cache(key) {
      const cache = path.join(caches, key);
      await mkdir(cache, { recursive: true, mode: 0o711 });
      await utimes(cache, new Date(), new Date());
      if (user !== null) await run('chown', [`${user}:${user}`, caches, cache]);
      await pruneCaches(caches);
      return cache;
    },
    async run(command) {
      await handOver();
      const writable = [directory, ...(command.cache === undefined ? [] : [command.cache])];
      const wrapper = { hidden, writable, network: command.network };
      return runCommand(command, {
        wrapper: level === 'bubblewrap' ? [programPath('bwrap') ?? 'bwrap', ...bubblewrapArguments(wrapper)] : [],
        cwd: path.join(tree, command.directory),
        directory,
        home,
        user,
        limits,
        environment: {
          LANG: 'C.UTF-8',
          npm_config_update_notifier: 'false',
          // Its errors would lead to a file that nobody who reads them can open.
          npm_config_logs_max: '0',
          ...(roots !== null && { NODE_EXTRA_CA_CERTS: roots }),
          ...(command.cache !== undefined && cacheVariables(command.cache)),
          ...command.variables,
          PATH: `${path.dirname(process.execPath)}:${systemPath}`,
          HOME: home,
          TMPDIR: temporary,
        },
      });
    },
    output: (below) => walkOutput(tree, below, limits),
    async remove() {
      if (handedOver) await endProcesses({ leader: null, home, user }, false);
      await rm(directory, { recursive: true, force: true, maxRetries: 3 });
    },
  };
}
