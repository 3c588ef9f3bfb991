import type { MikroORM } from '@mikro-orm/postgresql';
import { DomainError } from '../domain/errors.ts';

/** Codes of PostgreSQL (appendix A) and of the network for a server that is gone, not up yet, or takes no connection. */
const lost =
  /^(57P0[123]|08[0-9A-Z]{3}|53300|ECONNREFUSED|ECONNRESET|ECONNABORTED|ENOENT|EPIPE|ETIMEDOUT|ENOTFOUND|EAI_AGAIN)$/;
/** pg has no code for these. */
const lostText =
  /^(Connection terminated|timeout exceeded when trying to connect|Client has encountered a connection error)/;

/** Whether a statement failed because there was no connection, and not for what it asked. */
function isLost(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const { code } = error as { code?: unknown };
  return (typeof code === 'string' && lost.test(code)) || lostText.test(error.message);
}

function asRefusal(error: unknown): unknown {
  if (!isLost(error)) return error;
  return new DomainError('unavailable', 'The database is away; try again in a moment', { cause: error });
}

/**
 * Turns errors of a connection that is lost, or cannot be made, into `DomainError('unavailable')`, so that every protocol says "later" and not
 * "fault". All statements pass the methods replaced here, and their errors the converter.
 */
export function refuseWithoutConnection(orm: MikroORM): void {
  const connection = orm.em.getConnection();
  const { begin, commit, execute } = connection;
  const rethrow = (error: unknown) => {
    throw asRefusal(error);
  };
  connection.begin = (...given) => begin.apply(connection, given).catch(rethrow);
  connection.commit = (...given) => commit.apply(connection, given).catch(rethrow);
  // The signature is generic in what the statement answers, and that passes through.
  connection.execute = ((...given: Parameters<typeof execute>) =>
    execute.apply(connection, given).catch(rethrow)) as typeof execute;
  const converter = orm.config.getPlatform().getExceptionConverter();
  const convert = converter.convertException.bind(converter);
  converter.convertException = (error) => (error instanceof DomainError ? (error as never) : convert(error));
}
