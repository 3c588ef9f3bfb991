import type { HttpPolicy, HttpTimeouts } from './http.ts';

export interface ExchangeRequest {
  headers: Readonly<Record<string, string>>;
  policy: HttpPolicy;
  signal?: AbortSignal;
  /** Milliseconds, as in the port. */
  timeouts: Required<HttpTimeouts>;
  /** Called once the connection is open, right before the request is sent; false: not sent, the exchange fails with `NotSent`. */
  mayStart?(): boolean;
}

/** A request that was not to be sent any more when its connection was there. */
export class NotSent extends Error {
  override name = 'NotSent';
}

/** Holds the peer back, or gives the exchange up. */
export interface Flow {
  pause(): void;
  resume(): void;
  /** Ends the exchange with its connection; the sink is not called again. */
  stop(): void;
}

/**
 * Events of an exchange, in this order: `head`, any number of `data`, then `end` or `fail`; `fail` may come at any moment and nothing
 * follows it. Called from the socket's own event handler, so it should be quick.
 */
export interface ExchangeSink {
  /** Of the final answer; 1xx ones are passed over (RFC 9110 section 15.2). */
  head(status: number, headers: Record<string, string | string[]>, flow: Flow): void;
  data(chunk: Buffer): void;
  end(): void;
  /** With a `DomainError` as the port `http` describes it, the reason of the aborted signal, or `NotSent`. */
  fail(error: unknown): void;
}

/** One GET of the guarded client without redirects, without a stream in between: for a crawl, where each request's own cost counts. */
export type Exchange = (url: URL, request: ExchangeRequest, sink: ExchangeSink) => void;

/**
 * Opens a connection for an exchange that is soon to begin, unless one of its pool is free; nothing is sent. An exchange that
 * begins meanwhile waits for it. Resolves when it is there, or cannot be had; the reason comes with the exchange.
 * @param request milliseconds to connect, as the exchange will have them
 */
export type Opening = (url: URL, request: Pick<ExchangeRequest, 'policy'> & { connect: number }) => Promise<void>;
