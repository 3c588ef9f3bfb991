import { DriverException } from '@mikro-orm/core';
import { DomainError } from './errors.ts';

/** Codes of a database that cannot be reached or is going down: Node's socket errors, and PostgreSQL's classes 08, 57P and 53300. */
const awayCodes = /^(?:ECONN|EPIPE|ETIMEDOUT|ENOENT|ENOTFOUND|EAI_AGAIN|08(?!P01)|57P0[123]|53300)/;
/** What PgBouncer says of every loss of its server, as a fatal error; a statement that is put together wrongly has the same code, as a plain one. */
const protocolViolation = '08P01';
/** pg has no code for these. */
const awayTexts =
  /^(?:Connection terminated|timeout exceeded when trying to connect|Client has encountered a connection error)/;

/**
 * A disk, a quota or a limit on files that is used up, of files and of PostgreSQL (appendix A, 53100 disk_full); or a file system that has become
 * read-only, as one does after a fault of its disk.
 */
const fullCodes = new Set(['ENOSPC', 'EDQUOT', 'EFBIG', '53100', 'EROFS']);
/** The same as the C library has it, as git and other programs pass it on. */
const fullTexts = /No space left on device|Disk quota exceeded|File too large|Read-only file system/;
const readOnly = /EROFS|Read-only file system/;

/** Whether an error of a program means that nothing more could be stored. */
export const saysFull = (stderr: string): boolean => fullTexts.test(stderr);

/** The error, or its cause, which is that nothing more can be stored; null without one. */
function fullCause(error: unknown): Error | null {
  for (let [cause, depth] = [error, 0]; cause instanceof Error && depth < 8; cause = cause.cause, depth += 1) {
    const { code } = cause as { code?: unknown };
    // The message of an error with a code may quote what was given.
    if (code === undefined ? saysFull(cause.message) : fullCodes.has(String(code))) return cause;
  }
  return null;
}

/** What a program such as git could not do has the reason in its cause; other refusals are about something else. */
const mayHideFull = (error: DomainError) => error.code === 'repository_unavailable' || error.code === 'unavailable';

export function storageFull(cause: unknown): DomainError {
  const full = fullCause(cause) as { code?: unknown; message: string } | null;
  const state = readOnly.test(String(full?.code ?? full?.message)) ? 'read-only' : 'full';
  return new DomainError('storage_full', `The disk of the server is ${state}: nothing was stored; try again later`, {
    cause,
  });
}

/**
 * A database that cannot be reached, and a disk that is full, as the refusals callers may try again after (`unavailable`, `storage_full`); every
 * other error as it is.
 */
export function asUnavailable(error: unknown): unknown {
  if (!(error instanceof Error)) return error;
  if (error instanceof DomainError)
    return mayHideFull(error) && fullCause(error.cause) ? storageFull(error.cause) : error;
  if (fullCause(error)) return storageFull(error);
  const { code = '', severity } = error as { code?: unknown; severity?: unknown };
  const hasAwayCode = code === protocolViolation ? severity === 'FATAL' : awayCodes.test(String(code));
  const isAway = (error instanceof DriverException && hasAwayCode) || awayTexts.test(error.message);
  return isAway
    ? new DomainError('unavailable', 'The database is away for a moment; try again', { cause: error })
    : error;
}

/** Whether an error is that of a database that is away, or of a disk that is full: both pass, and are no fault of the request. */
export function isAway(error: unknown): boolean {
  const known = asUnavailable(error);
  return known instanceof DomainError && (known.code === 'unavailable' || known.code === 'storage_full');
}
