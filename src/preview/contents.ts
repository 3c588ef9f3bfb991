import { buffer } from 'node:stream/consumers';
import { LRUCache } from 'lru-cache';
import { DomainError } from '../kernel/errors.ts';
import { upTo } from '../lib/version-cache.ts';
import type { BlobEncoding, BlobSizes, BlobStore, Sha256 } from '../ports/blobs.ts';

/** Contents up to this size are kept in memory; bytes. */
export const smallContent = 256 * 1024;
/** All contents in memory together; bytes. */
const memory = 64 * 1024 * 1024;

/** How long a content without codings counts as having none: they are made once it is published. Milliseconds. */
const uncodedTime = 5_000;

interface Part {
  sha256: Sha256;
  encoding: BlobEncoding | null;
}

/** Blobs being served: the most recently used stay in memory, unless they are large. */
export class Contents {
  readonly #blobs: BlobStore;
  readonly #sizes: LRUCache<Sha256, BlobSizes>;
  /** Contents whose codings exist, or would not be smaller. */
  readonly #encoded = new LRUCache<Sha256, true>(upTo(100_000));
  readonly #bytes: LRUCache<string, Buffer, Part>;

  constructor(blobs: BlobStore) {
    this.#blobs = blobs;
    this.#sizes = new LRUCache({
      ...upTo(100_000),
      fetchMethod: async (sha256, _old, { options }) => {
        const sizes = (await blobs.sizes(sha256)) ?? undefined;
        if (sizes && sizes.br === undefined && sizes.gzip === undefined) options.ttl = uncodedTime;
        return sizes;
      },
    });
    this.#bytes = new LRUCache({
      maxSize: memory,
      sizeCalculation: (content) => content.length + 1,
      fetchMethod: (_key, _old, { context }) => buffer(this.stream(context.sha256, context.encoding)),
    });
  }

  /** @throws DomainError `not_found` */
  async sizes(sha256: Sha256): Promise<BlobSizes> {
    const sizes = this.#sizes.get(sha256) ?? (await this.#sizes.fetch(sha256));
    if (sizes === undefined) throw new DomainError('not_found', 'The content is no longer stored');
    return sizes;
  }

  /** The same, with codings made first for a content that is small and has none. @throws DomainError `not_found` */
  async encodedSizes(sha256: Sha256): Promise<BlobSizes> {
    const sizes = await this.sizes(sha256);
    if (sizes.br !== undefined || sizes.gzip !== undefined || this.#encoded.has(sha256)) return sizes;
    if (sizes.identity > smallContent) return sizes;
    await this.#blobs.encode(sha256);
    this.#encoded.set(sha256, true);
    this.#sizes.delete(sha256);
    return this.sizes(sha256);
  }

  /** All bytes of a content that is small. @throws DomainError `not_found` */
  async bytes(sha256: Sha256, encoding: BlobEncoding | null): Promise<Buffer> {
    const key = encoding === null ? sha256 : `${sha256}.${encoding}`;
    return this.#bytes.get(key) ?? (await this.#bytes.forceFetch(key, { context: { sha256, encoding } }));
  }

  stream(sha256: Sha256, encoding: BlobEncoding | null, range?: { start: number; end: number }): AsyncIterable<Buffer> {
    return this.#blobs.read(sha256, { ...(encoding && { encoding }), ...(range && { range }) });
  }
}
