import type { RequestHandler } from 'express';

/** What pages of other origins may read of an answer beside what browsers show them anyway (Fetch, "CORS-safelisted response-header name"). */
const exposed = [
  'X-Request-Id',
  'X-Ignored-Fields',
  'Preference-Applied',
  'X-Total-Count',
  'X-Commit-Sha',
  'X-Next-Offset',
  'X-Log-Complete',
  'Idempotency-Replayed',
  'ETag',
  'Link',
  'Location',
  'Allow',
  'Retry-After',
  'RateLimit',
  'RateLimit-Policy',
  'WWW-Authenticate',
  'Content-Disposition',
].join(', ');

/** What they may send, beside what they always may; `*` does not stand for Authorization. */
const accepted = [
  'Authorization',
  'Content-Type',
  'If-Match',
  'If-None-Match',
  'Idempotency-Key',
  'Prefer',
  'Range',
  'X-Request-Id',
  'Apollo-Require-Preflight',
].join(', ');
const methods = 'GET, HEAD, POST, PUT, PATCH, DELETE';
/** How long a browser may keep the answer to a preflight, seconds. */
const kept = '600';

/**
 * Lets pages of some origins use the API with bearer tokens (Fetch, "CORS protocol"). Never with cookies: no answer allows credentials, so a
 * browser neither sends them nor shows what they would have got. Answers preflights of these origins.
 *
 * @param origins as browsers send them, such as `https://app.example.org`
 */
export function allowOrigins(origins: readonly string[]): RequestHandler {
  const allowed = new Set(origins);
  return (request, response, next) => {
    if (allowed.size === 0) return next();
    // Also without Origin, or a cache would give one page what was answered to another.
    response.vary('Origin');
    const { origin } = request.headers;
    if (origin === undefined || !allowed.has(origin)) return next();
    response.set({ 'Access-Control-Allow-Origin': origin, 'Access-Control-Expose-Headers': exposed });
    if (request.method !== 'OPTIONS' || request.headers['access-control-request-method'] === undefined) return next();
    response.set({
      'Access-Control-Allow-Methods': methods,
      'Access-Control-Allow-Headers': accepted,
      'Access-Control-Max-Age': kept,
    });
    response.status(204).end();
  };
}
