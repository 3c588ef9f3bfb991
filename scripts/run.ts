/**
 * Compiles the programs if a source has changed since they were last compiled, then runs one of them in this process:
 * `node scripts/run.ts src/main`. The compiler itself needs most of a second to find that nothing has changed.
 */
import { spawnSync } from 'node:child_process';
import { accessSync, constants, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { sourcesKey } from './sources-key.ts';

const root = path.resolve(import.meta.dirname, '..');
const output = path.join(root, 'dist');
/** Holds the key of the sources that `dist` was compiled from. */
const stamp = path.join(output, '.sources-key');

function compiledKey(): string {
  try {
    return readFileSync(stamp, 'utf8');
  } catch {
    return '';
  }
}

/** Runs what writes to `dist`; ends this process with a sentence when that is not allowed. */
function writing(act: () => void): void {
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

function compile(): void {
  // Taken before: a source saved while the compiler runs is compiled again next time.
  const key = sourcesKey(root);
  if (compiledKey() === key) return;
  writing(() => {
    mkdirSync(output, { recursive: true });
    accessSync(output, constants.W_OK | constants.X_OK);
  });
  // Not on standard output, which is the program's own.
  process.stderr.write('Compiling, because the sources have changed …\n');
  const compiler = path.join(root, 'node_modules/typescript/bin/tsc');
  const { status } = spawnSync(process.execPath, [compiler, '-p', 'tsconfig.build.json'], {
    cwd: root,
    stdio: 'inherit',
  });
  if (status !== 0) process.exit(status ?? 1);
  writing(() => writeFileSync(stamp, key));
}

const [program = ''] = process.argv.slice(2);
compile();
const file = path.join(output, `${program}.js`);
// The program finds its own arguments where it would if it had been started directly.
process.argv.splice(1, 2, file);
await import(pathToFileURL(file).href);
