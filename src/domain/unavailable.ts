import { DriverException } from '@mikro-orm/core';
import { DomainError } from './errors.ts';

/** Codes of a database that cannot be reached or is going down: Node's socket errors, and PostgreSQL's classes 08, 57P and 53300. */
const awayCodes = /^(?:ECONN|EPIPE|ETIMEDOUT|ENOENT|ENOTFOUND|EAI_AGAIN|08|57P0[123]|53300)/;
/** pg has no code for these. */
const awayTexts =
  /^(?:Connection terminated|timeout exceeded when trying to connect|Client has encountered a connection error)/;

/** A fault of the connection to the database, as the refusal callers may try again after; every other error as it is. */
export function asUnavailable(error: unknown): unknown {
  if (error instanceof DomainError || !(error instanceof Error)) return error;
  const code = String((error as { code?: unknown }).code ?? '');
  const isAway = (error instanceof DriverException && awayCodes.test(code)) || awayTexts.test(error.message);
  return isAway
    ? new DomainError('unavailable', 'The database is away for a moment; try again', { cause: error })
    : error;
}
