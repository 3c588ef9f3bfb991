import { randomUUID } from 'node:crypto';
import { mkdir, rm, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { DomainError } from '../kernel/errors.ts';
import { asUnavailable } from '../kernel/unavailable.ts';

/** A start that cannot go on; the message is for the person who started it, and says what to do. */
export class StartError extends Error {
  override name = 'StartError';
}

const elsewhere = 'or set PORTICO_DATA_DIR to another directory';

/** Enough that a file system with no free block refuses it. */
const probeBytes = 64 * 1024;

async function refusedWrite(dataDir: string, code: string): Promise<string> {
  if (code === 'EROFS')
    return `The data directory ${dataDir} is on a read-only file system. Mount it writable, ${elsewhere}.`;
  if (code === 'ENOSPC' || code === 'EDQUOT')
    return `The data directory ${dataDir} has no space left (${code}). Free some, ${elsewhere}.`;
  if (code === 'EACCES' || code === 'EPERM') {
    const owner = await stat(dataDir).then(
      ({ uid }) => `, it belongs to user ${uid}`,
      () => '',
    );
    const who = `user ${process.geteuid?.()}, as which Portico runs, may not write there${owner}`;
    return `The data directory ${dataDir} cannot be used: ${who} (${code}). Give it to that user, ${elsewhere}.`;
  }
  return `The data directory ${dataDir} cannot be used (${code}). Correct that, ${elsewhere}.`;
}

/**
 * Makes the data directory, and writes a file in it to see that files can be written.
 * @throws StartError that names the directory and the reason.
 */
export async function prepareDataDir(dataDir: string): Promise<void> {
  const probe = path.join(dataDir, `.probe-${randomUUID()}`);
  try {
    await mkdir(dataDir, { recursive: true, mode: 0o700 });
    try {
      await writeFile(probe, Buffer.alloc(probeBytes), { flag: 'wx', mode: 0o600, flush: true });
    } finally {
      await rm(probe, { force: true });
    }
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === undefined) throw error;
    throw new StartError(await refusedWrite(dataDir, code), { cause: error });
  }
}

/** Why a database cannot be used, as its server says (PostgreSQL, appendix A). */
const databaseFaults: Record<string, (message: string) => string> = {
  '28P01': (message) => `refuses the user of DATABASE_URL: ${message}. Correct the user or its password`,
  '28000': (message) => `refuses the user of DATABASE_URL: ${message}. Correct the user, or the server's pg_hba.conf`,
  '3D000': (message) => `refuses the connection: ${message}. Create it, or correct the name in DATABASE_URL`,
  '42501': (message) =>
    `lacks rights: ${message}. Give the user of DATABASE_URL the right to create tables and schemas`,
  '25006': (message) => `is read-only: ${message}. DATABASE_URL must name the primary server`,
  '53100': (message) => `has no space left: ${message}. Free some on the disk of the database`,
};

/** What made a database fail at a start, in words for the person who started it; other errors as they are. */
export function databaseStartError(thrown: unknown): unknown {
  const { code = '', message = '' } = thrown as { code?: string; message?: string };
  const text = databaseFaults[code]?.(message.replace(/^.* - /s, ''));
  if (text !== undefined) return new StartError(`The database ${text}.`, { cause: thrown });
  const error = asUnavailable(thrown);
  if (!(error instanceof DomainError) || error.code !== 'unavailable') return thrown;
  const cause = error.cause as { code?: string; message: string };
  return new StartError(`The database cannot be reached (${cause.code ?? cause.message}); see DATABASE_URL`, {
    cause: thrown,
  });
}
