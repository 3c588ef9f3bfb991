import { DomainError } from '../../kernel/errors.ts';
import type { FetchError, FetchFault } from '../../ports/fetcher.ts';
import type { HttpFailure } from '../../ports/http.ts';

/** A fault of one fetch on its way to becoming a result: the reason is the name the run shows. */
class CrawlFault extends Error {
  override name = 'CrawlFault';
  readonly error: FetchError;
  constructor(error: FetchError, message: string, cause?: unknown) {
    super(message, { cause });
    this.error = error;
  }
}

/** For `throw`, below the fetcher. */
export const crawlFault = (error: FetchError, message: string, cause?: unknown): Error =>
  new CrawlFault(error, message, cause);

/** The run's names for what the guarded client reports; total, so that a new reason has to be decided. */
const names: Record<HttpFailure, FetchError> = {
  blocked_address: 'blocked_address',
  invalid_url: 'internal',
  invalid_headers: 'internal',
  dns: 'dns',
  connect: 'connect',
  tls: 'tls',
  timeout: 'timeout',
  reset: 'reset',
  protocol: 'decode',
  redirect_invalid: 'internal',
  redirect_too_many: 'internal',
  body_truncated: 'body_truncated',
  body_too_large: 'body_too_large',
};

const passing: ReadonlySet<FetchError> = new Set(['dns', 'connect', 'timeout', 'reset', 'body_truncated']);
/** Resolver codes of names that do not exist; any other failure may be temporary. */
const absent = ['ENOTFOUND', 'ENODATA'];

/** The result for what a fetch threw; null when it is no fault of network or peer and has to be thrown on. */
export function asFault(thrown: unknown, spent: Pick<FetchFault, 'bytesWire' | 'durationMs'>): FetchFault | null {
  if (thrown instanceof CrawlFault) return fault(thrown.error, thrown.message, null, spent);
  if (!(thrown instanceof DomainError)) return null;
  const { reason, system } = thrown.details ?? {};
  if (typeof reason !== 'string' || !Object.hasOwn(names, reason)) return null;
  const code = typeof system === 'string' ? system : null;
  const name = code === 'UND_ERR_HEADERS_OVERFLOW' ? 'body_too_large' : names[reason as HttpFailure];
  return fault(name, thrown.message, code, spent);
}

function fault(
  error: FetchError,
  message: string,
  system: string | null,
  spent: Pick<FetchFault, 'bytesWire' | 'durationMs'>,
): FetchFault {
  const isAbsent = error === 'dns' && system !== null && absent.includes(system);
  const retries = passing.has(error) ? (isAbsent ? 1 : 3) : 0;
  return { ok: false, error, message, isRetryable: retries > 0, retries, ...spent };
}
