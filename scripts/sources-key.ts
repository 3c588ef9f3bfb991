import { createHash, type Hash } from 'node:crypto';
import { readdirSync, statSync } from 'node:fs';
import path from 'node:path';

/** What every program is compiled from and by, relative to the root of the package. */
const sources = [
  'src',
  'scripts/bundle.ts',
  'mikro-orm.config.ts',
  'tsconfig.json',
  'tsconfig.build.json',
  'package-lock.json',
];
/** Directories inside of packages that hold no sources. */
const derived = new Set(['node_modules', 'dist']);

/** Names and their states one after another: a recursive `readdir` needs twice as long, and a start waits for this. */
function addFiles(hash: Hash, directory: string, names: readonly string[]): void {
  for (const name of names) {
    if (derived.has(name)) continue;
    const place = path.join(directory, name);
    const found = statSync(place);
    if (found.isDirectory()) addFiles(hash, place, readdirSync(place).sort());
    else hash.update(`${place}\0${found.mtimeMs}\0${found.size}\n`);
  }
}

/**
 * Identifies the state of the sources by names, sizes and times of change: the same key, the same programs.
 * @param root directory of the package
 * @param packages directories with programs of their own, beside `src`
 * @returns 16 hexadecimal digits
 */
export function sourcesKey(root: string, ...packages: readonly string[]): string {
  const hash = createHash('sha256');
  addFiles(hash, root, [...sources, ...packages]);
  return hash.digest('hex').slice(0, 16);
}
