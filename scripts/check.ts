/**
 * The static checks, in the order in which they find most for their time: `npm run check`.
 * `npm run check -- --measures` prints the measures of the house afterwards.
 */
import { spawnSync } from 'node:child_process';
import path from 'node:path';
import { readSources } from './check-imports.ts';
import { measure } from './measures.ts';

const root = path.join(import.meta.dirname, '..');
const commands = [
  ['biome', 'check', '.'],
  ['tsc', '-p', 'tsconfig.json'],
  [process.execPath, 'scripts/check-imports.ts'],
  ['knip'],
];

for (const [program = '', ...args] of commands) {
  const { status, error } = spawnSync(program, args, { cwd: root, stdio: 'inherit' });
  if (error) process.stderr.write(`${program}: ${error.message}\n`);
  if (status !== 0) process.exit(status ?? 1);
}
if (process.argv.includes('--measures'))
  for (const { name, value, limit, places } of measure(readSources(root))) {
    process.stdout.write(`${String(value).padStart(6)} of at most ${String(limit).padEnd(6)} ${name}\n`);
    if (value > limit) for (const place of places) process.stdout.write(`${' '.repeat(25)}${place}\n`);
  }
