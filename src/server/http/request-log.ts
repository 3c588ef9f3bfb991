import { randomUUID } from 'node:crypto';
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import type { RequestHandler } from 'express';
import type { Log } from '../../ports/log.ts';

/**
 * The path as logged, with the names of its query parameters: their values may be secrets, wherever a caller puts them. A path below
 * `/webhooks`, in any case, ends at the first `;` as well.
 */
function shown(url: string): string {
  const [path = '', query] = url.slice(0, 2048).split('?', 2);
  if (/^\/+webhooks\b/i.test(path)) return path.split(';', 1)[0] ?? '';
  if (query === undefined) return path;
  const names = query.split('&').flatMap((parameter) => (parameter.includes('=') ? parameter.split('=', 1) : []));
  return `${path}?${names.join('&')}`;
}

/** Called with method, route template, status and seconds. */
type Observe = (method: string, route: string, status: number, seconds: number) => void;

/** Gives a request its id: the caller's when it is plain, else a new one. */
function identify({ headers }: IncomingMessage, response: ServerResponse): string {
  const given = headers['x-request-id'];
  const id = typeof given === 'string' && /^[A-Za-z0-9._-]{1,64}$/.test(given) ? given : randomUUID();
  response.setHeader('X-Request-Id', id);
  return id;
}

/** What every line of a request says at its end. */
const ending = (response: ServerResponse, milliseconds: number, request_id: string) => ({
  status: response.statusCode,
  duration_ms: Math.round(milliseconds * 100) / 100,
  request_id,
  ...(!response.writableFinished && { aborted: true }),
});

/** Gives each request its id (`X-Request-Id`) before any protocol sees it, and writes one line when it ends. */
export function requestLog(log: Log, observe: Observe): RequestHandler {
  return (request, response, next) => {
    const began = performance.now();
    const id = identify(request, response);
    response.once('close', () => {
      const milliseconds = performance.now() - began;
      const route: unknown = request.route?.path;
      observe(request.method, typeof route === 'string' ? route : 'other', response.statusCode, milliseconds / 1000);
      const { method, originalUrl } = request;
      const about = { method, url: shown(originalUrl), ...response.locals.operation };
      log.info({ ...about, ...ending(response, milliseconds, id) }, 'request');
    });
    next();
  };
}

/**
 * The same for the preview origin: the host names the site, and the path the file. A query may hold the pass of a member, so it is never
 * written, and all requests count as one route.
 */
export function previewLog(log: Log, observe: Observe, listener: RequestListener): RequestListener {
  return (request, response) => {
    const began = performance.now();
    const id = identify(request, response);
    response.once('close', () => {
      const milliseconds = performance.now() - began;
      const { method = '', headers, url = '' } = request;
      observe(method, 'preview', response.statusCode, milliseconds / 1000);
      const about = { method, host: headers.host?.slice(0, 255), url: url.split('?', 1)[0]?.slice(0, 2048) };
      log.info({ ...about, ...ending(response, milliseconds, id) }, 'request');
    });
    return listener(request, response);
  };
}
