import { LRUCache } from 'lru-cache';
import type { BlobIds, BlobKey, ContentCache } from '../../ports/content-cache.ts';
import type { Oid } from '../../ports/git-records.ts';

/** Which blobs of one repository the cache is known to hold; there may be more by now. */
export class BlobSet {
  readonly #byFormat: Map<string, Set<Oid>>;
  #size = 0;

  constructor(ids: BlobIds = new Map()) {
    this.#byFormat = ids as Map<string, Set<Oid>>;
    for (const oids of ids.values()) this.#size += oids.size;
  }

  get size(): number {
    return this.#size;
  }

  has({ oid, format }: BlobKey): boolean {
    return this.#byFormat.get(format)?.has(oid) ?? false;
  }

  add({ oid, format }: BlobKey): void {
    const oids = this.#byFormat.get(format) ?? new Set();
    this.#byFormat.set(format, oids);
    if (!oids.has(oid)) this.#size += 1;
    oids.add(oid);
  }
}

/** What the cache holds, remembered per repository. Rows go only with their project, so what is there stays there. */
export class StoredBlobs {
  readonly #cache: ContentCache;
  readonly #sets = new LRUCache<string, Promise<BlobSet | null>>({ max: 32 });

  constructor(cache: ContentCache) {
    this.#cache = cache;
  }

  /** null: the cache cannot say. */
  of(repository: string): Promise<BlobSet | null> {
    const known = this.#sets.get(repository);
    if (known) return known;
    const made = this.#cache.stored(repository).then((ids) => {
      if (ids === null) this.#sets.delete(repository);
      return ids && new BlobSet(ids);
    });
    this.#sets.set(repository, made);
    return made;
  }

  forget(repository: string): void {
    this.#sets.delete(repository);
  }
}
