import { LRUCache } from 'lru-cache';
import { upTo, VersionCache } from '../../../lib/version-cache.ts';
import type { Commit, Oid, TreeFile } from '../../../ports/git-records.ts';
import type { ListingBudget } from './file-listing.ts';
import type { ObjectFormat } from './object-id.ts';
import type { Tree } from './tree-codec.ts';

/** Characters of a path that is not long. */
const usualPath = 200;

/**
 * What all repositories of the process remember, bounded in total. Keys begin with the repository's id: an object one project stores
 * must not answer a question about another.
 */
export class ObjectCaches {
  /** Weighed in bytes. */
  readonly trees = new LRUCache<string, Tree>({
    maxSize: 24 * 1024 * 1024,
    sizeCalculation: (tree) => tree.raw.length + 200,
  });
  /** Weighed in files; one of a long path counts as several. */
  readonly listings = new LRUCache<string, readonly TreeFile[]>({
    maxSize: 600_000,
    sizeCalculation: (files) => {
      let size = 1;
      for (const { path } of files) size += 1 + Math.floor(path.length / usualPath);
      return size;
    },
  });
  /** Weighed in bytes: a commit keeps the text it was read from, headers that are not shown included. */
  readonly commits = new LRUCache<string, Commit>({ maxSize: 32 * 1024 * 1024 });
  /** Commits each of two has alone, by both. */
  readonly distances = new VersionCache<readonly [number, number]>({ versions: 10_000, subjects: 1 });
  /** Of blobs, bytes: a file tree needs all of them every time. */
  readonly sizes = new LRUCache<string, number>(upTo(50_000));
}

/** Where a snapshot gets its objects from: the repository, or a batch of commits that is not stored yet. */
export interface ObjectSource {
  readonly format: ObjectFormat;
  tree(oid: Oid): Promise<Tree>;
  blob(oid: Oid): Promise<Buffer>;
  /** Of objects in bytes; null for one that does not exist. */
  sizes(oids: Iterable<Oid>): Promise<Map<Oid, number | null>>;
  /** In the order requested. Fails with `not_found` at the first that does not exist. */
  blobs(oids: readonly Oid[]): AsyncIterable<{ oid: Oid; content: Buffer }>;
  commit(oid: Oid): Promise<Commit>;
  /** All files below a tree, their paths led by `prefix` ('' or ending in a slash). */
  listing(oid: Oid, prefix: string, budget?: ListingBudget): Promise<readonly TreeFile[]>;
}
