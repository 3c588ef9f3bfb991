import { pipeline, Readable } from 'node:stream';
import { promisify } from 'node:util';
import {
  brotliDecompress,
  constants,
  createBrotliDecompress,
  createGunzip,
  createInflate,
  createInflateRaw,
  createZstdDecompress,
  gunzip,
  inflate,
  inflateRaw,
  zstdDecompress,
} from 'node:zlib';
import { isImage, looksLikeHtml } from '../../domain/crawlers/pages/charset.ts';
import type { BlobStore } from '../../ports/blobs.ts';
import type { Exchange, Opening } from '../../ports/exchange.ts';
import type { CrawlFetcher, FetchedAnswer, FetchedHeaders, FetchLimits, FetchRequest } from '../../ports/fetcher.ts';
import { asFault, crawlFault, decodedAllowance, defaultLimits, receive, type Tally } from './receive.ts';

/** Content codings that are accepted and decoded (RFC 9110 section 8.4.1, RFC 7932, RFC 8878). */
type Coding = 'gzip' | 'deflate' | 'br' | 'zstd';

const acceptEncoding = 'gzip, br, zstd, deflate';

const names: Record<string, Coding> = { gzip: 'gzip', 'x-gzip': 'gzip', deflate: 'deflate', br: 'br', zstd: 'zstd' };
/** No serious server applies three codings. */
const mostCodings = 2;

/** Windows of up to 8 MiB (RFC 9659): a larger one is a claim on our memory. */
const zstdOptions = { params: { [constants.ZSTD_d_windowLogMax]: 23 } };

/**
 * The codings of a body in the order in which they are undone.
 * @throws DomainError (`decode`) for one that was not accepted
 */
export function codingsOf(header: string | string[] | undefined): Coding[] {
  const listed = (Array.isArray(header) ? header.join(',') : (header ?? ''))
    .toLowerCase()
    .split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '' && name !== 'identity');
  const codings = listed.map((name) => (Object.hasOwn(names, name) ? names[name] : undefined));
  const known = codings.filter((coding) => coding !== undefined);
  if (known.length < codings.length || known.length > mostCodings) {
    throw crawlFault('decode', `Content-Encoding "${listed.join(', ').slice(0, 100)}" is not supported`);
  }
  return known.reverse();
}

/** `deflate` is the zlib format, and from some servers the bare one: only the former's first two bytes divide by 31 (RFC 1950). */
const isZlib = (first: Uint8Array): boolean =>
  first.length >= 2 && ((first[0] ?? 0) & 0x0f) === 8 && (((first[0] ?? 0) << 8) | (first[1] ?? 0)) % 31 === 0;

/** A stream that undoes one coding; `first` are the body's first bytes. */
export function decoderOf(coding: Coding, first: Uint8Array) {
  if (coding === 'br') return createBrotliDecompress();
  if (coding === 'zstd') return createZstdDecompress(zstdOptions);
  if (coding === 'gzip') return createGunzip();
  return isZlib(first) ? createInflate() : createInflateRaw();
}

/** Undoes one coding of a whole body off the main thread. @throws RangeError ERR_BUFFER_TOO_LARGE beyond `most` bytes */
function decodeOne(coding: Coding, body: Buffer, most: number): Promise<Buffer> {
  const options = { maxOutputLength: most };
  if (coding === 'br') return promisify(brotliDecompress)(body, options);
  if (coding === 'zstd') return promisify(zstdDecompress)(body, { ...options, ...zstdOptions });
  if (coding === 'gzip') return promisify(gunzip)(body, options);
  return isZlib(body) ? promisify(inflate)(body, options) : promisify(inflateRaw)(body, options);
}

const beginnings: Record<Coding, (first: Uint8Array) => boolean> = {
  gzip: (first) => first[0] === 0x1f && first[1] === 0x8b,
  zstd: (first) => first.length >= 4 && (first[0] ?? 0) >> 4 <= 5 && first[1] === 0xb5 && first[2] === 0x2f,
  // Brotli has no mark, and bare deflate neither.
  br: () => false,
  deflate: isZlib,
};

/** Classifies a decoder's error: a body that never had the declared coding (`decode`), or one that was damaged or cut in transit. */
function decodeFault(error: unknown, coding: Coding, first: Uint8Array): unknown {
  const code = (error as NodeJS.ErrnoException).code ?? '';
  if (!/^(Z_|ERR_|BROTLI|ZSTD)/i.test(code)) return error;
  const wasCut = code === 'Z_BUF_ERROR';
  if (!wasCut && !beginnings[coding](first))
    return crawlFault('decode', `the body is not ${coding}, though its Content-Encoding says so`, error);
  return crawlFault('body_truncated', `the ${coding} body is ${wasCut ? 'cut short' : 'damaged'}`, error);
}

/** A small body decodes at once up to this size, beyond it piece by piece; bytes. */
const atOnce = 4 * 1024 * 1024;

interface Caps {
  /** Most decoded bytes. */
  most: number;
  /** What has come over the wire so far. */
  tally: Tally;
}

const tooLarge = (most: number): Error => crawlFault('body_too_large', `the body is larger than ${most} bytes`);

/** Checks the sizes of a decoded body against its caps. */
function checkSize(size: number, { most, tally }: Caps): void {
  if (size > most) throw tooLarge(most);
  if (size > decodedAllowance(tally.wire)) {
    throw crawlFault('body_too_large', `the body decodes to more than a hundred times of the ${tally.wire} bytes sent`);
  }
}

/** The decoded body: in memory when it came so and stays small, else as a stream under the same caps. */
async function decoded(
  body: Buffer | Readable,
  codings: readonly Coding[],
  caps: Caps,
): Promise<Buffer | AsyncIterable<Buffer>> {
  if (!Buffer.isBuffer(body)) return flowing(body, codings, caps);
  // Some servers label the empty body of an error, too.
  if (body.length === 0) return body;
  let bytes = body;
  for (const coding of codings) {
    try {
      bytes = await decodeOne(coding, bytes, atOnce);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ERR_BUFFER_TOO_LARGE')
        return flowing(Readable.from([body]), codings, caps);
      throw decodeFault(error, coding, bytes.subarray(0, 4));
    }
  }
  checkSize(bytes.length, caps);
  return bytes;
}

async function* flowing(body: Readable, codings: readonly Coding[], caps: Caps): AsyncGenerator<Buffer> {
  let stream: AsyncIterable<Buffer> = body;
  for (const coding of codings) stream = undone(stream, coding);
  let size = 0;
  try {
    for await (const chunk of stream) {
      size += chunk.length;
      checkSize(size, caps);
      yield chunk;
    }
  } finally {
    body.destroy();
  }
}

/** Undoes one coding of a flowing body. */
async function* undone(source: AsyncIterable<Buffer>, coding: Coding): AsyncGenerator<Buffer> {
  const chunks = source[Symbol.asyncIterator]();
  const first = await chunks.next();
  if (first.done) return;
  const rest = { [Symbol.asyncIterator]: () => chunks };
  let fault: unknown;
  async function* whole() {
    try {
      yield first.value;
      yield* rest;
    } catch (error) {
      fault = error;
      throw error;
    }
  }
  const decoder = decoderOf(coding, first.value);
  pipeline(Readable.from(whole(), { objectMode: false }), decoder, () => {});
  try {
    yield* decoder as AsyncIterable<Buffer>;
  } catch (error) {
    throw fault ?? decodeFault(error, coding, first.value.subarray(0, 4));
  } finally {
    decoder.destroy();
  }
}

/** Types that page readers parse: HTML, CSS, web manifests. */
const readable = new Set([
  'text/html',
  'application/xhtml+xml',
  'text/css',
  'application/manifest+json',
  'application/json',
]);

const essence = (type: string): string => (type.split(';', 1)[0] ?? '').trim().toLowerCase();

/** The type of a body; one without is HTML when a page was requested and it looks like one. */
function bodyType(
  declared: string | null,
  beginning: Uint8Array,
  read: FetchRequest['read'],
): { contentType: string | null; isSniffed: boolean } {
  if (declared !== null || read !== 'page' || !looksLikeHtml(new TextDecoder().decode(beginning.subarray(0, 1024))))
    return { contentType: declared, isSniffed: false };
  return { contentType: 'text/html', isSniffed: true };
}

/**
 * Whether a body of this type is to come back. One without a type may be a sheet that its page names, and images are not read
 * whatever they are called.
 * @param beginning null while only the head is known
 */
function isReadable(read: FetchRequest['read'], type: string | null, beginning: Uint8Array | null): boolean {
  if (read === 'all') return true;
  if (read === 'none' || (type !== null && !readable.has(essence(type)))) return false;
  return beginning === null || !isImage(beginning);
}

const utf8 = new TextDecoder('utf-8', { fatal: true });

/**
 * The `Location` of an answer. Header bytes come as Latin-1; browsers take them for UTF-8 when they can be (servers send IRIs unescaped),
 * and so do we.
 */
function locationOf(headers: FetchedHeaders): string | null {
  const value = headers.location;
  const first = (Array.isArray(value) ? value[0] : value)?.trim();
  if (first === undefined || first === '') return null;
  try {
    return utf8.decode(Buffer.from(first, 'latin1'));
  } catch {
    return first;
  }
}

interface StoredBody {
  /** Null when it was not to be kept. */
  kept: { sha256: string; size: number } | null;
  /** The beginning of the body, up to the cap. */
  bytes: Buffer;
  /** There was more. */
  isCut: boolean;
}

/**
 * Stores a decoded body and keeps its beginning. A body that is only read is not fetched beyond that.
 * @param blobs null when nothing is stored
 * @throws what the body throws; DomainError `unavailable` when the disk is full. Nothing is left then
 */
async function storeBody(
  content: Buffer | AsyncIterable<Buffer>,
  blobs: BlobStore | null,
  most: number,
): Promise<StoredBody> {
  if (Buffer.isBuffer(content)) {
    const kept = blobs && (await blobs.put(content));
    return { kept: kept && named(kept), bytes: content.subarray(0, most), isCut: content.length > most };
  }
  const beginning: Buffer[] = [];
  let size = 0;
  const tapped = async function* () {
    for await (const chunk of content) {
      if (size < most) beginning.push(chunk.subarray(0, most - size));
      size += chunk.length;
      yield chunk;
    }
  };
  const kept = blobs && (await blobs.put(tapped()));
  if (blobs === null) for await (const _chunk of tapped()) if (size > most) break;
  return { kept: kept && named(kept), bytes: Buffer.concat(beginning), isCut: size > most };
}

const named = ({ sha256, size }: { sha256: string; size: number }) => ({ sha256, size });

interface CrawlFetcherOptions {
  http: { exchange: Exchange; open: Opening };
  blobs: BlobStore;
}

/** The crawl's fetcher over the guarded client. */
export function createCrawlFetcher({ http, blobs }: CrawlFetcherOptions): CrawlFetcher {
  async function answer(request: FetchRequest, limits: FetchLimits, tally: Tally): Promise<Omit<FetchedAnswer, Spent>> {
    const url = URL.parse(request.url);
    if (url === null) throw crawlFault('internal', 'the address is not a valid URL');
    const { connect, headers: waiting, idle, total } = limits;
    const isConditional = hasValidators(request);
    const wants = (status: number, headers: FetchedHeaders): boolean => {
      if (status === 304 && !isConditional)
        throw crawlFault('decode', `${url.host}: status 304 in answer to an unconditional request`);
      const isWanted = status !== 304 && (request.keep?.(status, headers) === true || reads(request, headers));
      if (isWanted) refuseEarly(headers, limits.body);
      return isWanted;
    };
    const { status, headers, body } = await receive(
      http.exchange,
      url,
      {
        headers: outgoing(request),
        policy: request.policy,
        timeouts: { connect, headers: waiting, idle, total },
        ...(request.signal !== undefined && { signal: request.signal }),
        ...(request.mayStart !== undefined && { mayStart: request.mayStart }),
      },
      tally,
      wants,
    );
    if (Buffer.isBuffer(body)) await request.received?.();
    const head = { ok: true, status, headers, location: locationOf(headers) } as const;
    const declared = single(headers['content-type']);
    if (body === null)
      return { ...head, contentType: declared, isSniffed: false, body: null, bytes: null, isCut: false };
    const content = await decoded(body, codingsOf(headers['content-encoding']), { most: limits.body, tally });
    const isKept = request.keep?.(status, headers) === true;
    const stored = await storeBody(content, isKept ? blobs : null, limits.read);
    const { contentType, isSniffed } = bodyType(declared, stored.bytes, request.read);
    const isRead = isReadable(request.read, contentType, stored.bytes);
    return {
      ...head,
      contentType,
      isSniffed,
      body: stored.kept,
      bytes: isRead ? stored.bytes : null,
      isCut: isRead && stored.isCut,
    };
  }

  return {
    async fetch(request) {
      const started = performance.now();
      const tally: Tally = { wire: 0 };
      const spent = () => ({ bytesWire: tally.wire, durationMs: Math.round(performance.now() - started) });
      try {
        return { ...(await answer(request, { ...defaultLimits, ...request.limits }, tally)), ...spent() };
      } catch (error) {
        if (request.signal?.aborted) throw request.signal.reason;
        const fault = asFault(error, spent());
        if (fault === null) throw error;
        return fault;
      }
    },
    async connect({ url, policy }) {
      const parsed = URL.parse(url);
      if (parsed !== null) await http.open(parsed, { policy, connect: defaultLimits.connect });
    },
  };
}

type Spent = 'bytesWire' | 'durationMs';

const single = (value: string | string[] | undefined): string | null =>
  (Array.isArray(value) ? value[0] : value)?.trim() || null;

const hasValidators = ({ validators }: FetchRequest): boolean =>
  validators?.etag !== undefined || validators?.last_modified !== undefined;

/** Whether a body may have to be read, judged by the head alone. */
const reads = ({ read }: FetchRequest, headers: FetchedHeaders): boolean =>
  read !== 'none' && (headers['content-type'] === undefined || isReadable(read, single(headers['content-type']), null));

function outgoing({ headers, validators }: FetchRequest): Record<string, string> {
  return {
    ...headers,
    'accept-encoding': acceptEncoding,
    ...(validators?.etag !== undefined && { 'if-none-match': validators.etag }),
    ...(validators?.last_modified !== undefined && { 'if-modified-since': validators.last_modified }),
  };
}

/** A body whose declared length is too large is not begun. */
function refuseEarly(headers: FetchedHeaders, most: number): void {
  if (Number(headers['content-length'] ?? 0) > most)
    throw crawlFault('body_too_large', `the body is larger than ${most} bytes`);
}
