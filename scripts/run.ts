/**
 * Compiles a program if a source has changed since it was last compiled, then runs it in this process: `node scripts/run.ts src/main`.
 * The compiler itself needs most of a second to find that nothing has changed. Programs of `src` are run from their bundle (`bundle.ts`).
 *
 * Programs of a package of its own (`bench/run`) get the packages they need first. They are compiled, with what they import of `src`, into a
 * `dist` of their own, from where the packages beside it are found. With the server, and what measures it, comes the dashboard (`dashboard.ts`).
 */
import { spawnSync } from 'node:child_process';
import { accessSync, constants, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import type { DatabaseSync } from 'node:sqlite';
import { pathToFileURL } from 'node:url';
import { installPackages } from './packages.ts';
import { dashboardSources, programSources, sourcesKey } from './sources-key.ts';

const root = path.resolve(import.meta.dirname, '..');
const dist = path.join(root, 'dist');

/** Runs what writes to `output`; ends this process with a sentence when that is not allowed. */
function writing(output: string, act: () => void): void {
  try {
    act();
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    process.stderr.write(
      `${output} cannot be written (${code}), and the programs have to be compiled into it: make it writable for this user, or run "npm run build" as the user it belongs to\n`,
    );
    process.exit(1);
  }
}

/**
 * Waits until no other process compiles, and lets none begin until this one ends or closes what is returned. Node has no flock(2); SQLite
 * locks its files.
 * @returns null where the file system has no locks
 */
function compilerLock(): DatabaseSync | null {
  const { DatabaseSync } = process.getBuiltinModule('node:sqlite');
  try {
    const lock = new DatabaseSync(path.join(dist, '.lock'), { timeout: 600_000 });
    lock.exec('begin exclusive');
    return lock;
  } catch {
    return null;
  }
}

/**
 * Runs the steps by which `output` is made, unless it was made from the same sources. Of several processes
 * that are started at the same time, such as servers of one checkout, one does.
 * @param output directory
 * @param key identifies the sources; taken before: what is saved while the steps run is compiled again next time
 * @param steps programs of node with their arguments
 */
function make(output: string, key: string, steps: readonly (readonly string[])[]): void {
  /** Holds the key of the sources that `output` was made from. */
  const stamp = path.join(output, '.sources-key');
  const isMade = () => {
    try {
      return readFileSync(stamp, 'utf8') === key;
    } catch {
      // Not made yet.
      return false;
    }
  };
  if (isMade()) return;
  writing(output, () => {
    mkdirSync(output, { recursive: true });
    accessSync(output, constants.W_OK | constants.X_OK);
  });
  using _lock = compilerLock();
  if (isMade()) return;
  // Not on standard output, which is the program's own.
  process.stderr.write(`Compiling ${path.relative(root, output)}, because the sources have changed …\n`);
  for (const step of steps) {
    const { status } = spawnSync(process.execPath, step, { cwd: root, stdio: 'inherit' });
    if (status !== 0) process.exit(status ?? 1);
  }
  writing(output, () => writeFileSync(stamp, key));
}

const [program = ''] = process.argv.slice(2);
const [folder = ''] = program.split('/');
const compiler = path.join(root, 'node_modules/typescript/bin/tsc');
const script = (name: string) => path.join(root, 'scripts', name);
make(path.join(dist, 'src'), sourcesKey(root, programSources), [
  [compiler, '-p', 'tsconfig.build.json'],
  [script('bundle.ts'), dist],
]);
if (program === 'src/main' || folder === 'bench') {
  const output = path.join(dist, 'dashboard');
  make(output, sourcesKey(root, dashboardSources), [[script('dashboard.ts'), output]]);
}
if (folder !== 'src') {
  installPackages(path.join(root, folder));
  const project = path.join(folder, 'tsconfig.json');
  const sources = [...programSources, folder, ...(folder === 'bench' ? ['test/support/routes'] : [])];
  make(path.join(root, folder, 'dist'), sourcesKey(root, sources), [[compiler, '-p', project]]);
}
const file =
  folder === 'src'
    ? path.join(dist, `${program.replace('src', 'bundle')}.js`)
    : path.join(root, folder, 'dist', `${program}.js`);
// The program finds its own arguments where it would if it had been started directly.
process.argv.splice(1, 2, file);
await import(pathToFileURL(file).href);
