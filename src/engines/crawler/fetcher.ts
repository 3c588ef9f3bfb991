import type { BlobStore } from '../../domain/ports/blobs.ts';
import type { Exchange, Opening } from '../../domain/ports/exchange.ts';
import type {
  CrawlFetcher,
  FetchedAnswer,
  FetchedHeaders,
  FetchLimits,
  FetchRequest,
} from '../../domain/ports/fetcher.ts';
import { bodyType, isReadable } from './body-type.ts';
import { acceptEncoding, codingsOf } from './codings.ts';
import { decoded } from './decoded.ts';
import { asFault, crawlFault } from './faults.ts';
import { defaultLimits } from './limits.ts';
import { locationOf } from './location.ts';
import { receive, type Tally } from './receive.ts';
import { storeBody } from './store-body.ts';

export interface CrawlFetcherOptions {
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
      if (status === 304 && !isConditional) throw crawlFault('decode', `${url.host}: 304 was not asked for`);
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
    if (body === null || Buffer.isBuffer(body)) request.received?.();
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

/** Whether a body may have to be read, as far as the head tells. */
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

/** What says by itself that it is too large is not begun. */
function refuseEarly(headers: FetchedHeaders, most: number): void {
  if (Number(headers['content-length'] ?? 0) > most)
    throw crawlFault('body_too_large', `the body is larger than ${most} bytes`);
}
