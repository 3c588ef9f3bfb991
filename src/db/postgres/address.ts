import { mkdtemp, rm, rmdir } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { giveTo, type RunAs } from './run-as.ts';

/** Names the socket file, `.s.PGSQL.5432`; nothing listens on TCP. */
const port = 5432;
/** sun_path of sockaddr_un, less its NUL: unix(7), and 104 on macOS. */
const longestSocketPath = process.platform === 'linux' ? 107 : 103;
const temporaryPrefix = 'portico-';

export const databaseName = 'portico';
export const userName = 'portico';

/** Names the process that has the socket; left behind when that is killed. */
export const socketLock = (directory: string) => `${socketPath(directory)}.lock`;
const socketPath = (directory: string) => join(directory, `.s.PGSQL.${port}`);
const fits = (directory: string) => Buffer.byteLength(socketPath(directory)) <= longestSocketPath;

/** The private directory of the socket: PostgreSQL's own below the data directory, or a temporary one when that is too long. */
export async function socketDirectory(postgresDir: string, runAs: RunAs): Promise<string> {
  if (fits(postgresDir)) return postgresDir;
  const parent = fits(join(tmpdir(), `${temporaryPrefix}XXXXXX`)) ? tmpdir() : '/tmp';
  const directory = await mkdtemp(join(parent, temporaryPrefix));
  await giveTo(runAs, directory);
  return directory;
}

/** Removes a temporary socket directory with what a killed server left in it. */
export async function removeSocketDirectory(directory: string, postgresDir: string): Promise<void> {
  if (directory === postgresDir) return;
  await rm(socketPath(directory), { force: true });
  await rm(socketLock(directory), { force: true });
  await rmdir(directory).catch(() => undefined);
}

/** Whether any server takes connections on the socket, be it too busy to answer. */
export function somethingListens(directory: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(socketPath(directory));
    socket.once('error', () => resolve(false));
    socket.once('connect', () => {
      socket.destroy();
      resolve(true);
    });
  });
}

/**
 * The URL of a database behind the socket. The directory stands percent-encoded in place of the host, with a port, because
 * that form alone is read alike by libpq, pg, MikroORM and the URL class.
 */
export function databaseUrl(directory: string, password: string, database: string): string {
  return `postgres://${userName}:${password}@${encodeURIComponent(directory)}:${port}/${database}`;
}
