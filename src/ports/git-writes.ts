import type { Commit, MergedTree, Mode, Oid, Snapshot, StoredBlob } from './git-records.ts';

export interface Change {
  path: string;
  /** null deletes the file. */
  content: Buffer | Pick<StoredBlob, 'oid'> | null;
  /** Default: the mode the file has, else 100644. */
  mode?: Mode;
}

/** Characters (UTF-16) that the message of a commit or annotated tag may have, whatever the protocol. */
export const longestMessage = 65_536;

/** A tree while a commit is planned. */
export interface StagedTree extends Snapshot {
  /**
   * The tree with changes laid over it, as a commit of them would have it. Nothing is stored: a plan still has to name all its changes.
   * Fails as the commit would.
   */
  with(changes: readonly Change[]): Promise<StagedTree>;
}

/** One writer's changes to the head it was given. Nothing changed and no further parents: no commit is made. */
export interface CommitPlan<T> {
  changes: Change[];
  message: string;
  result: T;
  /** The tree the changes apply to, in place of the head's: the result of a merge. */
  tree?: MergedTree;
  /** Stored commits that become parents after the head: one for a merge commit, none for a squash. */
  parents?: Oid[];
  /**
   * In place of a commit the branch moves to this one; `changes` is empty then. Already part of the branch: nothing happens. The writer
   * gets `not_fast_forward` when it does not descend from the head.
   */
  fast_forward_to?: Oid;
  /** What branches must hold (short names; null: not exist) at the moment this one moves; otherwise the writer gets `branch_moved`. */
  expect?: Record<string, Oid | null>;
}

export interface CommitRequest<T> {
  /** Short branch name. A branch without a commit is only created when the repository is empty and the branch is the default one. */
  branch: string;
  author: { name: string; email: string };
  /**
   * The head shown to `plan` must be stored, not one that a writer in front of it is about to store: for plans that give its oid to
   * `mergeTrees`, `mergeBase` or `diff`. Costs a round of its own.
   */
  stored_head?: boolean;
  /**
   * Called with the branch as it will be the parent of this commit; called again when another process moved the branch meanwhile.
   * What it throws is thrown to this writer alone. Once its time is over the signal aborts and the writer gets `git_timeout`: others wait.
   */
  plan(head: StagedTree, signal: AbortSignal): Promise<CommitPlan<T>>;
  /** Milliseconds that `plan` may take; at most, and by default, 120 s. */
  time?: number;
}

export interface Committed<T> {
  /** The new commit, or the one the branch was moved to; null when nothing moved. */
  commit: Commit | null;
  /** The head the plan was made on, or the new commit: the state the answer describes. */
  snapshot: Snapshot;
  result: T;
}

/** Moves a ref the service keeps for itself. */
export interface InternalRefUpdate {
  /** `refs/pull/<n>/head` (fetchable, never pushable) or below `refs/portico/` (hidden). */
  name: string;
  /** null deletes it. */
  to: Oid | null;
  /** What it must hold; null: it must not exist. Absent: whatever it holds. */
  from?: Oid | null;
}
