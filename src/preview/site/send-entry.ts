import { createHash } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { pipeline } from 'node:stream/promises';
import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';
import { LRUCache } from 'lru-cache';
import {
  type RewritableKind,
  type Rewritten,
  rewritableKind,
  rewriteContent,
} from '../../domain/crawlers/snapshots/rewrite/rewrite-content.ts';
import type { SiteAddresses } from '../../domain/crawlers/snapshots/site-addresses.ts';
import { type SiteEntry, type SnapshotSite, siteLinks } from '../../domain/crawlers/snapshots/snapshot-site.ts';
import type { AllServices } from '../../domain/services.ts';
import { FairSlots } from '../../lib/fair-queue.ts';
import type { BlobEncoding, BlobStore, Sha256 } from '../../ports/blobs.ts';
import type { Contents } from '../contents.ts';
import { notFoundInCopy, sendPage } from '../pages.ts';
import { end, type Headers, isHeld, negotiate, sendFile, wantedBytes } from '../send-file.ts';

/** What sending needs. */
interface Sources {
  services: AllServices;
  contents: Contents;
  rewritten: RewrittenContents;
}

interface Where {
  site: SnapshotSite;
  /** Headers of everything that is served from this host. */
  common: Headers;
}

/** A longer document is rewritten as a stream, and never sent in part; bytes. */
const wholeContent = 1024 * 1024;
/** Below this a coding is not worth it; bytes. */
const leastEncoded = 1024;

const isText = (type: string) => /^text\/|[/+](?:xml|json|javascript)\b/i.test(type);

/** The type as it was received, in the encoding the content is in now. */
function typeOf({ content_type }: SiteEntry, becomes: string | null): string {
  const type = content_type !== null && /^[\t -~]+$/.test(content_type) ? content_type : 'application/octet-stream';
  return becomes === null ? type : `${type.split(';', 1)[0]?.trim()}; charset=${becomes}`;
}

/** Sends what a crawl has captured at an address: its status and type, its content with links that stay on the site. */
export async function sendEntry(
  { services, contents, rewritten }: Sources,
  request: IncomingMessage,
  response: ServerResponse,
  { site, common }: Where,
): Promise<void> {
  const { crawlers, studio } = services;
  // A worker would answer for this host from then on, also after another copy has been published.
  const isWorker = request.headers['service-worker'] === 'script';
  const target = request.url ?? '';
  const isPath = target.startsWith('/') && !isWorker;
  const entry = isPath ? await studio.previews.entries.find(site, target, crawlers.limits.strip_params) : null;
  if (entry === null) return sendPage(response, notFoundInCopy);
  if (entry.location !== null)
    return end(response, entry.http_status, { ...common, Location: entry.location, 'Content-Length': 0 });
  const { sha256, http_status: status } = entry;
  if (sha256 === null) return end(response, status, { ...common, 'Content-Length': 0 });
  const headers = { ...common, ...entry.headers };
  if (rewritableKind(entry.content_type) !== null)
    return sendRewritten(rewritten, request, response, { entry: { ...entry, sha256 }, site, common: headers });
  const type = typeOf(entry, null);
  const isEncodable = isText(type) && entry.bytes > leastEncoded;
  if (isEncodable) await contents.encodedSizes(sha256);
  return sendFile(contents, request, response, { sha256, type, isEncodable, status, common: headers });
}

/** Aborted once the client has left, with what an ended pipeline throws then. */
function whileOpen(response: ServerResponse): AbortSignal {
  const open = new AbortController();
  const leave = () =>
    open.abort(Object.assign(new Error('The client has left'), { code: 'ERR_STREAM_PREMATURE_CLOSE' }));
  if (response.destroyed) leave();
  else response.once('close', leave);
  return open.signal;
}

async function sendRewritten(
  rewritten: RewrittenContents,
  { method, headers: requested }: IncomingMessage,
  response: ServerResponse,
  { entry, site, common }: Where & { entry: SiteEntry & { sha256: string } },
): Promise<void> {
  const { addresses } = site;
  const of = { ...entry, kind: rewritableKind(entry.content_type) ?? 'html' };
  const isWhole = entry.bytes <= wholeContent;
  const isEncoded = isWhole && requested.range === undefined && entry.bytes > leastEncoded;
  const encoding = isEncoded ? negotiate(requested['accept-encoding'], { identity: 2, br: 1, gzip: 1 }) : null;
  const etag = `"${rewrittenTag(of, addresses)}${encoding ? `.${encoding}` : ''}"`;
  const headers: Headers = { ...common, ETag: etag, Vary: 'Accept-Encoding' };
  if (entry.http_status === 200 && isHeld(requested, etag)) return end(response, 304, headers);
  if (!isWhole) {
    const { content, becomes } = rewritten.stream(of, addresses);
    response.writeHead(entry.http_status, { ...headers, 'Content-Type': typeOf(entry, becomes) });
    if (method === 'HEAD') return void response.end();
    return pipeline(content, response);
  }
  const { bytes, becomes } = await rewritten.whole(of, addresses, encoding, whileOpen(response));
  headers['Content-Type'] = typeOf(entry, becomes);
  headers['Accept-Ranges'] = 'bytes';
  if (encoding) headers['Content-Encoding'] = encoding;
  const isPart = entry.http_status === 200 && method === 'GET';
  const wanted = isPart ? wantedBytes(requested, etag, bytes.length) : 'all';
  if (wanted === 'none')
    return end(response, 416, { ...common, 'Content-Range': `bytes */${bytes.length}`, 'Content-Length': 0 });
  const part = wanted === 'all' ? bytes : bytes.subarray(wanted.start, wanted.end + 1);
  headers['Content-Length'] = part.length;
  if (wanted !== 'all') headers['Content-Range'] = `bytes ${wanted.start}-${wanted.end}/${bytes.length}`;
  end(response, wanted === 'all' ? entry.http_status : 206, headers, method === 'HEAD' ? undefined : part);
}

/** A content with its links as they must be where it is served. */
interface RewrittenContent {
  bytes: Buffer;
  becomes: Rewritten['becomes'];
}

/** A content while it waits for its turn or is rewritten, for all requests that want it. */
interface Making {
  made: Promise<RewrittenContent>;
  /** How many requests wait for it. */
  waiting: number;
  isBegun: boolean;
  /** Takes it out of the queue. */
  leaving: AbortController;
}

type Of = Pick<SiteEntry, 'url' | 'charset' | 'bytes'> & { sha256: Sha256; kind: RewritableKind };

/** All of them together in memory; bytes. */
const memory = 64 * 1024 * 1024;
/** Contents that are rewritten at the same time: each is in memory more than once until it is done. */
const together = 4;
/** Changes when the same content is rewritten in another way than before. */
const version = 'r2';

const compressors: Record<BlobEncoding, (content: Buffer) => Promise<Buffer>> = {
  br: (content) => promisify(brotliCompress)(content, { params: { [constants.BROTLI_PARAM_QUALITY]: 5 } }),
  gzip: (content) => promisify(gzip)(content),
};

/** Names a rewritten content: links are written for the place where it is served. */
const rewrittenTag = ({ sha256, url }: Of, { key, isApart }: SiteAddresses): string => {
  const place = isApart(new URL(url)) ? `${key} ${url}` : key;
  return `${sha256}.${createHash('sha256').update(`${version} ${place}`).digest('hex').slice(0, 12)}`;
};

const keyOf = (of: Of, addresses: SiteAddresses, encoding: BlobEncoding | null) =>
  `${rewrittenTag(of, addresses)} ${of.charset} ${encoding}`;

/**
 * Rewritten documents and style sheets of crawled sites; the most recently used stay in memory, unless they are large. Requests for a content that
 * is being rewritten share it, and only a few contents are rewritten at the same time; sites alternate.
 */
export class RewrittenContents {
  readonly #blobs: BlobStore;
  readonly #whole = new LRUCache<string, RewrittenContent>({
    maxSize: memory,
    sizeCalculation: ({ bytes }) => bytes.length + 1,
  });
  readonly #underWay = new Map<string, Making>();
  readonly #slots = new FairSlots<string>(together, { keysOf: (site) => [site], mayHold: () => true });

  constructor(blobs: BlobStore) {
    this.#blobs = blobs;
  }

  stream({ sha256, kind, url, charset, bytes }: Of, addresses: SiteAddresses): Rewritten {
    const rewriting = { url: new URL(url), charset, map: siteLinks(addresses) };
    return rewriteContent(kind, this.#blobs.read(sha256), bytes, rewriting);
  }

  /**
   * All of it, in a coding or as it is.
   * @param signal aborted once the content is no longer wanted; one that still waits for its turn and is wanted by no other is given up
   * @throws the signal's reason
   */
  async whole(
    of: Of,
    addresses: SiteAddresses,
    encoding: BlobEncoding | null,
    signal: AbortSignal,
  ): Promise<RewrittenContent> {
    const key = keyOf(of, addresses, encoding);
    const known = this.#whole.get(key);
    if (known) return known;
    signal.throwIfAborted();
    const make = () => (encoding === null ? this.#rewrite(of, addresses) : this.#encode(of, addresses, encoding));
    return this.#await(key, this.#underWay.get(key) ?? this.#begin(key, addresses.key, make), signal);
  }

  #begin(key: string, site: string, make: () => Promise<RewrittenContent>): Making {
    const leaving = new AbortController();
    const work = async () => {
      making.isBegun = true;
      const made = await make();
      this.#whole.set(key, made);
      return made;
    };
    const made = this.#slots.run(site, work, leaving.signal).finally(() => this.#end(key, making));
    const making: Making = { made, waiting: 0, isBegun: false, leaving };
    this.#underWay.set(key, making);
    return making;
  }

  #end(key: string, making: Making): void {
    if (this.#underWay.get(key) === making) this.#underWay.delete(key);
  }

  async #await(key: string, making: Making, signal: AbortSignal): Promise<RewrittenContent> {
    const { promise: left, reject } = Promise.withResolvers<never>();
    const leave = () => {
      reject(signal.reason);
      making.waiting -= 1;
      if (making.waiting > 0 || making.isBegun) return;
      // A request that comes now must not wait for what is given up.
      this.#end(key, making);
      making.leaving.abort(signal.reason);
    };
    making.waiting += 1;
    signal.addEventListener('abort', leave);
    try {
      return await Promise.race([making.made, left]);
    } finally {
      signal.removeEventListener('abort', leave);
    }
  }

  async #rewrite(of: Of, addresses: SiteAddresses): Promise<RewrittenContent> {
    const { content, becomes } = this.stream(of, addresses);
    return { bytes: await buffer(content), becomes };
  }

  async #encode(of: Of, addresses: SiteAddresses, encoding: BlobEncoding): Promise<RewrittenContent> {
    const key = keyOf(of, addresses, null);
    const known = this.#whole.get(key);
    // Not shared with a request for it as it is, which may be waiting for the slot that is held here.
    const { bytes, becomes } = known ?? (await this.#rewrite(of, addresses));
    if (!known) this.#whole.set(key, { bytes, becomes });
    return { bytes: await compressors[encoding](bytes), becomes };
  }
}
