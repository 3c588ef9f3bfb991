import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { cp, mkdir, readdir, rename, rm, stat, symlink } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { bundle } from '../../scripts/bundle.ts';
import { dashboardSources, programSources, sourcesKey } from '../../scripts/sources-key.ts';
import { oncePerRun } from './once-per-run.ts';

const root = path.resolve(import.meta.dirname, '../..');
/** Inside `node_modules`, so that what is built finds the packages. */
const cache = path.join(root, 'node_modules/.cache/portico-test');
const keptFor = 24 * 3600_000;

async function removeOld(): Promise<void> {
  for (const name of await readdir(cache)) {
    const place = path.join(cache, name);
    const age = Date.now() - ((await stat(place).catch(() => null))?.mtimeMs ?? Date.now());
    if (age > keptFor) await rm(place, { recursive: true, force: true });
  }
}

/** The directory that was made from these sources; it is made where there is none yet. */
async function made(sources: readonly string[], make: (draft: string) => Promise<void>): Promise<string> {
  const place = path.join(cache, sourcesKey(root, sources));
  if (await stat(place).catch(() => null)) return place;
  const draft = `${place}.${randomUUID()}`;
  await mkdir(draft, { recursive: true });
  await make(draft);
  // Another test file may have built the same meanwhile.
  await rename(draft, place).catch(() => rm(draft, { recursive: true, force: true }));
  await removeOld();
  return place;
}

/** As people get it: in a test's own process, the packages would be built for tests. */
const makeDashboard = () =>
  made(dashboardSources, async (draft) => {
    const env = { ...process.env, NODE_ENV: 'production' };
    await promisify(execFile)(process.execPath, ['scripts/dashboard.ts', draft], { cwd: root, env });
  });

const makeProgram = () =>
  made([...programSources, ...dashboardSources], async (draft) => {
    // The program finds the demo and its version two levels above itself.
    for (const name of ['demo', 'package.json']) await symlink(path.join(root, name), path.join(draft, name));
    const options = ['-p', 'tsconfig.build.json', '--incremental', 'false', '--tsBuildInfoFile', 'null', '--noCheck'];
    const compiler = path.join(root, 'node_modules/.bin/tsc');
    await promisify(execFile)(compiler, [...options, '--outDir', path.join(draft, 'dist')], { cwd: root });
    await bundle(path.join(draft, 'dist'));
    await cp(await builtDashboard(), path.join(draft, 'dist/dashboard'), { recursive: true });
  });

/** The directory of the dashboard's files, built once for all test files. */
export async function builtDashboard(): Promise<string> {
  return (await oncePerRun('dashboard', makeDashboard)).value;
}

/** The directory of the program's JavaScript (`main.js`, `portico.js`), built once for all test files. */
export async function builtProgram(): Promise<string> {
  return path.join((await oncePerRun('program', makeProgram)).value, 'dist/bundle');
}
