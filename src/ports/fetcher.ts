import type { HttpPolicy } from './http.ts';

/** Why one request of a crawl gave no usable answer: the names a run shows; those about several requests are the run's own. */
export const fetchErrors = [
  'dns',
  'connect',
  'tls',
  'timeout',
  'reset',
  'body_truncated',
  'body_too_large',
  'blocked_address',
  'decode',
  'internal',
] as const;
export type FetchError = (typeof fetchErrors)[number];

/** Lower-case names; a header sent several times is a list. */
export type FetchedHeaders = Readonly<Record<string, string | string[]>>;

/** Caps of one request. Sizes in bytes, times in milliseconds. */
export interface FetchLimits {
  /** Of the decoded body; 100 MiB. Independently of it a decoded body may be no larger than 100 × what came over the wire + 10 MiB. */
  body: number;
  /** How much of a body is returned in `bytes`; 10 MiB. */
  read: number;
  /** Resolving, checking, TCP and TLS together; 10 s. */
  connect: number;
  /** From the request to the end of the response's headers; 30 s. */
  headers: number;
  /** Between two chunks of the body; 15 s. */
  idle: number;
  /** All of it; 120 s. */
  total: number;
}

/** Of the entry a URL had in an earlier snapshot, sent as `If-None-Match` and `If-Modified-Since` (RFC 9110 section 13.1). */
export interface FetchValidators {
  etag?: string | undefined;
  last_modified?: string | undefined;
}

export interface FetchRequest {
  /** Normalised, http or https. */
  url: string;
  /** Headers as they are sent, `user-agent` and `cookie` included; headers that frame a message are set by the fetcher. */
  headers: Readonly<Record<string, string>>;
  policy: HttpPolicy;
  signal?: AbortSignal;
  validators?: FetchValidators;
  limits?: Partial<FetchLimits>;
  /** As in the port `exchange`. */
  mayStart?(): boolean;
  /** Whether the body of such an answer is stored; without it nothing is. */
  keep?(status: number, headers: FetchedHeaders): boolean;
  /**
   * Which bodies come back in `bytes`: `page` those a page reader can read (HTML and CSS, web manifests), and there a body without a
   * type is looked at for HTML; `asset` the same without that look; `all` whatever comes (sitemaps, robots.txt). A body that is
   * neither kept nor read is not downloaded.
   */
  read: 'page' | 'asset' | 'all' | 'none';
  /**
   * The answer has come whole, before its body is decoded and stored: nothing is on the wire any more. Only called where that is before
   * the call resolves, which waits for it: what is decoded takes memory.
   */
  received?(): Promise<void>;
}

export interface FetchedAnswer {
  ok: true;
  /** 304 only when validators were sent. */
  status: number;
  headers: FetchedHeaders;
  /** `Location` with its bytes read as UTF-8, trimmed; null when missing or empty. Not resolved. */
  location: string | null;
  /** As sent, or `text/html` when `isSniffed`. */
  contentType: string | null;
  /** There was no `Content-Type` and the body looks like HTML. */
  isSniffed: boolean;
  /** The stored body, decoded; null when it was not kept. */
  body: { sha256: string; size: number } | null;
  /** The decoded body, or the beginning of one larger than `limits.read`; null when it was not requested. */
  bytes: Uint8Array | null;
  /** `bytes` is not all of the body. */
  isCut: boolean;
  /** Bytes of body that came over the wire. */
  bytesWire: number;
  durationMs: number;
}

export interface FetchFault {
  ok: false;
  error: FetchError;
  /** For the owner of the crawler; names host and cause, never an inner address. */
  message: string;
  isRetryable: boolean;
  /** How often it is worth trying again: 3, once for a name that does not exist, else 0. */
  retries: number;
  bytesWire: number;
  durationMs: number;
}

export type FetchResult = FetchedAnswer | FetchFault;

/**
 * One request on the wire: no redirect is followed and nothing is tried again, since the run counts and spaces each request. Content
 * codings are undone before anything is measured, hashed or stored.
 */
export interface CrawlFetcher {
  /**
   * Resolves with a fault for whatever network and peer do.
   * @throws the signal's reason once it is aborted; `NotSent`; DomainError `unavailable` when the body cannot be stored (disk full)
   */
  fetch(request: FetchRequest): Promise<FetchResult>;
  /** Opens a connection for a request that is sent at a given time, so that connecting does not delay it. */
  connect(request: Pick<FetchRequest, 'url' | 'policy'>): Promise<void>;
}
