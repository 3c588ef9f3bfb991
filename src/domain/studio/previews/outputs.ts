import { LRUCache } from 'lru-cache';
import type { BlobStore, Sha256 } from '../../ports/blobs.ts';
import type { Log } from '../../ports/log.ts';
import { type ManifestEntry, readManifest } from '../deployments/manifest.ts';
import type { Output } from './output-lookup.ts';
import { parseRedirects, type RedirectRule } from './redirects.ts';

/** Files of all outputs held together: about 100 MB when every path is long. */
const mostFiles = 400_000;
/** A longer `_redirects` is none; bytes. */
const longestRedirects = 1024 * 1024;

/** Published outputs by the hash of their manifest, those asked for last in memory. */
export class Outputs {
  readonly #cache: LRUCache<Sha256, Output>;

  constructor(blobs: BlobStore, log: Log) {
    this.#cache = new LRUCache({
      maxSize: mostFiles,
      maxEntrySize: Number.MAX_SAFE_INTEGER,
      sizeCalculation: ({ files }) => Math.min(files.size + 1, mostFiles),
      fetchMethod: (sha256) => load(blobs, log, sha256),
    });
  }

  /** @throws DomainError `not_found` when the manifest is not kept any more */
  async get(sha256: Sha256): Promise<Output> {
    return this.#cache.get(sha256) ?? (await this.#cache.forceFetch(sha256));
  }
}

async function load(blobs: BlobStore, log: Log, sha256: Sha256): Promise<Output> {
  const files = new Map((await readManifest(blobs, sha256)).map((entry) => [entry[0], entry]));
  const rules = await redirectsOf(blobs, log, files.get('_redirects'));
  return {
    files,
    forced: rules.filter(({ isForced }) => isForced),
    redirects: rules.filter(({ isForced }) => !isForced),
  };
}

async function redirectsOf(blobs: BlobStore, log: Log, file: ManifestEntry | undefined): Promise<RedirectRule[]> {
  if (!file) return [];
  const [, sha256, size] = file;
  if (size > longestRedirects) {
    log.warn({ size }, 'a _redirects file is too long and not used');
    return [];
  }
  const chunks: Buffer[] = [];
  for await (const chunk of blobs.read(sha256)) chunks.push(chunk);
  return parseRedirects(Buffer.concat(chunks).toString('utf8')).rules;
}
