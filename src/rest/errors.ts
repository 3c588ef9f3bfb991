import type { RequestHandler } from 'express';
import { DomainError, type ErrorCode, type ErrorDetails } from '../kernel/errors.ts';
import { asUnavailable } from '../kernel/unavailable.ts';

/** HTTP status of every refusal; total, so that a new code has to be answered for here. */
export const statusOf: Record<ErrorCode, number> = {
  invalid_request: 400,
  invalid_path: 400,
  invalid_filter: 400,
  unauthenticated: 401,
  forbidden: 403,
  reauthentication_required: 403,
  verification_required: 403,
  branch_protected: 403,
  not_found: 404,
  method_not_allowed: 405,
  request_timeout: 408,
  already_exists: 409,
  sha_mismatch: 409,
  version_mismatch: 409,
  merge_conflict: 409,
  name_collision: 409,
  in_use: 409,
  protected: 409,
  limit_reached: 409,
  not_mergeable: 409,
  checks_failed: 409,
  not_fast_forward: 409,
  branch_moved: 409,
  upstream_diverged: 409,
  conflict: 409,
  busy: 409,
  precondition_failed: 412,
  too_large: 413,
  uri_too_long: 414,
  unsupported_media: 415,
  validation_failed: 422,
  frontmatter_invalid: 422,
  not_editable: 422,
  invalid_name: 422,
  no_common_ancestor: 422,
  nothing_to_merge: 422,
  idempotency_mismatch: 422,
  precondition_required: 428,
  rate_limited: 429,
  tokens_used: 429,
  repository_unavailable: 503,
  upstream_unavailable: 503,
  git_timeout: 503,
  model_unavailable: 503,
  unavailable: 503,
  storage_full: 503,
  internal: 500,
};

export interface ErrorBody {
  message: string;
  error: true;
  code: ErrorCode;
  details?: ErrorDetails;
  request_id: string;
}

/** Headers that belong to a refusal (RFC 9110 11.6.1, 10.2.3). */
export function errorHeaders({ code, details }: Pick<DomainError, 'code' | 'details'>): Record<string, string> {
  if (typeof details?.retry_after === 'number') return { 'Retry-After': String(details.retry_after) };
  if (code === 'unauthenticated') return { 'WWW-Authenticate': 'Bearer' };
  if (code === 'storage_full') return { 'Retry-After': '30' };
  if (code === 'rate_limited' || statusOf[code] === 503) return { 'Retry-After': '1' };
  return {};
}

export function errorBody(error: DomainError, requestId: string): ErrorBody {
  return {
    message: error.message,
    error: true,
    code: error.code,
    ...(error.details && { details: error.details }),
    request_id: requestId,
  };
}

/**
 * Answers a known path with an unsupported method: OPTIONS is 204, all others are 405, both with `Allow` (RFC 9110 9.3.7, 15.5.6).
 * @param known methods of the path
 */
export const otherMethods =
  (known: readonly string[]): RequestHandler =>
  (request, response) => {
    const allow = known.join(', ');
    response.set('Allow', allow);
    if (request.method === 'OPTIONS') return void response.status(204).end();
    const error = new DomainError('method_not_allowed', `Method not allowed; allowed: ${allow}`);
    response.status(statusOf[error.code]).json(errorBody(error, String(response.getHeader('X-Request-Id'))));
  };

/** For paths that are only read. */
export const onlyGet = otherMethods(['GET', 'HEAD']);

interface ParserFault {
  code?: string;
  status?: number;
  type?: string;
  limit?: number;
}

/** Maps errors of Express and its body parser to domain errors; null when it is a fault of the service. */
export function asDomainError(thrown: unknown): DomainError | null {
  const error = asUnavailable(thrown);
  if (error instanceof DomainError) return error;
  if (error instanceof URIError) return new DomainError('invalid_path', 'The path is not valid percent-encoded UTF-8');
  const fault = error as ParserFault;
  switch (fault?.type) {
    case 'entity.parse.failed':
      return new DomainError('invalid_request', 'body: is not valid JSON');
    case 'entity.too.large':
      return new DomainError('too_large', `body: must be at most ${fault.limit} bytes`);
    case 'encoding.unsupported':
    case 'charset.unsupported':
      return new DomainError('unsupported_media', 'body: its encoding is not supported; send UTF-8, plain or gzip');
    case 'request.aborted':
    case 'request.size.invalid':
      return new DomainError('invalid_request', 'body: ended before its announced length');
  }
  if (fault?.code?.startsWith('Z_')) return new DomainError('invalid_request', 'body: is not valid gzip');
  if (fault?.status === 400) return new DomainError('invalid_path', 'The path is not valid percent-encoded UTF-8');
  return null;
}
