import { readFileSync } from 'node:fs';
import { getCACertificates } from 'node:tls';
import type { Dispatcher } from 'undici';
import type { Exchange, Opening } from '../../domain/ports/exchange.ts';
import type { GuardedHttp, HttpHop, HttpRequest, HttpResponse } from '../../domain/ports/http.ts';
import { parseCidrs } from './address.ts';
import { type Call, startCall } from './call.ts';
import { createExchange } from './exchange.ts';
import { asHttpFailure, httpFailure } from './failures.ts';
import { createGuard, type Resolve, targetOf } from './guard.ts';
import { Openings } from './opening.ts';
import { createPools } from './pools.ts';
import { isRedirect, type Outgoing, outgoing, redirected } from './redirects.ts';
import { respond } from './response.ts';

export interface GuardedHttpOptions {
  /** `PORTICO_ALLOWED_CIDRS`: ranges every policy may reach, on any port. */
  allowedCidrs: readonly string[];
  /** `PORTICO_CA_FILE`: PEM file with roots beside the built-in ones. */
  caFile?: string;
  /** Stands in for the system's resolver in tests. */
  resolve?: Resolve;
}

/** The client as engines see it. */
export interface GuardedClient extends GuardedHttp {
  exchange: Exchange;
  open: Opening;
}

/**
 * The guarded outgoing client. Environment proxies are not used and no cookies are kept.
 * @throws Error when a range cannot be parsed or the roots cannot be read.
 */
export function createGuardedHttp({ allowedCidrs, caFile, resolve }: GuardedHttpOptions): GuardedClient {
  const guard = createGuard(parseCidrs(allowedCidrs), resolve);
  const ca = [...getCACertificates('default'), ...(caFile === undefined ? [] : [readFileSync(caFile, 'utf8')])];
  const pools = createPools(guard, ca);
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
