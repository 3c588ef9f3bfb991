import { randomBytes } from 'node:crypto';
import { access, constants, mkdir, readdir, realpath, rm, rmdir, stat } from 'node:fs/promises';
import path from 'node:path';
import type { Deployer, ProcessName } from '../../ports/deployer.ts';
import { removeTrees } from './build-users.ts';
import { endLeft, findIsolation, type Isolation, makeBuildDirectory, type NoIsolation } from './isolation.ts';
import { type BuildLimits, buildLimits } from './limits.ts';
import { nameOf, standingOf } from './processes.ts';
import type { SandboxKind } from './sandbox.ts';
import { openWorkspace } from './workspace.ts';

interface Options {
  /** Of workspaces and package caches. */
  directory: string;
  dataDirectory: string;
  /** Files outside of it that hold secrets of the server. */
  secretFiles?: readonly string[];
  /** Refuses to run builds as the server's own user. */
  strict: boolean;
  /** Further root certificates for what builds fetch (PEM); default: those the server itself was given by `NODE_EXTRA_CA_CERTS`. */
  caFile?: string;
  limits?: Partial<BuildLimits>;
  /** Ways to close builds in, the best first; default: all that there are. */
  kinds?: readonly SandboxKind[];
}

/** Why nothing is built, and what to do about it; null: builds may run. */
function refusalOf(isolation: Isolation | NoIsolation, strict: boolean): string | null {
  if (isolation.level === null) {
    const why = isolation.missing.join('; ');
    if (process.getuid?.() !== 0) return `Builds are refused: ${why}`;
    return `Builds are refused: the server runs as root, which never builds as itself, and ${why}; or start the server as another user`;
  }
  if (!strict || isolation.level !== 'process') return null;
  const remedy = 'or start the server as root, with PORTICO_BUILD_DIR where other users can enter';
  return `PORTICO_BUILD_ISOLATION=strict, and this machine can only run builds as the user of the server: ${isolation.reason}; ${remedy}`;
}

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
export function createDeployer(options: Options): Deployer {
  const { directory: given, dataDirectory, secretFiles = [], strict, caFile, limits, kinds } = options;
  const directory = path.resolve(given);
  /** The first directory this process has made on the way to its builds. */
  let made: string | undefined;
  let ready: Promise<{ root: string; isolation: Isolation | NoIsolation }> | undefined;
  const prepare = () => {
    ready ??= (async () => {
      made = (await makeBuildDirectory(directory)) ?? made;
      const root = await realpath(directory);
      await mkdir(path.join(root, 'cache'), { recursive: true, mode: 0o711 });
      return { root, isolation: await findIsolation({ root, dataDirectory, secretFiles, ...(kinds && { kinds }) }) };
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
      const refused = refusalOf(isolation, strict);
      if (refused !== null || isolation.level === null) return { refused: refused ?? '' };
      return { level: isolation.level, reason: isolation.reason };
    },
    async self() {
      self ??= nameOf(process.pid);
      return (await self) ?? { pid: process.pid, started: '', machine: '' };
    },
    standing: standingOf,
    async open({ deployment, project }) {
      // Another process may have found it empty when it ended.
      const known = await ready?.catch(() => null);
      const needed = known?.isolation.level ? [known.root, known.isolation.runtime.directory] : [];
      for (const place of needed) if ((await stat(place).catch(() => null)) === null) ready = undefined;
      const { root, isolation } = await prepare();
      if (isolation.level === null) throw new Error(refusalOf(isolation, strict) ?? '');
      return openWorkspace({
        directory: path.join(root, `${deployment}-${randomBytes(4).toString('hex')}`),
        caches: path.join(root, 'cache', project),
        project,
        isolation,
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
        const owner = (await stat(left).catch(() => null))?.uid;
        if (owner === undefined) continue;
        await endLeft(left, owner, isOurs ? leader.pid : null);
        await removeTrees([left]);
      }
    },
    workspaces: async () => [...new Set((await workspaces()).map(({ id }) => id))],
    async close() {
      // What this process has not made stays, and so does what holds caches or the workspaces of another process.
      if (made === undefined) return;
      await rmdir(path.join(directory, 'cache')).catch(() => {});
      const left = await readdir(directory).catch(() => []);
      // It takes a moment to make again, where another process needs it.
      if (left.every((name) => name === 'runtime'))
        await rm(path.join(directory, 'runtime'), { recursive: true, force: true });
      for (let empty = directory; empty.startsWith(made); empty = path.dirname(empty))
        await rmdir(empty).catch(() => {});
    },
  };
}
