/**
 * What one outgoing request may reach. The ranges of `PORTICO_ALLOWED_CIDRS` always count; a policy can only add to them.
 * Without `pool` a request gets a connection of its own.
 */
export interface HttpPolicy {
  /** Connections are shared only between requests that name the same pool: an organisation's id, never two organisations. */
  pool?: string;
  /** Ports a public address may be reached on; every port when absent. */
  ports?: readonly number[];
  /** `host` (any port) or `host:port`: exactly these names may resolve to private and loopback addresses. */
  trustedNames?: readonly string[];
  /** Further ranges, `10.1.0.0/16` or a single address, reachable on any port. */
  allowedCidrs?: readonly string[];
}

/** Milliseconds. */
export interface HttpTimeouts {
  /** Resolving, checking, TCP and TLS together; 10 s. */
  connect?: number;
  /** From the request's last byte to the end of the response's headers; 30 s. */
  headers?: number;
  /** Between two chunks of the body; 15 s. */
  idle?: number;
  /** The whole call with redirects and body; 120 s. */
  total?: number;
}

export interface HttpRequest {
  /** Default GET. */
  method?: string;
  /** `Host` and the headers that frame a message are the client's own and refused here. */
  headers?: Readonly<Record<string, string>>;
  body?: string | Uint8Array | null;
  policy: HttpPolicy;
  signal?: AbortSignal;
  /** Most bytes of body on the wire; without it, 100 MiB. */
  maxBytes?: number;
  timeouts?: HttpTimeouts;
  /** How many redirects are followed; 0, the default, hands a 3xx answer to the caller. */
  maxRedirections?: number;
  /** A redirect from https to http is `redirect_invalid`. */
  refusesDowngrade?: boolean;
}

export interface HttpHop {
  status: number;
  /** The address that answered with the redirect. */
  url: string;
}

/** The body is read once, by exactly one of `body`, `bytes`, `text` and `discard`; until then the connection stays taken. */
export interface HttpResponse {
  status: number;
  /** Lower-case names; a header sent several times is a list. */
  headers: Readonly<Record<string, string | string[]>>;
  /** The address that gave this answer, after redirects. */
  url: string;
  hops: readonly HttpHop[];
  /** Bytes as on the wire: no content encoding is undone. */
  body: AsyncIterable<Uint8Array>;
  bytes(): Promise<Uint8Array>;
  /** The body as UTF-8. */
  text(): Promise<string>;
  /** Gives the connection up without reading on. */
  discard(): void;
}

/** Why a call did not give a whole answer, in `details.reason` of the `DomainError` it rejects with. */
export type HttpFailure =
  | 'blocked_address'
  | 'invalid_url'
  | 'invalid_headers'
  | 'dns'
  | 'connect'
  | 'tls'
  | 'timeout'
  | 'reset'
  | 'protocol'
  | 'redirect_invalid'
  | 'redirect_too_many'
  | 'body_truncated'
  | 'body_too_large';

/**
 * The one way out to addresses that users choose. A refusal is `invalid_request`, too many bytes are `too_large`, every fault of
 * the network or the peer is `upstream_unavailable`; `details.reason` holds the `HttpFailure`, `details.system` the system's own
 * code (`ENOTFOUND`, `ECONNREFUSED`) when there is one. An aborted signal rejects with its own reason.
 */
export interface GuardedHttp {
  request(url: string | URL, request: HttpRequest): Promise<HttpResponse>;
  /**
   * The same check without a connection, for a client that connects itself and must then go to one of these addresses and no
   * other: `http:`, `https:` and `ssh:`.
   */
  check(url: URL, policy: HttpPolicy): Promise<{ addresses: string[] }>;
  /** Waits for open calls, then closes every connection. */
  close(): Promise<void>;
}
