import { homedir } from 'node:os';
import path from 'node:path';

interface Place {
  /** Hidden from the command: the data directory, and what other builds have. */
  hidden: readonly string[];
  /** The only directories it may write to. */
  writable: readonly string[];
  network: boolean;
}

const isBelow = (file: string, directory: string) => !path.relative(directory, file).startsWith('..');

/** A home that the programs themselves lie in stays visible. */
const homes = () => [homedir(), '/root'].filter((home) => home !== '/' && !isBelow(process.execPath, home));

/**
 * Arguments of bwrap(1) before the command: namespaces of its own for mounts, processes and communication, everything readable but what is
 * hidden, and no network when it is to have none, which shuts off the metadata service of a cloud too.
 */
export function bubblewrapArguments({ hidden, writable, network }: Place): string[] {
  const namespaces = ['--unshare-user', '--unshare-pid', '--unshare-ipc', '--unshare-uts', '--die-with-parent'];
  const devices = ['--ro-bind', '/', '/', '--proc', '/proc', '--dev', '/dev', '--tmpfs', '/tmp'];
  const gone = [...new Set([...homes(), ...hidden])].flatMap((directory) => ['--tmpfs', directory]);
  const own = writable.flatMap((directory) => ['--bind', directory, directory]);
  return [...namespaces, ...(network ? [] : ['--unshare-net']), ...devices, ...gone, ...own, '--'];
}
