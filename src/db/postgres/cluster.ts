import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { open, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { userName } from './address.ts';
import { type PostgresBinaries, useYourOwn } from './binaries.ts';
import { giveTo, type RunAs } from './run-as.ts';
import { programEnvironment } from './settings.ts';

const run = promisify(execFile);
const draftPrefix = 'data.new-';

interface ClusterOptions {
  /** `<dataDir>/postgres` */
  postgresDir: string;
  binaries: PostgresBinaries;
  runAs: RunAs;
  durable: boolean;
  signal: AbortSignal;
}

/**
 * Makes the cluster unless it is there, and answers the password of its superuser.
 *
 * initdb works in a directory of another name, renamed when it is complete: an interrupted one leaves nothing that looks
 * like a cluster, and the next start begins anew.
 */
export async function ensureCluster(options: ClusterOptions): Promise<string> {
  const { postgresDir, binaries } = options;
  const cluster = join(postgresDir, 'data');
  const passwordFile = join(postgresDir, 'password');
  const found = await readdir(cluster).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT') throw error;
    return [];
  });
  if (found.length === 0) return createCluster(options, cluster, passwordFile);
  // What is left of a cluster is somebody's data: a new one in its place would look as if all of it were gone.
  const version = await readFile(join(cluster, 'PG_VERSION'), 'utf8').catch((cause) => refuseDamaged(cluster, cause));
  await stat(join(cluster, 'global', 'pg_control')).catch((cause) => refuseDamaged(cluster, cause));
  if (version.trim() !== binaries.major) {
    throw new Error(
      `${cluster} belongs to PostgreSQL ${version.trim()}, the embedded server is PostgreSQL ${binaries.major}. ` +
        `Dump it with the Portico that made it and restore the dump. ${useYourOwn}`,
    );
  }
  return readFile(passwordFile, 'utf8').catch((cause) => {
    throw new Error(`The password of the embedded PostgreSQL, ${passwordFile}, cannot be read.`, { cause });
  });
}

function refuseDamaged(cluster: string, cause: Error): never {
  throw new Error(
    `${cluster} is no complete PostgreSQL data directory (${cause.message}). Restore the data directory from a backup, ` +
      `or move ${cluster} away to begin with an empty database. ${useYourOwn}`,
    { cause },
  );
}

async function createCluster(options: ClusterOptions, cluster: string, passwordFile: string): Promise<string> {
  const { postgresDir, runAs } = options;
  await removeDrafts(postgresDir);
  // A name of its own: the initdb of a killed server may still be writing to the one before.
  const draft = join(postgresDir, `${draftPrefix}${Date.now()}`);
  const password = randomBytes(24).toString('base64url');
  await rm(passwordFile, { force: true });
  await writeFile(passwordFile, password, { mode: 0o600 });
  await giveTo(runAs, passwordFile);
  await initdb(options, draft, passwordFile);
  await rename(draft, cluster);
  const directory = await open(postgresDir, 'r');
  await directory.sync().finally(() => directory.close());
  return password;
}

async function initdb({ binaries, runAs, durable, signal }: ClusterOptions, draft: string, passwordFile: string) {
  const common = [
    ...['-D', draft, '-U', userName, `--pwfile=${passwordFile}`, '--auth=scram-sha-256', '--encoding=UTF8'],
    ...['--data-checksums', '--no-instructions', ...(durable ? [] : ['--no-sync'])],
    '--locale-provider=builtin',
  ];
  const attempt = async (...locale: string[]) => {
    const [program = '', ...args] = [...runAs.prefix, binaries.initdb, ...common, ...locale];
    await run(program, args, { cwd: '/', env: programEnvironment(), signal, ...runAs.owner });
  };
  try {
    await attempt('--locale=C.UTF-8');
  } catch (error) {
    signal.throwIfAborted();
    await rm(draft, { recursive: true, force: true });
    // Where the system's libc has no C.UTF-8: the database's own collation and character types are the same.
    await attempt('--locale=C', '--builtin-locale=C.UTF-8').catch((cause: Error & { stderr?: string }) => {
      const reason = cause.stderr?.trim() || cause.message;
      throw new Error(`initdb failed: ${reason} ${useYourOwn}`, { cause: error });
    });
  }
}

async function removeDrafts(postgresDir: string): Promise<void> {
  const drafts = (await readdir(postgresDir)).filter((name) => name.startsWith(draftPrefix));
  const removals = drafts.map((name) => rm(join(postgresDir, name), { recursive: true, force: true, maxRetries: 5 }));
  await Promise.allSettled(removals);
}
