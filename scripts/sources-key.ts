import { createHash } from 'node:crypto';
import { readdirSync, statSync } from 'node:fs';
import path from 'node:path';

/** What the programs are compiled from and by, relative to the root of the package. */
const sources = ['src', 'bench', 'corpus', 'tsconfig.json', 'tsconfig.build.json', 'package-lock.json'];

/**
 * Identifies the state of the sources by names, sizes and times of change: the same key, the same programs.
 * @param root directory of the package
 * @returns 16 hexadecimal digits
 */
export function sourcesKey(root: string): string {
  const hash = createHash('sha256');
  for (const source of sources) {
    const names = source.includes('.') ? [''] : readdirSync(path.join(root, source), { recursive: true });
    for (const name of (names as string[]).sort()) {
      const { mtimeMs, size } = statSync(path.join(root, source, name));
      hash.update(`${source}/${name}\0${mtimeMs}\0${size}\n`);
    }
  }
  return hash.digest('hex').slice(0, 16);
}
