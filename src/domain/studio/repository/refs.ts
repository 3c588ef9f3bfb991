import { createHash } from 'node:crypto';
import { z } from 'zod';
import { DomainError, fieldError } from '../../../kernel/errors.ts';
import type { Window } from '../../../kernel/paging.ts';
import type { Repository } from '../../../ports/git.ts';
import type { Oid, Snapshot } from '../../../ports/git-records.ts';
import { checkRefName } from '../ref-name.ts';

/** Input of every read: a branch by name, or a commit by its full id. */
export const refInput = {
  branch: z.string().optional().describe('Branch; default: the default branch'),
  ref: z.string().optional().describe('Full commit id instead of a branch'),
};

/** Input of every write. */
export const branchInput = {
  branch: z.string().optional().describe('Branch to write to; default: the default branch'),
};

const oidPattern = /^(?:[0-9a-f]{40}|[0-9a-f]{64})$/;
export const isOid = (text: string) => oidPattern.test(text);

/** The object id that a file of these bytes has. @param like an object id of the repository, by which its format is known */
export const blobOid = (bytes: Buffer, like: Oid): Oid =>
  createHash(like.length === 64 ? 'sha256' : 'sha1')
    .update(`blob ${bytes.length}\0`)
    .update(bytes)
    .digest('hex');

const unknownBranch = (branch: string) => new DomainError('not_found', `branch: ${branch} does not exist`);

/**
 * The commit that a branch's name or a full commit id stands for.
 * @throws DomainError `not_found`, `invalid_name`
 */
export async function commitNamed(git: Repository, field: string, text: string): Promise<string> {
  if (isOid(text) && (await git.isReachable(text))) return text;
  const head = await git.head(checkRefName(field, text));
  if (head) return head;
  throw new DomainError('not_found', `${field}: ${text} is neither a branch nor a reachable commit`);
}

/** The branch a write goes to. */
export async function branchOf(git: Repository, branch: string | undefined): Promise<string> {
  return branch === undefined ? git.defaultBranch() : checkRefName('branch', branch);
}

/**
 * The commit a read is about; null for a repository that has none yet.
 * @throws DomainError `not_found` for an unknown branch, or a ref that is no full id reachable from a visible ref.
 */
export async function commitOf(
  git: Repository,
  input: { branch?: string | undefined; ref?: string | undefined },
): Promise<string | null> {
  if (input.ref !== undefined) {
    if (input.branch !== undefined) throw fieldError('invalid_request', 'ref', 'excludes branch; give one of the two');
    if (isOid(input.ref) && (await git.isReachable(input.ref))) return input.ref;
    throw new DomainError(
      'not_found',
      'ref: must be the full id of a commit that a branch, tag or pull request reaches',
    );
  }
  const wanted = await branchOf(git, input.branch);
  const head = await git.head(wanted);
  if (head) return head;
  if (wanted === (await git.defaultBranch()) && (await git.branches()).length === 0) return null;
  throw unknownBranch(wanted);
}

/** The tree a read is about. */
export async function snapshotOf(
  git: Repository,
  input: { branch?: string | undefined; ref?: string | undefined },
): Promise<Snapshot> {
  return git.snapshot(await commitOf(git, input));
}

/**
 * The tree a page of a list is about: the one its cursor was given out at, while that can be reached, so that pages never overlap.
 * @throws DomainError `invalid_request` for a cursor of a commit that is gone
 */
export async function pageSnapshot(
  git: Repository,
  { version }: Pick<Window, 'version'>,
  input: { branch?: string | undefined; ref?: string | undefined },
): Promise<Snapshot> {
  if (version === null) return snapshotOf(git, input);
  if (await git.isReachable(version)) return git.snapshot(version);
  throw fieldError('invalid_request', 'after', 'names a version of the list that is gone; begin again without it');
}

/**
 * Checks before a write is queued that its branch can take it: it exists, or the repository is empty and it is the default one.
 * @returns the branch's short name.
 */
export async function writableBranch(git: Repository, branch: string | undefined): Promise<string> {
  const wanted = await branchOf(git, branch);
  if (await git.head(wanted)) return wanted;
  if (wanted === (await git.defaultBranch()) && (await git.branches()).length === 0) return wanted;
  throw unknownBranch(wanted);
}
