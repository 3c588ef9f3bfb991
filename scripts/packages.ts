/**
 * Installs what a package of its own (`bench`, `corpus`) needs beside the packages of the server, when that is missing or its lock file has
 * changed: `node scripts/packages.ts bench corpus`.
 */
import { spawnSync } from 'node:child_process';
import { statSync } from 'node:fs';
import path from 'node:path';

const changed = (file: string): number => statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? 0;

/** @param directory of the package; ends this process when npm fails */
export function installPackages(directory: string): void {
  // npm writes its own list last, so an installation that was cut off has none.
  const installed = changed(path.join(directory, 'node_modules/.package-lock.json'));
  if (installed > changed(path.join(directory, 'package-lock.json'))) return;
  process.stderr.write(`Installing the packages of ${path.basename(directory)}/, which the server does not need …\n`);
  const { status } = spawnSync('npm', ['ci', '--loglevel=error'], { cwd: directory, stdio: ['ignore', 2, 2] });
  if (status !== 0) process.exit(status ?? 1);
}

if (import.meta.main) {
  for (const name of process.argv.slice(2)) installPackages(path.resolve(import.meta.dirname, '..', name));
}
