import { createHash, type Hash } from 'node:crypto';
import { readdirSync, statSync } from 'node:fs';
import path from 'node:path';

/** What every program is compiled from and by, relative to the root of the package. */
export const programSources = [
  'src',
  'scripts/bundle.ts',
  'mikro-orm.config.ts',
  'tsconfig.json',
  'tsconfig.build.json',
  'package-lock.json',
];
/** What the dashboard is built from and by. */
export const dashboardSources = [
  'src/dashboard',
  'src/lib',
  'schema.graphql',
  'scripts/dashboard.ts',
  'tsconfig.json',
  'package-lock.json',
];
/** What lies between sources and is none: packages, programs, what the build of the dashboard writes; and the dashboard, for programs. */
const left = new Set(['node_modules', 'dist', 'dashboard', 'documents.ts']);

/** Names and their states one after another: a recursive `readdir` needs twice as long, and a start waits for this. */
function addFiles(hash: Hash, directory: string, names: readonly string[]): void {
  for (const name of names) {
    const place = path.join(directory, name);
    const found = statSync(place);
    if (found.isDirectory())
      addFiles(
        hash,
        place,
        readdirSync(place)
          .filter((entry) => !left.has(entry))
          .sort(),
      );
    else hash.update(`${place}\0${found.mtimeMs}\0${found.size}\n`);
  }
}

/**
 * Identifies the state of sources by names, sizes and times of change: the same key, the same programs.
 * @param root directory of the package
 * @param sources files and directories below it
 * @returns 16 hexadecimal digits
 */
export function sourcesKey(root: string, sources: readonly string[]): string {
  const hash = createHash('sha256');
  addFiles(hash, root, sources);
  return hash.digest('hex').slice(0, 16);
}
