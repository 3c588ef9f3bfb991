import { DomainError, type ErrorCode } from '../domain/errors.ts';
import { asUnavailable } from '../domain/unavailable.ts';

interface Refusal {
  status: number;
  headers: Record<string, string>;
  body: { message: string; error: true; code: ErrorCode; request_id: string };
}

interface ParserFault {
  code?: string;
  status?: number;
  type?: string;
  limit?: number;
}

/** Status and headers of what can go wrong before a document is read (RFC 9110 11.6.1). */
const known: Partial<Record<ErrorCode, [status: number, headers: Record<string, string>]>> = {
  invalid_request: [400, {}],
  unauthenticated: [401, { 'WWW-Authenticate': 'Bearer' }],
  method_not_allowed: [405, { Allow: 'GET, POST' }],
  too_large: [413, {}],
  unsupported_media: [415, {}],
  rate_limited: [429, { 'Retry-After': '1' }],
  unavailable: [503, { 'Retry-After': '1' }],
  storage_full: [503, { 'Retry-After': '30' }],
};

function asDomainError(thrown: unknown): DomainError | null {
  const error = asUnavailable(thrown);
  if (error instanceof DomainError) return error;
  const fault = error as ParserFault;
  if (fault?.type === 'entity.too.large') {
    return new DomainError('too_large', `body: must be at most ${fault.limit} bytes`);
  }
  if (fault?.type === 'entity.parse.failed') return new DomainError('invalid_request', 'body: is not valid JSON');
  if (fault?.status === 415) {
    return new DomainError('unsupported_media', 'body: its encoding is not supported; send UTF-8, plain or gzip');
  }
  if (fault?.code?.startsWith('Z_')) return new DomainError('invalid_request', 'body: is not valid gzip');
  if (fault?.status === 400) return new DomainError('invalid_request', 'body: ended before its announced length');
  return null;
}

/** The answer to a request that does not reach GraphQL: the body every other part of the API gives. */
export function refusalOf(error: unknown, request_id: string): Refusal {
  const fault = asDomainError(error);
  const shown = fault && known[fault.code] ? fault : new DomainError('internal', 'Something went wrong');
  const [status, headers] = known[shown.code] ?? [500, {}];
  return { status, headers, body: { message: shown.message, error: true, code: shown.code, request_id } };
}
