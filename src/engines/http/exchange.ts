import type { Dispatcher } from 'undici';
import { type Exchange, type Flow, NotSent } from '../../ports/exchange.ts';
import { asHttpFailure, httpFailure } from './failures.ts';
import { targetOf } from './guard.ts';
import type { Openings } from './opening.ts';
import type { Pools } from './pools.ts';

/** Informational answers (RFC 9110 15.2) before the one that counts; each would give it another time to come. */
const mostInformational = 20;

/** The port on undici's dispatchers. */
export function createExchange(pools: Pools, openings: Openings): Exchange {
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
