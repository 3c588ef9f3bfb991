import { execFile } from 'node:child_process';
import { chmod, chown, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { type PostgresBinaries, useYourOwn } from './binaries.ts';

const run = promisify(execFile);

interface Owner {
  uid: number;
  gid: number;
}

/** How PostgreSQL, which refuses root, is started here. */
export interface RunAs {
  /** Put in front of the program and its arguments. */
  prefix: readonly string[];
  /** The user to become; files made for PostgreSQL are given to it. */
  owner: Owner | null;
}

const direct: RunAs = { prefix: [], owner: null };

/**
 * In a user namespace PostgreSQL sees another uid but keeps root's access to root's files, also below a home directory of
 * mode 0700, where no other user could reach the programs or the data.
 */
const namespaced: RunAs = {
  prefix: ['unshare', '--user', '--map-user=65534', '--map-group=65534'],
  owner: null,
};

/**
 * Decides how to start PostgreSQL below `dataDir`, and gives `<dataDir>/postgres` to the user it will run as.
 * @throws Error naming DATABASE_URL when root can neither make a user namespace nor use another user, or a user without a name no namespace.
 */
export async function chooseRunAs(dataDir: string, binaries: PostgresBinaries): Promise<RunAs> {
  if (process.getuid?.() !== 0) return (await needsName(dataDir)) ? named(dataDir, binaries) : direct;
  const cluster = await stat(join(dataDir, 'postgres', 'data')).catch(() => null);
  const started = cluster !== null && cluster.uid !== 0;
  // A cluster already given to another user stays with it: a namespace would see a stranger's files.
  if (!started && (await canRun(namespaced, binaries, dataDir))) return namespaced;
  for (const owner of await candidates(dataDir, started ? { uid: cluster.uid, gid: cluster.gid } : null)) {
    const runAs: RunAs = { prefix: [], owner };
    // Only the data directory itself can be opened for that user; what lies above it is not ours to change.
    if (!(await canRun(runAs, binaries, dirname(dataDir)))) continue;
    await giveAway(dataDir, owner);
    return runAs;
  }
  throw new Error(
    'PostgreSQL does not run as root. User namespaces are not available here (unshare --user), and no unprivileged user ' +
      `can reach both ${dirname(binaries.postgres)} and ${dataDir}. Start Portico as an ordinary user. ${useYourOwn}`,
  );
}

/** Whether initdb is to run, which looks its user up by name (getpwuid), as a user that has none; the server itself does without. */
async function needsName(dataDir: string): Promise<boolean> {
  if (await stat(join(dataDir, 'postgres', 'data', 'PG_VERSION')).catch(() => null)) return false;
  return run('id', ['-un']).then(
    () => false,
    () => true,
  );
}

/** In a user namespace initdb looks its user up under the name that uid 65534 has there. */
async function named(dataDir: string, binaries: PostgresBinaries): Promise<RunAs> {
  const [unshare = '', ...args] = [...namespaced.prefix, 'id', '-un'];
  const hasName = await run(unshare, args).then(
    () => true,
    () => false,
  );
  if (hasName && (await canRun(namespaced, binaries, dataDir))) return namespaced;
  throw new Error(
    `The user ${process.getuid?.()} has no entry in /etc/passwd, which PostgreSQL needs when it makes its data directory, and user ` +
      `namespaces are not available here (unshare --user). Add an entry for it. ${useYourOwn}`,
  );
}

/** Gives a file made by us to the user PostgreSQL runs as. */
export async function giveTo(runAs: RunAs, path: string): Promise<void> {
  if (runAs.owner) await chown(path, runAs.owner.uid, runAs.owner.gid);
}

async function candidates(dataDir: string, clusterOwner: Owner | null): Promise<Owner[]> {
  if (clusterOwner) return [clusterOwner];
  const above = await stat(dirname(dataDir));
  const unprivileged = await unprivilegedUser();
  return [unprivileged, { uid: above.uid, gid: above.gid }].filter(
    (owner) => owner !== null && owner.uid !== 0,
  ) as Owner[];
}

/** The user that owns no files, where the system has one. */
async function unprivilegedUser(): Promise<Owner | null> {
  try {
    const [uid, gid] = await Promise.all([run('id', ['-u', 'nobody']), run('id', ['-g', 'nobody'])]);
    return { uid: Number(uid.stdout), gid: Number(gid.stdout) };
  } catch {
    return null;
  }
}

async function canRun({ prefix, owner }: RunAs, binaries: PostgresBinaries, directory: string): Promise<boolean> {
  const [program = '', ...args] = [
    ...prefix,
    ...['/bin/sh', '-c', 'cd "$1" && exec "$2" --version', 'sh', directory, binaries.postgres],
  ];
  return run(program, args, { cwd: '/', ...owner }).then(
    () => true,
    () => false,
  );
}

async function giveAway(dataDir: string, { uid, gid }: Owner): Promise<void> {
  // The group may pass through, not list: everything else in there stays readable by root alone.
  await chown(dataDir, 0, gid);
  await chmod(dataDir, 0o710);
  await run('chown', ['-R', `${uid}:${gid}`, join(dataDir, 'postgres')]);
}
