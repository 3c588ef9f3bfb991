import { GraphQLError, type GraphQLFormattedError } from 'graphql';
import { DomainError, type ErrorCode } from '../kernel/errors.ts';
import { asUnavailable } from '../kernel/unavailable.ts';
import type { Log } from '../ports/log.ts';
import { LimitError } from './limits/limits.ts';

/** Every `extensions.code` a client may see. */
export type GraphqlCode =
  | 'UNAUTHENTICATED'
  | 'FORBIDDEN'
  | 'NOT_FOUND'
  | 'BAD_USER_INPUT'
  | 'CONFLICT'
  | 'UNPROCESSABLE'
  | 'PAYLOAD_TOO_LARGE'
  | 'RATE_LIMITED'
  | 'UNAVAILABLE'
  | 'REAUTHENTICATION_REQUIRED'
  | 'GRAPHQL_PARSE_FAILED'
  | 'GRAPHQL_VALIDATION_FAILED'
  | 'LIMIT_EXCEEDED'
  | 'INTERNAL';

/** GraphQL's code for every refusal; total, so that a new code needs its row here. */
export const codeOf: Record<ErrorCode, GraphqlCode> = {
  invalid_request: 'BAD_USER_INPUT',
  invalid_path: 'BAD_USER_INPUT',
  invalid_filter: 'BAD_USER_INPUT',
  unauthenticated: 'UNAUTHENTICATED',
  forbidden: 'FORBIDDEN',
  reauthentication_required: 'REAUTHENTICATION_REQUIRED',
  verification_required: 'FORBIDDEN',
  branch_protected: 'FORBIDDEN',
  not_found: 'NOT_FOUND',
  method_not_allowed: 'BAD_USER_INPUT',
  request_timeout: 'LIMIT_EXCEEDED',
  already_exists: 'CONFLICT',
  sha_mismatch: 'CONFLICT',
  version_mismatch: 'CONFLICT',
  merge_conflict: 'CONFLICT',
  name_collision: 'CONFLICT',
  in_use: 'CONFLICT',
  protected: 'CONFLICT',
  limit_reached: 'CONFLICT',
  not_mergeable: 'CONFLICT',
  checks_failed: 'CONFLICT',
  not_fast_forward: 'CONFLICT',
  branch_moved: 'CONFLICT',
  upstream_diverged: 'CONFLICT',
  conflict: 'CONFLICT',
  busy: 'CONFLICT',
  precondition_failed: 'CONFLICT',
  too_large: 'PAYLOAD_TOO_LARGE',
  uri_too_long: 'PAYLOAD_TOO_LARGE',
  unsupported_media: 'BAD_USER_INPUT',
  validation_failed: 'UNPROCESSABLE',
  frontmatter_invalid: 'UNPROCESSABLE',
  not_editable: 'UNPROCESSABLE',
  invalid_name: 'UNPROCESSABLE',
  no_common_ancestor: 'UNPROCESSABLE',
  nothing_to_merge: 'UNPROCESSABLE',
  idempotency_mismatch: 'UNPROCESSABLE',
  precondition_required: 'BAD_USER_INPUT',
  rate_limited: 'RATE_LIMITED',
  tokens_used: 'RATE_LIMITED',
  repository_unavailable: 'UNAVAILABLE',
  upstream_unavailable: 'UNAVAILABLE',
  git_timeout: 'UNAVAILABLE',
  model_unavailable: 'UNAVAILABLE',
  unavailable: 'UNAVAILABLE',
  storage_full: 'UNAVAILABLE',
  internal: 'INTERNAL',
};

/** Apollo's words for faults of the request itself. */
const protocolCodes: Record<string, GraphqlCode> = {
  GRAPHQL_PARSE_FAILED: 'GRAPHQL_PARSE_FAILED',
  GRAPHQL_VALIDATION_FAILED: 'GRAPHQL_VALIDATION_FAILED',
  OPERATION_RESOLUTION_FAILURE: 'GRAPHQL_VALIDATION_FAILED',
  BAD_USER_INPUT: 'BAD_USER_INPUT',
  BAD_REQUEST: 'BAD_USER_INPUT',
  PERSISTED_QUERY_NOT_FOUND: 'BAD_USER_INPUT',
  PERSISTED_QUERY_NOT_SUPPORTED: 'BAD_USER_INPUT',
};

/** The recipient of an error, and the log for its cause. */
export interface ErrorAudience {
  request_id: string;
  /** Suggestions of names are removed for anonymous callers. */
  anonymous: boolean;
  log: Log;
}

type Shown = { message: string; code: GraphqlCode; reason: ErrorCode; details?: object };

const wentWrong: Shown = { message: 'Something went wrong', code: 'INTERNAL', reason: 'internal' };

/** The error a resolver threw, below what the executor wrapped around it. */
export function causeOf(error: unknown): unknown {
  let cause = error;
  while (cause instanceof GraphQLError && cause.originalError) cause = cause.originalError;
  return cause;
}

/** How the library ends its search for fields that could not be merged: it names no reason. */
const tooManyComparisons = 'Validation aborted.';
const tooManyTokens = /^Syntax Error: Document contains more tha[nt] \d+ tokens/;

/** A limit that the library found to be passed, and says in words of its own. */
function limitOf(message: string): LimitError | null {
  if (tooManyTokens.test(message)) return new LimitError('tokens');
  return message === tooManyComparisons ? new LimitError('comparisons') : null;
}

function show(formatted: GraphQLFormattedError, error: unknown, audience: ErrorAudience): Shown {
  const cause = asUnavailable(causeOf(error));
  if (cause instanceof DomainError) {
    if (cause.cause !== undefined) {
      const { request_id, log } = audience;
      log.warn({ err: cause.cause, request_id, code: cause.code }, cause.message);
    }
    const { message, code: reason, details } = cause;
    return { message, code: codeOf[reason], reason, ...(details && { details }) };
  }
  const limit = limitOf(formatted.message) ?? cause;
  if (limit instanceof LimitError) {
    const { message, details } = limit;
    return { message, code: 'LIMIT_EXCEEDED', reason: 'invalid_request', details };
  }
  const code =
    protocolCodes[String(formatted.extensions?.code)] ?? (isArgumentFault(error) ? ('BAD_USER_INPUT' as const) : null);
  if (code) return { message: formatted.message, code, reason: 'invalid_request' };
  audience.log.error({ err: cause, request_id: audience.request_id }, 'GraphQL request failed');
  return wentWrong;
}

/** Whether an error is the executor's own refusal of an argument; what a resolver throws, or fails to return, has a cause of another class. */
export function isArgumentFault(error: unknown): boolean {
  const cause = causeOf(error);
  return cause instanceof GraphQLError && cause.message.startsWith('Argument ');
}

/** Names and values of the document are quoted in messages; a document may be all one name. */
const maxMessage = 2_000;

function withoutSuggestion(message: string): string {
  const at = message.endsWith('?') ? message.indexOf('Did you mean ') : -1;
  return at === -1 ? message : message.slice(0, at).trimEnd();
}

/** The error a client sees: a sentence, its place in the document, and `{code, reason, details, request_id}`; no stack, no cause. */
export function formatError(
  formatted: GraphQLFormattedError,
  error: unknown,
  audience: ErrorAudience,
): GraphQLFormattedError {
  const { message, code, reason, details } = show(formatted, error, audience);
  return {
    message: (audience.anonymous ? withoutSuggestion(message) : message).slice(0, maxMessage),
    ...(formatted.locations && { locations: formatted.locations }),
    ...(formatted.path && { path: formatted.path }),
    extensions: { code, reason, ...(details && { details }), request_id: audience.request_id },
  };
}
