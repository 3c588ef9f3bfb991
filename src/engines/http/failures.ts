import { DomainError, type ErrorCode } from '../../kernel/errors.ts';
import type { HttpFailure } from '../../ports/http.ts';

const codes: Record<HttpFailure, ErrorCode> = {
  blocked_address: 'invalid_request',
  invalid_url: 'invalid_request',
  invalid_headers: 'invalid_request',
  dns: 'upstream_unavailable',
  connect: 'upstream_unavailable',
  tls: 'upstream_unavailable',
  timeout: 'upstream_unavailable',
  reset: 'upstream_unavailable',
  protocol: 'upstream_unavailable',
  redirect_invalid: 'upstream_unavailable',
  redirect_too_many: 'upstream_unavailable',
  body_truncated: 'upstream_unavailable',
  body_too_large: 'too_large',
};

/** Most bytes of an answer's headers. */
export const maxHeaderBytes = 64 * 1024;

/** A failed call as the port promises it: the code that belongs to the reason, the reason and the system's code in `details`. */
export function httpFailure(reason: HttpFailure, message: string, cause?: unknown): DomainError {
  const system = systemCode(cause);
  return new DomainError(codes[reason], message, { details: system === null ? { reason } : { reason, system }, cause });
}

/** What undici or node threw, in the port's terms; `begun` when the response's headers had arrived. */
export function asHttpFailure(error: unknown, host: string, begun: boolean): DomainError {
  if (error instanceof DomainError) return error;
  const code = systemCode(error) ?? '';
  if (/TIMEOUT|ETIMEDOUT/.test(code)) return httpFailure('timeout', `${host}: no answer in time`, error);
  if (/^UND_ERR_INVALID_ARG$|^ERR_INVALID|^UND_ERR_REQ_CONTENT/.test(code)) {
    return httpFailure('invalid_headers', `${host}: the request's method or headers cannot be sent`, error);
  }
  // Not every parser error of undici carries its HPE_ code.
  const unparsed =
    (error instanceof Error && error.name === 'HTTPParserError') ||
    /^HPE_|HEADERS_OVERFLOW|RES_CONTENT_LENGTH_MISMATCH/.test(code);
  if (unparsed && !begun) {
    const isTooLong = code === 'UND_ERR_HEADERS_OVERFLOW';
    const problem = isTooLong ? `the headers are larger than ${maxHeaderBytes} bytes` : 'the answer is not valid HTTP';
    return httpFailure('protocol', `${host}: ${problem}`, error);
  }
  if (begun) return httpFailure('body_truncated', `${host}: the answer ended too early`, error);
  return httpFailure('reset', `${host}: the connection was closed before an answer`, error);
}

/** A connection that did not come about; `tls` when TCP stood already and the handshake failed. */
export function asConnectFailure(error: unknown, host: string, handshake: boolean): DomainError {
  if (error instanceof DomainError) return error;
  if (/TIMEOUT|ETIMEDOUT/.test(systemCode(error) ?? ''))
    return httpFailure('timeout', `${host}: no connection in time`, error);
  if (handshake)
    return httpFailure('tls', `${host}: no secure connection (${systemCode(error) ?? 'TLS error'})`, error);
  return httpFailure('connect', `${host}: no connection`, error);
}

/** The `code` of an error, or of the first of an AggregateError (several addresses were tried). */
function systemCode(error: unknown): string | null {
  if (!(error instanceof Error)) return null;
  if ('code' in error && typeof error.code === 'string') return error.code;
  return error instanceof AggregateError ? systemCode(error.errors[0]) : null;
}
