import { randomBytes } from 'node:crypto';
import { access, constants, mkdir, readdir, realpath, rm, rmdir, stat } from 'node:fs/promises';
import path from 'node:path';
import type { Deployer, ProcessName } from '../../domain/ports/deployer.ts';
import { endProcesses } from './end-processes.ts';
import { findIsolation, type Isolation, makeBuildDirectory } from './isolation.ts';
import { type BuildLimits, buildLimits } from './limits.ts';
import { nameOf, standingOf } from './processes.ts';
import { homeIn, openWorkspace } from './workspace.ts';

interface Options {
  /** Of workspaces and package caches. */
  directory: string;
  dataDirectory: string;
  /** Refuses to run builds as the server's own user. */
  strict: boolean;
  /** Further root certificates for what builds fetch (PEM); default: those the server itself was given by `NODE_EXTRA_CA_CERTS`. */
  caFile?: string;
  limits?: Partial<BuildLimits>;
}

const refusal =
  'PORTICO_BUILD_ISOLATION=strict, and this machine can only run builds as the user of the server: install bubblewrap, or start the server as root with PORTICO_BUILD_DIR where other users can reach it';

/** Behind a proxy with a certificate of its own a server trusts more than Node does, and its builds have to as well. Node ignores a file it cannot read. */
async function ownRoots(): Promise<string | null> {
  const file = process.env.NODE_EXTRA_CA_CERTS;
  if (!file) return null;
  return access(file, constants.R_OK).then(
    () => path.resolve(file),
    () => null,
  );
}

/** Runs repository code in child processes of this machine. */
export function createDeployer({ directory, dataDirectory, strict, caFile, limits }: Options): Deployer {
  let hasMade = false;
  let ready: Promise<{ root: string; isolation: Isolation }> | undefined;
  const prepare = () => {
    ready ??= (async () => {
      hasMade = (await makeBuildDirectory(directory)) || hasMade;
      const root = await realpath(directory);
      await mkdir(path.join(root, 'cache'), { recursive: true, mode: 0o711 });
      return { root, isolation: await findIsolation(root) };
    })().catch((error: unknown) => {
      ready = undefined;
      throw error;
    });
    return ready;
  };
  const workspaces = async () => {
    const names = await readdir(directory).catch(() => []);
    return names.flatMap((name) => {
      const id = /^(\d+)-[0-9a-f]{8}$/.exec(name)?.[1];
      return id === undefined ? [] : [{ id: Number(id), name }];
    });
  };
  let self: Promise<ProcessName | null> | undefined;

  return {
    async isolation() {
      const { isolation } = await prepare();
      return strict && isolation.level === 'process' ? { refused: refusal } : { level: isolation.level };
    },
    async self() {
      self ??= nameOf(process.pid);
      return (await self) ?? { pid: process.pid, started: '', machine: '' };
    },
    standing: standingOf,
    async open({ deployment, project }) {
      // Another process may have found it empty when it ended.
      const known = await ready?.catch(() => null);
      if (known && (await realpath(known.root).catch(() => null)) === null) ready = undefined;
      const { root, isolation } = await prepare();
      return openWorkspace({
        directory: path.join(root, `${deployment}-${randomBytes(4).toString('hex')}`),
        caches: path.join(root, 'cache', project),
        project,
        isolation,
        hidden: [dataDirectory, root],
        caFile: caFile ?? (await ownRoots()),
        limits: { ...buildLimits, ...limits },
      });
    },
    async clear(deployment, leader) {
      const root = await realpath(directory).catch(() => null);
      const isOurs = leader !== null && (await standingOf(leader)) === 'alive';
      if (root === null) return;
      for (const { id, name } of await workspaces()) {
        if (id !== deployment) continue;
        const left = path.join(root, name);
        const owner = (await stat(left).catch(() => null))?.uid ?? null;
        const user = owner === process.getuid?.() ? null : owner;
        await endProcesses({ leader: isOurs ? leader.pid : null, home: homeIn(left), user }, false);
        await rm(left, { recursive: true, force: true, maxRetries: 3 });
      }
    },
    workspaces: async () => [...new Set((await workspaces()).map(({ id }) => id))],
    async close() {
      // What somebody else has made stays, and so does what holds caches or the workspaces of another process.
      if (!hasMade) return;
      for (const place of [path.join(directory, 'cache'), directory]) await rmdir(place).catch(() => {});
    },
  };
}
