/**
 * What builds need of this installation, where they can reach it: the program that begins them, and Node with its package managers where
 * those are out of reach, as in a checkout or an nvm below a home directory. It is made once per installation, below the build directory.
 */
import { execFile } from 'node:child_process';
import { createHash, randomUUID } from 'node:crypto';
import {
  copyFile,
  constants as files,
  link,
  mkdir,
  readdir,
  readFile,
  realpath,
  rename,
  rm,
  stat,
  symlink,
  utimes,
} from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { passing, programPath, systemPath } from './sandbox.ts';

const run = promisify(execFile);

export interface Runtime {
  directory: string;
  /** PATH of commands. */
  path: string;
  /** Begins a command: reads it and its environment from descriptor 3. */
  launcher: readonly string[];
  /** What is installed here and could not be brought within reach. */
  missing: readonly string[];
}

interface Reader {
  /** The user that has to reach it; null: the server's own user. */
  user: number | null;
  /** Paths that no command can see, whatever its user. */
  hidden: readonly string[];
}

const tools = ['npm', 'npx', 'corepack', 'pnpm', 'pnpx', 'yarn', 'yarnpkg'];
/** Milliseconds after which a runtime that no server has used is removed. */
const keptFor = 30 * 24 * 3600_000;

export const isBelow = (file: string, directory: string): boolean =>
  file === directory || file.startsWith(directory.endsWith(path.sep) ? directory : `${directory}${path.sep}`);

/** Those of these files that commands can read and start. */
async function reachable(found: readonly string[], { user, hidden }: Reader): Promise<Set<string>> {
  const real = await Promise.all(found.map((file) => realpath(file).catch(() => file)));
  const seen = found.filter(
    (file, at) => !hidden.some((below) => isBelow(file, below) || isBelow(real[at] ?? '', below)),
  );
  if (user === null) return new Set(seen);
  return passing(seen, 'test -r "$file" && test -x "$file"', user);
}

/** The package a program is part of: `…/node_modules/<name>`. */
function packageOf(file: string): { name: string; directory: string; entry: string } | null {
  const found = /^(.*\/node_modules\/((?:@[^/]+\/)?[^/]+))\/(.+)$/.exec(file);
  const [, directory, name, entry] = found ?? [];
  return directory && name && entry ? { directory, name, entry } : null;
}

interface Tool {
  tool: string;
  name: string;
  directory: string;
  entry: string;
}

async function bring(draft: string, needsNode: boolean, packages: readonly Tool[], launcher: string): Promise<void> {
  await mkdir(path.join(draft, 'bin'), { recursive: true });
  await mkdir(path.join(draft, 'lib/node_modules'), { recursive: true });
  await copyFile(launcher, path.join(draft, launcherName));
  const node = path.join(draft, 'bin/node');
  if (needsNode) {
    const isOpen = ((await stat(process.execPath)).mode & 0o005) === 0o005;
    const linked =
      isOpen &&
      (await link(process.execPath, node).then(
        () => true,
        () => false,
      ));
    if (!linked) await copyFile(process.execPath, node, files.COPYFILE_FICLONE);
  }
  for (const { tool, name, directory, entry } of packages) {
    const target = path.join(draft, 'lib/node_modules', name);
    if ((await stat(target).catch(() => null)) === null) {
      await mkdir(path.dirname(target), { recursive: true });
      await run('cp', ['-R', '--', directory, target]);
    }
    await symlink(path.join('../lib/node_modules', name, entry), path.join(draft, 'bin', tool));
  }
  await run('chmod', ['-R', 'a+rX', '--', draft]);
}

const launcherName = 'launch.mjs';
const launcherSource = path.join(import.meta.dirname, `launch${path.extname(import.meta.filename)}`);

/**
 * Makes the runtime of this installation for builds of a user, or finds it made.
 * @param root directory of builds, without links
 * @throws Error when it cannot be made
 */
export async function makeRuntime(root: string, reader: Reader): Promise<Runtime> {
  const own = path.dirname(process.execPath);
  const search = [own, ...systemPath.split(':')];
  const candidates = [process.execPath, ...tools.flatMap((tool) => search.map((below) => path.join(below, tool)))];
  const reached = await reachable(candidates, reader);
  const needsNode = !reached.has(process.execPath);
  const packages: Tool[] = [];
  const missing: string[] = [];
  for (const tool of tools) {
    const source = programPath(tool, [own]);
    if (source === null || search.some((below) => reached.has(path.join(below, tool)))) continue;
    const found = packageOf(await realpath(source));
    if (found) packages.push({ tool, ...found });
    else missing.push(source);
  }
  const stamps = await Promise.all(
    [
      ...(needsNode ? [process.execPath] : []),
      ...packages.map(({ directory }) => path.join(directory, 'package.json')),
    ].map(async (file) => {
      const { mtimeMs, size } = await stat(file);
      return [file, mtimeMs, size];
    }),
  );
  const content = JSON.stringify([stamps, packages.map(({ tool }) => tool), await readFile(launcherSource, 'utf8')]);
  const all = path.join(root, 'runtime');
  const directory = path.join(all, createHash('sha256').update(content).digest('hex').slice(0, 16));
  await mkdir(all, { recursive: true, mode: 0o711 });
  if ((await stat(directory).catch(() => null)) === null) {
    const draft = path.join(all, `draft-${randomUUID()}`);
    try {
      await bring(draft, needsNode, packages, launcherSource);
      // Another process may have made the same meanwhile.
      await rename(draft, directory).catch(async (error: unknown) => {
        if ((await stat(directory).catch(() => null)) === null) throw error;
      });
    } finally {
      await rm(draft, { recursive: true, force: true });
    }
  }
  await utimes(directory, new Date(), new Date());
  for (const name of await readdir(all)) {
    const old = path.join(all, name);
    const used = (await stat(old).catch(() => null))?.mtimeMs ?? Date.now();
    if (Date.now() - used > keptFor) await rm(old, { recursive: true, force: true });
  }
  const node = needsNode ? path.join(directory, 'bin/node') : process.execPath;
  return {
    directory,
    path: [path.join(directory, 'bin'), own, systemPath].join(':'),
    launcher: [node, '--no-warnings', path.join(directory, launcherName)],
    missing,
  };
}
