import { randomUUID } from 'node:crypto';
import { link, mkdir, readdir, readFile, readlink, realpath, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { somethingListens } from './address.ts';
import { processIdentity } from './processes.ts';
import { readLastRecord } from './record.ts';

/** Another server, or a command that started the embedded database, has this data directory. The message is for the user. */
export class DataDirInUse extends Error {
  override readonly name = 'DataDirInUse';
  readonly dataDir: string;
  /** The process that has it; null when it cannot be seen from here (another container). */
  readonly pid: number | null;

  constructor(dataDir: string, pid: number | null) {
    const holder = pid === process.pid ? 'this process' : pid === null ? 'in another container' : `process ${pid}`;
    super(
      `The data directory ${dataDir} is in use by another Portico server (${holder}). ` +
        'Stop it, or set PORTICO_DATA_DIR to another directory.',
    );
    this.dataDir = dataDir;
    this.pid = pid;
  }
}

export interface DataDirLock {
  /** The data directory without links, as all paths below it are spelled. */
  readonly dataDir: string;
  release(): Promise<void>;
}

interface Holder {
  pid: number;
  /** Its start time: the number may be another's by now. */
  identity: string;
  /** Process numbers mean something only within one pid namespace. */
  namespace: string;
}

/**
 * Takes the data directory (created 0700 when missing) for this process; a process that dies, even by kill -9, loses it.
 *
 * Node has no flock(2), and replacing a stale lock file races: two starters see the same dead holder, the second then
 * replaces the living lock of the first. So the lock is a row of numbered files, and the highest number alone counts. A
 * number is taken with link(2), which only one can do, and the highest file is never deleted, only marked as released.
 * @throws DataDirInUse when a living process has it.
 */
export async function lockDataDir(dataDir: string): Promise<DataDirLock> {
  await mkdir(dataDir, { recursive: true, mode: 0o700 });
  const real = await realpath(dataDir);
  const folder = join(real, 'lock');
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const identity = await processIdentity(process.pid);
  if (identity === null) throw new Error('The data directory cannot be locked: this process is not in /proc.');
  const me: Holder = { pid: process.pid, identity, namespace: await pidNamespace() };
  const draft = join(folder, `draft-${randomUUID()}`);
  await writeFile(draft, JSON.stringify(me), { mode: 0o600 });
  try {
    const mine = await takeNumber(folder, draft, real, me.namespace);
    await removeBelow(folder, mine);
    return { dataDir: real, release: () => markReleased(folder, mine) };
  } finally {
    await rm(draft, { force: true });
  }
}

async function takeNumber(folder: string, draft: string, dataDir: string, namespace: string): Promise<number> {
  for (;;) {
    const highest = await highestNumber(folder);
    const holder = await livingHolder(dataDir, join(folder, String(highest)), namespace);
    if (holder !== null) throw new DataDirInUse(dataDir, holder.namespace === namespace ? holder.pid : null);
    const mine = highest + 1;
    try {
      await link(draft, join(folder, String(mine)));
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'EEXIST') continue;
      throw error;
    }
    if ((await highestNumber(folder)) === mine) return mine;
    // Others took and released this number and higher ones since it was read: it means nothing any more.
    await rm(join(folder, String(mine)), { force: true });
  }
}

async function livingHolder(dataDir: string, path: string, namespace: string): Promise<Holder | null> {
  const holder = parseHolder(await readFile(path, 'utf8').catch(() => ''));
  if (holder === null) return null;
  if (holder.namespace !== namespace) return (await answersFromElsewhere(dataDir)) ? holder : null;
  return (await processIdentity(holder.pid)) === holder.identity ? holder : null;
}

/** Whether a holder in another container, whose process cannot be seen, lives: then its PostgreSQL answers on the socket. */
async function answersFromElsewhere(dataDir: string): Promise<boolean> {
  const record = await readLastRecord(dataDir);
  return record !== null && somethingListens(record.socket_directory);
}

/** `null` for a released number, and for one whose content a crash of the machine has lost. */
function parseHolder(text: string): Holder | null {
  try {
    return JSON.parse(text) as Holder;
  } catch {
    return null;
  }
}

async function markReleased(folder: string, number: number): Promise<void> {
  const draft = join(folder, `draft-${randomUUID()}`);
  await writeFile(draft, '', { mode: 0o600 });
  await rename(draft, join(folder, String(number)));
}

async function numbers(folder: string): Promise<number[]> {
  return (await readdir(folder)).filter((name) => /^[1-9]\d*$/.test(name)).map(Number);
}

async function highestNumber(folder: string): Promise<number> {
  return Math.max(0, ...(await numbers(folder)));
}

async function removeBelow(folder: string, mine: number): Promise<void> {
  const old = (await numbers(folder)).filter((number) => number < mine);
  await Promise.all(old.map((number) => rm(join(folder, String(number)), { force: true })));
}

async function pidNamespace(): Promise<string> {
  return readlink('/proc/self/ns/pid').catch(() => '');
}
