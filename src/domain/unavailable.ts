import { DriverException } from '@mikro-orm/core';
import { DomainError } from './errors.ts';

/** Codes of a database that cannot be reached or is going down: Node's socket errors, and PostgreSQL's classes 08, 57P and 53300. */
const awayCodes = /^(?:ECONN|EPIPE|ETIMEDOUT|ENOENT|ENOTFOUND|EAI_AGAIN|08(?!P01)|57P0[123]|53300)/;
/** What PgBouncer says of every loss of its server, as a fatal error; a statement that is put together wrongly has the same code, as a plain one. */
const protocolViolation = '08P01';
/** pg has no code for these. */
const awayTexts =
  /^(?:Connection terminated|timeout exceeded when trying to connect|Client has encountered a connection error)/;

/** A fault of the connection to the database, as the refusal callers may try again after; every other error as it is. */
export function asUnavailable(error: unknown): unknown {
  if (error instanceof DomainError || !(error instanceof Error)) return error;
  const { code = '', severity } = error as { code?: unknown; severity?: unknown };
  const hasAwayCode = code === protocolViolation ? severity === 'FATAL' : awayCodes.test(String(code));
  const isAway = (error instanceof DriverException && hasAwayCode) || awayTexts.test(error.message);
  return isAway
    ? new DomainError('unavailable', 'The database is away for a moment; try again', { cause: error })
    : error;
}
