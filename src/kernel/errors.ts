/**
 * Every way an operation can refuse, in the words callers see as `code`. Each protocol owns a total map from these to its own
 * status, so a code added here does not compile until every protocol has answered for it.
 */
export const errorCodes = [
  'invalid_request',
  'invalid_path',
  'invalid_filter',
  'unauthenticated',
  'forbidden',
  'reauthentication_required',
  'verification_required',
  'branch_protected',
  'not_found',
  'method_not_allowed',
  'request_timeout',
  'already_exists',
  'sha_mismatch',
  'version_mismatch',
  'merge_conflict',
  'name_collision',
  'in_use',
  'protected',
  'limit_reached',
  'not_mergeable',
  'checks_failed',
  'not_fast_forward',
  'branch_moved',
  'upstream_diverged',
  'conflict',
  'busy',
  'precondition_failed',
  'too_large',
  'uri_too_long',
  'unsupported_media',
  'validation_failed',
  'frontmatter_invalid',
  'not_editable',
  'invalid_name',
  'no_common_ancestor',
  'nothing_to_merge',
  'idempotency_mismatch',
  'precondition_required',
  'rate_limited',
  'tokens_used',
  'repository_unavailable',
  'upstream_unavailable',
  'git_timeout',
  'model_unavailable',
  'unavailable',
  'storage_full',
  'internal',
] as const;

export type ErrorCode = (typeof errorCodes)[number];

/** One fault of one field: `field` is a JSON Pointer (RFC 6901) into the input. */
export interface FieldError {
  field: string;
  code: string;
  message: string;
  line?: number;
  column?: number;
}

export interface ErrorDetails {
  errors?: FieldError[];
  [key: string]: unknown;
}

/** A refusal meant for the caller: `message` and `details` are shown, `cause` goes to the log only. */
export class DomainError extends Error {
  readonly code: ErrorCode;
  readonly details: ErrorDetails | undefined;

  constructor(code: ErrorCode, message: string, options: { details?: ErrorDetails; cause?: unknown } = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = 'DomainError';
    this.code = code;
    this.details = options.details;
  }
}

/**
 * The usual refusal of one field; the message starts with the field's dotted name.
 * @param reason says more about the field than the error's own code
 */
export function fieldError(code: ErrorCode, field: string, problem: string, reason: string = code): DomainError {
  const pointer = `/${field.split('.').join('/')}`;
  return new DomainError(code, `${field}: ${problem}`, {
    details: { errors: [{ field: pointer, code: reason, message: problem }] },
  });
}
