import { LRUCache } from 'lru-cache';
import { upTo } from '../../../lib/lru-size.ts';
import type { Commit, TreeFile } from '../../../ports/git-records.ts';
import type { Tree } from './tree-codec.ts';

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
  /** Weighed in files. */
  readonly listings = new LRUCache<string, readonly TreeFile[]>({
    maxSize: 600_000,
    sizeCalculation: (files) => files.length + 1,
  });
  readonly commits = new LRUCache<string, Commit>(upTo(20_000));
  /** Of blobs, bytes: a file tree asks for all of them every time. */
  readonly sizes = new LRUCache<string, number>(upTo(50_000));
}
