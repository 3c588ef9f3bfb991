import type { Request, RequestHandler, Response } from 'express';
import type { WebhookEndpoint } from '../domain/workflows/webhook/webhook.ts';
import type { BodyEnd, WebhookResponse } from '../domain/workflows/webhook/webhook-call.ts';

const path = /^\/webhooks\/ai\/workflows\/(.*)$/s;

/** What an absolute request target has before its path; servers take one like the path alone (RFC 9112, 3.2.2). */
const authority = /^https?:\/\/[^/?#]*/i;

/** How much of an unused body is still read, so that its sender can read the answer; bytes, milliseconds. */
const drained = { bytes: 1024 * 1024, milliseconds: 1_000 };

interface Options {
  /** Milliseconds a body may take in all. */
  bodyTime?: number;
}

/** Hands a body over piece by piece, and leaves the connection as it is. */
function reading(request: Request, bodyTime: number) {
  return (take: (chunk: Uint8Array) => boolean | Promise<boolean>): Promise<BodyEnd> =>
    new Promise((resolve) => {
      let isOver = false;
      const finish = (end: BodyEnd) => {
        isOver = true;
        clearTimeout(timer);
        request.off('data', onData).off('end', onEnd).off('close', onGone).off('error', onGone);
        if (end !== 'whole') request.pause();
        resolve(end);
      };
      const goOn = (isWanted: boolean) => {
        if (isOver) return;
        if (isWanted) request.resume();
        else finish('stopped');
      };
      const onData = (chunk: Buffer) => {
        const isWanted = take(chunk);
        if (isWanted === false) finish('stopped');
        if (isWanted === true || isWanted === false) return;
        request.pause();
        void isWanted.then(goOn);
      };
      const onEnd = () => finish('whole');
      // What is complete but was not handed over is lost with its connection.
      const onGone = () => finish(request.complete && request.readableLength === 0 ? 'whole' : 'gone');
      const timer = setTimeout(() => finish('slow'), bodyTime);
      if (request.destroyed) return finish('gone');
      request.on('data', onData).on('end', onEnd).on('close', onGone).on('error', onGone);
    });
}

/** Reads and forgets what is left of a body, within bounds. */
function drain(request: Request): Promise<void> {
  return new Promise((resolve) => {
    let left = drained.bytes;
    const timer = setTimeout(finish, drained.milliseconds);
    function finish() {
      clearTimeout(timer);
      request.off('data', onData).off('end', finish).off('close', finish);
      resolve();
    }
    function onData(chunk: Buffer) {
      left -= chunk.length;
      if (left < 0) finish();
    }
    request.on('data', onData).on('end', finish).on('close', finish).resume();
  });
}

const hasMore = (request: Request) =>
  !request.complete &&
  (request.headers['transfer-encoding'] !== undefined || Number(request.headers['content-length'] ?? 0) > 0);

async function send(request: Request, response: Response, { status, body, headers }: WebhookResponse): Promise<void> {
  // A string is sent in one piece with the head.
  const text = JSON.stringify(body);
  const all = {
    ...headers,
    'Content-Type': 'application/json; charset=utf-8',
    'Cache-Control': 'no-store',
    'Content-Length': String(Buffer.byteLength(text)),
  };
  if (!hasMore(request)) return void response.writeHead(status, all).end(text);
  // The whole answer is sent now, but the end of the connection waits: closed at once, it would be reset before the sender has read it.
  response.writeHead(status, { ...all, Connection: 'close' }).flushHeaders();
  response.write(text);
  await drain(request);
  response.end();
  response.once('finish', () => request.socket.destroySoon());
}

/**
 * The address outside services call. It has no sessions, cookies or cross-origin rules, and reads no body that the domain does not need; a
 * process that is draining accepts calls until its listener closes, because senders do not always retry.
 */
export function createWebhook(endpoint: WebhookEndpoint, { bodyTime = 30_000 }: Options = {}): RequestHandler {
  return async (request, response, next) => {
    const [pathname = '', ...query] = request.originalUrl.replace(authority, '').split('?');
    const match = path.exec(pathname);
    if (!match) return next();
    // The label of the request in the metrics.
    request.route = { path: '/webhooks/ai/workflows/:workflow' };
    const answer = await endpoint.answer({
      workflow: match[1] ?? '',
      method: request.method,
      rawHeaders: request.rawHeaders,
      query: query.join('?'),
      address: request.ip ?? null,
      readBody: reading(request, bodyTime),
    });
    if (!response.destroyed) await send(request, response, answer);
  };
}
