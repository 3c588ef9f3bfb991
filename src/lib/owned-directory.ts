import { once } from 'node:events';
import { lstat, mkdtemp, readdir, rm } from 'node:fs/promises';
import { connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';

/** A temporary directory of this process, that only its user can read. */
export interface OwnedDirectory {
  path: string;
  /** To be called when nothing in it is used any more; once more does no harm. */
  remove(): Promise<void>;
}

/** Milliseconds in which a directory may be without its socket, because it is being made. */
const making = 60_000;
/** sun_path of sockaddr_un, less its NUL, is 103 bytes on macOS and 107 on Linux (unix(7)). */
const longestSocket = 103;

/** Where the process that has a directory takes connections for as long as it lives: another container's number would mean nothing. */
const socketOf = (directory: string) => path.join(directory, 'owner');

/** The temporary directory, where a confined Chromium may write, too; `/tmp` when a socket's path below it would be too long. */
function parentFor(prefix: string): string {
  const socket = socketOf(path.join(tmpdir(), `${prefix}XXXXXX`));
  return Buffer.byteLength(socket) <= longestSocket ? tmpdir() : '/tmp';
}

/** What has ended may still be writing for a moment. */
const removeAll = (directory: string) =>
  rm(directory, { recursive: true, force: true, maxRetries: 5 }).catch(() => {
    // Left to the next start of a server.
  });

/** Makes a directory that is this process's until it is removed, or the process dies. @param prefix of its name */
export async function openOwnedDirectory(prefix: string): Promise<OwnedDirectory> {
  const directory = await mkdtemp(path.join(parentFor(prefix), prefix));
  const server = createServer((socket) => socket.destroy()).unref();
  server.listen(socketOf(directory));
  await once(server, 'listening');
  let removing: Promise<void> | undefined;
  return {
    path: directory,
    remove() {
      removing ??= removeAll(directory).finally(() => server.close());
      return removing;
    },
  };
}

/** Whether the process that made a directory lives. */
async function isHeld(directory: string, made: Date): Promise<boolean> {
  const socket = connect(socketOf(directory));
  try {
    await once(socket, 'connect');
    return true;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT') return Date.now() - made.getTime() < making;
    return code !== 'ECONNREFUSED';
  } finally {
    socket.destroy();
  }
}

/**
 * Removes the directories with a prefix that killed processes have left; those of other users and of running processes stay. A place that is not there, or
 * whose names this user may not read, is left as it is.
 */
export async function clearOwnedDirectories(prefix: string): Promise<void> {
  const place = parentFor(prefix);
  for (const name of await readdir(place).catch(() => [])) {
    if (!name.startsWith(prefix)) continue;
    const directory = path.join(place, name);
    const found = await lstat(directory).catch(() => null);
    if (!found?.isDirectory() || found.uid !== process.getuid?.()) continue;
    if (!(await isHeld(directory, found.mtime))) await removeAll(directory);
  }
}
