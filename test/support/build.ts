import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { mkdir, readdir, rename, rm, stat, symlink } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { bundle } from '../../scripts/bundle.ts';
import { buildDashboard } from '../../scripts/dashboard.ts';
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

async function build(): Promise<string> {
  const place = path.join(cache, sourcesKey(root, [...programSources, ...dashboardSources]));
  const entry = path.join(place, 'dist/bundle');
  if (await stat(entry).catch(() => null)) return entry;
  const draft = `${place}.${randomUUID()}`;
  await mkdir(draft, { recursive: true });
  // The program finds the demo and its version two levels above itself.
  for (const name of ['demo', 'package.json']) await symlink(path.join(root, name), path.join(draft, name));
  const options = ['-p', 'tsconfig.build.json', '--incremental', 'false', '--tsBuildInfoFile', 'null', '--noCheck'];
  const compiler = path.join(root, 'node_modules/.bin/tsc');
  await promisify(execFile)(compiler, [...options, '--outDir', path.join(draft, 'dist')], { cwd: root });
  await bundle(path.join(draft, 'dist'));
  await buildDashboard(path.join(draft, 'dist/dashboard'));
  // Another test file may have built the same meanwhile.
  await rename(draft, place).catch(() => rm(draft, { recursive: true, force: true }));
  await removeOld();
  return entry;
}

/** The directory of the program's JavaScript (`main.js`, `portico.js`), built once for all test files. */
export async function builtProgram(): Promise<string> {
  return (await oncePerRun('program', build)).value;
}
