import { DomainError } from '../../../kernel/errors.ts';
import { saysFull } from '../../../kernel/unavailable.ts';
import type { UpstreamFailure } from '../../../ports/git-transfer.ts';

/** Of a source or an upstream, with what to do. */
export const incomplete =
  'lacks a part of its history, as a shallow clone does; complete it there: git fetch --unshallow';

/** Why a fetch brought nothing. */
type FetchFailure = UpstreamFailure | 'damaged' | 'incomplete';

const sentences: Record<FetchFailure, string> = {
  auth_failed: 'The upstream did not accept the sign-in, or needs one',
  unreachable: 'The upstream could not be reached, or has no such repository',
  timeout: 'The upstream took too long',
  damaged: 'The upstream contains damaged or unsafe objects',
  incomplete: `The upstream ${incomplete}`,
};

/** The error for what stopped a fetch, `details.reason` names it. */
export function upstreamError(reason: FetchFailure): DomainError {
  return new DomainError('upstream_unavailable', sentences[reason], { details: { reason } });
}

/** The error for an upstream that has more branches than a mirror may have. @param most that it may have */
export const tooManyBranches = (most: number): DomainError =>
  new DomainError(
    'upstream_unavailable',
    `The upstream has more than ${most.toLocaleString('en')} branches, which is more than a mirror may have; delete some there`,
    { details: { reason: 'too_many_branches' } },
  );

/** Whether our disk is full, not that of the other side. @param stderr of a git that fetched */
export const isStorageFull = (stderr: string): boolean => saysFull(stderr.replace(/^remote: .*$/gm, ''));

/** Whether git refused what the other side sent. */
export function isDamage(stderr: string): boolean {
  return /^(error|fatal): (object [0-9a-f]+: |fsck error)/m.test(stderr);
}

/**
 * Whether the other side lacks a part of the history it was to send. Of a shallow clone git passes over the refs concerned and ends with success all
 * the same, so that they hold what an earlier fetch found; only over http without protocol version 2 does it fail.
 */
export const isIncomplete = (stderr: string): boolean =>
  /^warning: rejected refs\/|^error: .* did not send all necessary objects$/m.test(stderr);

/** From git's English words (LC_ALL=C); they go to the log and no further. */
export function failureOf(stderr: string): UpstreamFailure {
  if (
    /Authentication failed|could not read (Username|Password)|returned error: 40[13]\b|Permission denied/.test(stderr)
  )
    return 'auth_failed';
  if (/timed out|Operation too slow|Timeout was reached/i.test(stderr)) return 'timeout';
  return 'unreachable';
}
