import type { Dispatcher } from 'undici';
import type { HttpHop, HttpRequest, HttpResponse } from '../../domain/ports/http.ts';
import { collect, readBody } from './body.ts';
import type { Call } from './call.ts';
import { httpFailure } from './failures.ts';
import type { Outgoing } from './redirects.ts';

const defaultMaxBytes = 100 * 1024 * 1024;

/**
 * The answer to a call as the port gives it, whose body ends the call.
 * @throws DomainError `too_large` when it says by itself that it is larger than it may be
 */
export function respond(
  answer: Dispatcher.ResponseData,
  out: Outgoing,
  request: HttpRequest,
  call: Call,
  hops: HttpHop[],
): HttpResponse {
  const maxBytes = request.maxBytes ?? defaultMaxBytes;
  const { body: stream, headers } = answer;
  // Without a listener the error of a body nobody reads would end the process.
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
