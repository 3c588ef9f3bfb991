import { createHash } from 'node:crypto';
import { buffer } from 'node:stream/consumers';
import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';
import { LRUCache } from 'lru-cache';
import {
  type RewritableKind,
  type Rewritten,
  rewriteContent,
} from '../../domain/crawlers/snapshots/rewrite/rewrite-content.ts';
import type { SiteAddresses } from '../../domain/crawlers/snapshots/site-addresses.ts';
import { type SiteEntry, siteLinks } from '../../domain/crawlers/snapshots/snapshot-site.ts';
import type { BlobEncoding, BlobStore, Sha256 } from '../../ports/blobs.ts';

/** A content with its links as they must be where it is served. */
export interface RewrittenContent {
  bytes: Buffer;
  becomes: Rewritten['becomes'];
}

type Of = Pick<SiteEntry, 'url' | 'charset' | 'bytes'> & { sha256: Sha256; kind: RewritableKind };

/** All of them together in memory; bytes. */
const memory = 64 * 1024 * 1024;
/** Changes when the same content is rewritten in another way than before. */
const version = 'r2';

const compressors: Record<BlobEncoding, (content: Buffer) => Promise<Buffer>> = {
  br: (content) => promisify(brotliCompress)(content, { params: { [constants.BROTLI_PARAM_QUALITY]: 5 } }),
  gzip: (content) => promisify(gzip)(content),
};

/** Names a rewritten content: links are written for the place where it is served. */
export const rewrittenTag = ({ sha256, url }: Of, { key, isApart }: SiteAddresses): string => {
  const place = isApart(new URL(url)) ? `${key} ${url}` : key;
  return `${sha256}.${createHash('sha256').update(`${version} ${place}`).digest('hex').slice(0, 12)}`;
};

/** Rewritten documents and style sheets of crawled sites; the most recently used stay in memory, unless they are large. */
export class RewrittenContents {
  readonly #blobs: BlobStore;
  readonly #whole = new LRUCache<string, RewrittenContent>({
    maxSize: memory,
    sizeCalculation: ({ bytes }) => bytes.length + 1,
  });

  constructor(blobs: BlobStore) {
    this.#blobs = blobs;
  }

  stream({ sha256, kind, url, charset, bytes }: Of, addresses: SiteAddresses): Rewritten {
    const rewriting = { url: new URL(url), charset, map: siteLinks(addresses) };
    return rewriteContent(kind, this.#blobs.read(sha256), bytes, rewriting);
  }

  /** All of it, in a coding or as it is. */
  async whole(of: Of, addresses: SiteAddresses, encoding: BlobEncoding | null): Promise<RewrittenContent> {
    const key = `${rewrittenTag(of, addresses)} ${of.charset} ${encoding}`;
    const known = this.#whole.get(key);
    if (known) return known;
    const made = encoding === null ? await this.#rewrite(of, addresses) : await this.#encode(of, addresses, encoding);
    this.#whole.set(key, made);
    return made;
  }

  async #rewrite(of: Of, addresses: SiteAddresses): Promise<RewrittenContent> {
    const { content, becomes } = this.stream(of, addresses);
    return { bytes: await buffer(content), becomes };
  }

  async #encode(of: Of, addresses: SiteAddresses, encoding: BlobEncoding): Promise<RewrittenContent> {
    const { bytes, becomes } = await this.whole(of, addresses, null);
    return { bytes: await compressors[encoding](bytes), becomes };
  }
}
