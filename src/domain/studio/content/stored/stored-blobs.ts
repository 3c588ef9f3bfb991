import { LRUCache } from 'lru-cache';
import type { BlobKey, ContentCache, StoredBlob } from '../../../../ports/content-cache.ts';
import type { Oid } from '../../../../ports/git-records.ts';

/**
 * For so long what is known to be stored is taken to be there; milliseconds. Rows go with their project, by an operator's hand, or an hour and more
 * after they were retired and so not said to be stored any more.
 */
const trusted = 60_000;

/** Which blobs of one repository are known to be stored, and their numbers; there may be more by now. */
export class BlobNumbers {
  readonly #byFormat = new Map<string, Map<Oid, number>>();

  get({ oid, format }: BlobKey): number | undefined {
    return this.#byFormat.get(format)?.get(oid);
  }

  add({ oid, format, number }: StoredBlob): void {
    const numbers = this.#byFormat.get(format) ?? new Map();
    this.#byFormat.set(format, numbers);
    numbers.set(oid, number);
  }
}

/** What the cache holds, remembered per repository. */
export class StoredBlobs {
  readonly #cache: ContentCache;
  readonly #known = new LRUCache<string, Promise<BlobNumbers | null>>({ max: 32, ttl: trusted });

  constructor(cache: ContentCache) {
    this.#cache = cache;
  }

  /** null: the cache cannot say. */
  of(repository: string): Promise<BlobNumbers | null> {
    const known = this.#known.get(repository);
    if (known) return known;
    const made = this.#load(repository);
    this.#known.set(repository, made);
    return made;
  }

  /** What is remembered of a repository; null: nothing is. */
  async known(repository: string): Promise<BlobNumbers | null> {
    return (await this.#known.get(repository)) ?? null;
  }

  /** Adds blobs that have just been stored to what is remembered. */
  async add(repository: string, blobs: readonly StoredBlob[]): Promise<void> {
    const known = await this.known(repository);
    for (const blob of blobs) known?.add(blob);
  }

  async #load(repository: string): Promise<BlobNumbers | null> {
    const blobs = await this.#cache.stored(repository);
    if (!blobs) {
      this.#known.delete(repository);
      return null;
    }
    const numbers = new BlobNumbers();
    for (const blob of blobs) numbers.add(blob);
    return numbers;
  }
}
