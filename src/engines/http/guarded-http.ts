import type { Readable } from 'node:stream';
import type { Dispatcher } from 'undici';
import { trustedCertificates } from '../../lib/http-client.ts';
import { type Exchange, type Flow, NotSent, type Opening } from '../../ports/exchange.ts';
import type { GuardedHttp, HttpHop, HttpRequest, HttpResponse, HttpTimeouts } from '../../ports/http.ts';
import { asHttpFailure, httpFailure } from './failures.ts';
import { createGuard, parseCidrs, type Resolve, targetOf } from './guard.ts';
import { createPools, Openings, type Pools } from './pools.ts';

/** Informational answers (RFC 9110 15.2) before the one that counts; each would give it another time to come. */
const mostInformational = 20;

/** The port on undici's dispatchers. */
function createExchange(pools: Pools, openings: Openings): Exchange {
  return (url, request, sink) => {
    const { policy, headers, signal, timeouts } = request;
    let controller: Dispatcher.DispatchController | undefined;
    let isOver = false;
    let begun = false;
    let informational = 0;
    const settle = (): void => {
      isOver = true;
      clearTimeout(timer);
      signal?.removeEventListener('abort', onAbort);
    };
    const fail = (error: unknown): void => {
      if (isOver) return;
      settle();
      controller?.abort(ended);
      sink.fail(error);
    };
    const refuse = (error: unknown): void => fail(asHttpFailure(error, url.host, begun));
    const onAbort = (): void => fail(signal?.reason);
    const late = (): void =>
      fail(httpFailure('timeout', `${url.host}: the whole exchange took longer than ${timeouts.total} ms`));
    const timer = setTimeout(late, timeouts.total);
    if (signal?.aborted) return onAbort();
    signal?.addEventListener('abort', onAbort);

    const flow: Flow = {
      pause: () => void (isOver || controller?.pause()),
      resume: () => void (isOver || controller?.resume()),
      stop() {
        if (isOver) return;
        settle();
        controller?.abort(ended);
      },
    };
    const handler: Dispatcher.DispatchHandler = {
      onRequestStart(started) {
        controller = started;
        // Aborted while it waited for a connection.
        if (isOver) started.abort(ended);
        // Thrown here it is taken back before a byte of it is written, and its connection stays.
        else if (request.mayStart?.() === false) throw new NotSent();
      },
      onResponseStart(_controller, status, answered) {
        if (isOver) return;
        if (status < 200) {
          informational += 1;
          const many = `${url.host}: more than ${mostInformational} answers that are only informational`;
          if (informational > mostInformational) fail(httpFailure('protocol', many));
          return;
        }
        begun = true;
        sink.head(status, answered as Record<string, string | string[]>, flow);
      },
      onResponseData(_controller, chunk) {
        if (!isOver) sink.data(chunk);
      },
      onResponseEnd() {
        if (isOver) return;
        settle();
        sink.end();
      },
      onResponseError(_controller, error) {
        if (error instanceof NotSent) fail(error);
        else refuse(error);
      },
    };
    try {
      targetOf(url, ['http:', 'https:']);
      const { connect, headers: headersTimeout, idle: bodyTimeout } = timeouts;
      const call = { origin: url.origin, path: url.pathname + url.search, method: 'GET', headers } as const;
      pools.use(policy, connect, (agent) => {
        const send = () => void (isOver || agent.dispatch({ ...call, headersTimeout, bodyTimeout }, handler));
        const opening = openings.take(agent, url.origin);
        if (opening === null) send();
        else opening.then(send).catch(refuse);
      });
    } catch (error) {
      refuse(error);
    }
  };
}

/** Reason of connections that are closed on purpose; never reported. */
const ended = new Error('given up');

const defaults: Required<HttpTimeouts> = { connect: 10_000, headers: 30_000, idle: 15_000, total: 120_000 };

/** What bounds a call, its redirects and its body included. */
interface Call {
  timeouts: Required<HttpTimeouts>;
  /** Aborted by the caller or by the whole call's time-out. */
  signal: AbortSignal;
  /** Stops the clock: the call is over. */
  end: () => void;
}

/** Starts the clock of a call. */
function startCall(host: string, { signal, timeouts }: HttpRequest): Call {
  const limits = { ...defaults, ...timeouts };
  const clock = new AbortController();
  const late = () =>
    clock.abort(httpFailure('timeout', `${host}: the whole exchange took longer than ${limits.total} ms`));
  const timer = setTimeout(late, limits.total);
  const both = signal === undefined ? clock.signal : AbortSignal.any([signal, clock.signal]);
  return { timeouts: limits, signal: both, end: () => clearTimeout(timer) };
}

interface BodyOptions {
  host: string;
  maxBytes: number;
  /** Signal of the whole call; its reason is what the reader gets once it is aborted. */
  signal: AbortSignal;
  /** Called once, when the body has ended in whatever way. */
  done: () => void;
}

/** The body of a response under its caps: at most `maxBytes`, ended by the call's signal, errors in the port's terms. */
async function* readBody(stream: Readable, { host, maxBytes, signal, done }: BodyOptions): AsyncGenerator<Uint8Array> {
  let size = 0;
  try {
    for await (const chunk of stream) {
      const bytes = chunk as Buffer;
      size += bytes.length;
      if (size > maxBytes) throw httpFailure('body_too_large', `${host}: the answer is larger than ${maxBytes} bytes`);
      yield bytes;
    }
  } catch (error) {
    if (signal.aborted) throw signal.reason;
    throw asHttpFailure(error, host, true);
  } finally {
    stream.destroy();
    done();
  }
}

/** All chunks as one array. */
async function collect(body: AsyncIterable<Uint8Array>): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of body) chunks.push(chunk);
  return Buffer.concat(chunks);
}

/** A request as it is sent: address, method, headers in lower case, body. */
interface Outgoing {
  url: URL;
  method: string;
  headers: Record<string, string>;
  body: string | Uint8Array | null;
}

/** Headers that do not identify the client; all others stay with the origin they were meant for. */
const harmless = new Set(['accept', 'accept-language', 'accept-encoding', 'content-type', 'user-agent']);

/** Headers that frame a message or belong to the connection (RFC 9110 section 7.6.1, RFC 9112 section 6); the client's own. */
const ours = /^(host|connection|content-length|expect|keep-alive|te|trailer|transfer-encoding|upgrade|proxy-.*)$/;

/** @throws DomainError invalid_request for a header that is the client's own, or the method CONNECT. */
function outgoing(url: URL, { method = 'GET', headers = {}, body = null }: HttpRequest): Outgoing {
  const lower: Record<string, string> = {};
  for (const [name, value] of Object.entries(headers)) {
    if (ours.test(name.toLowerCase())) throw httpFailure('invalid_headers', `the header ${name} cannot be set`);
    lower[name.toLowerCase()] = value;
  }
  if (method.toUpperCase() === 'CONNECT') throw httpFailure('invalid_headers', 'the method CONNECT cannot be used');
  return { url, method: method.toUpperCase(), headers: lower, body };
}

function isRedirect(status: number): boolean {
  return [301, 302, 303, 307, 308].includes(status);
}

/**
 * The request that follows a redirect (RFC 9110 section 15.4): 303 becomes GET, and so does POST at 301 and 302, as browsers have
 * always done. Another origin gets no header that could carry a secret, and no body.
 * @throws DomainError upstream_unavailable (`redirect_invalid`): no usable Location.
 */
function redirected(from: Outgoing, status: number, location: string | string[] | undefined): Outgoing {
  const target = typeof location === 'string' ? location.trim() : '';
  const url = target === '' ? null : URL.parse(target, from.url.href);
  if (url === null || !/^https?:$/.test(url.protocol)) {
    throw httpFailure('redirect_invalid', `${from.url.host}: the redirect has no usable address`);
  }
  const dropsBody = status === 303 ? from.method !== 'HEAD' : status <= 302 && from.method === 'POST';
  const sameOrigin = url.origin === from.url.origin;
  if (!sameOrigin && !dropsBody && from.body !== null)
    throw httpFailure('redirect_invalid', `${from.url.host}: the redirect would send the body to another origin`);
  const kept = Object.entries(from.headers).filter(
    ([name]) => (sameOrigin || harmless.has(name)) && !(dropsBody && name.startsWith('content-')),
  );
  return {
    url,
    method: dropsBody ? 'GET' : from.method,
    headers: Object.fromEntries(kept),
    body: dropsBody ? null : from.body,
  };
}

const defaultMaxBytes = 100 * 1024 * 1024;

/**
 * The answer to a call as the port gives it, whose body ends the call.
 * @throws DomainError `too_large` when its declared length exceeds the limit
 */
function respond(
  answer: Dispatcher.ResponseData,
  out: Outgoing,
  request: HttpRequest,
  call: Call,
  hops: HttpHop[],
): HttpResponse {
  const maxBytes = request.maxBytes ?? defaultMaxBytes;
  const { body: stream, headers } = answer;
  // Without a listener the error of an unread body would end the process.
  stream.on('error', call.end);
  if (out.method !== 'HEAD' && Number(headers['content-length'] ?? 0) > maxBytes) {
    stream.destroy();
    throw httpFailure('body_too_large', `${out.url.host}: the answer is larger than ${maxBytes} bytes`);
  }
  const body = readBody(stream, { host: out.url.host, maxBytes, signal: call.signal, done: call.end });
  return {
    status: answer.statusCode,
    headers: headers as Record<string, string | string[]>,
    url: out.url.href,
    hops,
    body,
    bytes: () => collect(body),
    text: async () => new TextDecoder().decode(await collect(body)),
    discard() {
      stream.destroy();
      call.end();
    },
  };
}

export interface GuardedHttpOptions {
  /** `PORTICO_ALLOWED_CIDRS`: ranges every policy may reach, on any port. */
  allowedCidrs: readonly string[];
  /** `PORTICO_CA_FILE`: PEM file with CA certificates beside the built-in ones. */
  caFile?: string;
  /** Stands in for the system's name servers in tests. */
  resolve?: Resolve;
}

/** The client as engines see it. */
export interface GuardedClient extends GuardedHttp {
  exchange: Exchange;
  open: Opening;
}

/**
 * The guarded outgoing client. Environment proxies are not used and no cookies are kept.
 * @throws Error when a range cannot be parsed or the CA file cannot be read.
 */
export function createGuardedHttp({ allowedCidrs, caFile, resolve }: GuardedHttpOptions): GuardedClient {
  const guard = createGuard(parseCidrs(allowedCidrs), resolve);
  const pools = createPools(guard, trustedCertificates(caFile));
  const openings = new Openings(pools);

  async function send(out: Outgoing, request: HttpRequest, call: Call): Promise<Dispatcher.ResponseData> {
    const { host } = targetOf(out.url, ['http:', 'https:']);
    const { url, method, headers, body } = out;
    const { connect, headers: headersTimeout, idle: bodyTimeout } = call.timeouts;
    try {
      return await pools.use(request.policy, connect, (agent) =>
        agent.request({
          origin: url.origin,
          path: url.pathname + url.search,
          method: method as Dispatcher.HttpMethod,
          headers,
          body,
          signal: call.signal,
          headersTimeout,
          bodyTimeout,
        }),
      );
    } catch (error) {
      if (call.signal.aborted) throw call.signal.reason;
      throw asHttpFailure(error, host, false);
    }
  }

  async function follow(url: URL, request: HttpRequest, call: Call): Promise<HttpResponse> {
    const hops: HttpHop[] = [];
    const most = request.maxRedirections ?? 0;
    for (let out = outgoing(url, request); ; ) {
      const answer = await send(out, request, call);
      if (most === 0 || !isRedirect(answer.statusCode)) return respond(answer, out, request, call, hops);
      hops.push({ status: answer.statusCode, url: out.url.href });
      // A small body is read to keep the connection; its fate does not matter.
      answer.body.dump({ limit: 16 * 1024 }).catch(() => {});
      if (hops.length > most) throw httpFailure('redirect_too_many', `${out.url.host}: more than ${most} redirects`);
      const next = redirected(out, answer.statusCode, answer.headers.location);
      if (request.refusesDowngrade && out.url.protocol === 'https:' && next.url.protocol === 'http:')
        throw httpFailure('redirect_invalid', `${out.url.host}: the redirect leads from https to http`);
      out = next;
    }
  }

  return {
    async request(url, request) {
      const parsed = typeof url === 'string' ? URL.parse(url) : url;
      if (parsed === null) throw httpFailure('invalid_url', 'the address is not a valid URL');
      request.signal?.throwIfAborted();
      const call = startCall(parsed.host, request);
      try {
        return await follow(parsed, request, call);
      } catch (error) {
        call.end();
        throw error;
      }
    },
    check: async (url, policy) => ({ addresses: await guard(targetOf(url, ['http:', 'https:', 'ssh:']), policy) }),
    exchange: createExchange(pools, openings),
    open: openings.open,
    close: () => pools.close(),
  };
}
