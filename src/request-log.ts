import { randomUUID } from 'node:crypto';
import type { RequestHandler } from 'express';
import type { Log } from './domain/ports/log.ts';

const webhookPath = /^\/webhooks\//;

/** The path as logged: query strings of webhooks may carry a secret. */
const shown = (url: string) => (webhookPath.test(url) ? url.split('?')[0] : url.slice(0, 2048));

/**
 * Gives each request its id (`X-Request-Id`: the caller's when it is plain, else a new one) before any protocol sees it, and writes one line
 * when it ends. `observe` is told method, route template, status and seconds.
 */
export function requestLog(
  log: Log,
  observe: (method: string, route: string, status: number, seconds: number) => void,
): RequestHandler {
  return (request, response, next) => {
    const began = performance.now();
    const given = request.headers['x-request-id'];
    const id = typeof given === 'string' && /^[A-Za-z0-9._-]{1,64}$/.test(given) ? given : randomUUID();
    response.setHeader('X-Request-Id', id);
    response.once('close', () => {
      const milliseconds = performance.now() - began;
      const route: unknown = request.route?.path;
      observe(request.method, typeof route === 'string' ? route : 'other', response.statusCode, milliseconds / 1000);
      log.info(
        {
          method: request.method,
          url: shown(request.originalUrl),
          status: response.statusCode,
          duration_ms: Math.round(milliseconds * 100) / 100,
          request_id: id,
          ...response.locals.operation,
          ...(!response.writableFinished && { aborted: true }),
        },
        'request',
      );
    });
    next();
  };
}
