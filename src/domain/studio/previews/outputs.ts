import { LRUCache } from 'lru-cache';
import type { BlobStore, Sha256 } from '../../ports/blobs.ts';
import { readManifest } from '../deployments/manifest.ts';
import type { Output } from './output-lookup.ts';
import { readRedirects } from './read-redirects.ts';

/** Files of all outputs held together: about 100 MB when every path is long. */
const mostFiles = 400_000;

/** Published outputs by the hash of their manifest, those asked for last in memory. */
export class Outputs {
  readonly #cache: LRUCache<Sha256, Output>;

  constructor(blobs: BlobStore) {
    this.#cache = new LRUCache({
      maxSize: mostFiles,
      maxEntrySize: Number.MAX_SAFE_INTEGER,
      sizeCalculation: ({ files }) => Math.min(files.size + 1, mostFiles),
      fetchMethod: (sha256) => load(blobs, sha256),
    });
  }

  /** @throws DomainError `not_found` when the manifest is not kept any more */
  async get(sha256: Sha256): Promise<Output> {
    return this.#cache.get(sha256) ?? (await this.#cache.forceFetch(sha256));
  }
}

async function load(blobs: BlobStore, sha256: Sha256): Promise<Output> {
  const manifest = await readManifest(blobs, sha256);
  const files = new Map(manifest.map((entry) => [entry[0], entry]));
  // What of them is not used the deployment has told.
  const { rules } = await readRedirects(blobs, manifest);
  return {
    files,
    forced: rules.filter(({ isForced }) => isForced),
    redirects: rules.filter(({ isForced }) => !isForced),
  };
}
