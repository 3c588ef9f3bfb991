import type { Commit, Oid, TreeFile } from '../../../ports/git-records.ts';
import type { ListingBudget } from './file-listing.ts';
import type { ObjectFormat } from './object-id.ts';
import type { Tree } from './tree-codec.ts';

/** Where a snapshot gets its objects from: the repository, or a batch of commits that is not stored yet. */
export interface ObjectSource {
  readonly format: ObjectFormat;
  tree(oid: Oid): Promise<Tree>;
  blob(oid: Oid): Promise<Buffer>;
  /** In the order asked. Fails with `not_found` at the first that is not there. */
  blobs(oids: readonly Oid[]): AsyncIterable<{ oid: Oid; content: Buffer }>;
  commit(oid: Oid): Promise<Commit>;
  /** All files below a tree, their paths led by `prefix` ('' or ending in a slash). */
  listing(oid: Oid, prefix: string, budget?: ListingBudget): Promise<readonly TreeFile[]>;
  /** Whether `listing` would answer from memory. */
  knowsListing(oid: Oid, prefix: string): boolean;
}
