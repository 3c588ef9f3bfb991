import express, { type RequestHandler, type Router } from 'express';
import { DomainError } from '../domain/errors.ts';
import type { Settings } from '../domain/services.ts';
import { errorBody, statusOf } from './errors.ts';
import { openapiDocument } from './openapi.ts';
import type { Document } from './openapi-types.ts';
import { assetNamed } from './site/assets.ts';
import { explorerPage } from './site/explorer.ts';
import { homePage } from './site/home.ts';
import { referencePage } from './site/reference.ts';
import { setupPage } from './site/setup.ts';
import type { Row } from './table.ts';

/** What the pages may do: load their own files and call this server. Nothing inline, nothing from elsewhere, in nobody's frame. */
const policy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self'",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

const headers = {
  'Content-Security-Policy': policy,
  'X-Content-Type-Options': 'nosniff',
  'X-Frame-Options': 'DENY',
  'Referrer-Policy': 'no-referrer',
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Cross-Origin-Resource-Policy': 'same-origin',
  'Cache-Control': 'no-cache',
};

const page =
  (render: () => string): RequestHandler =>
  (_request, response) =>
    void response.set(headers).type('html').send(render());

/** A known path with another method is 405, as everywhere. */
const onlyGet: RequestHandler = (_request, response) => {
  const error = new DomainError('method_not_allowed', 'This path knows GET, HEAD');
  response
    .status(statusOf[error.code])
    .set('Allow', 'GET, HEAD')
    .json(errorBody(error, String(response.getHeader('X-Request-Id'))));
};

/**
 * The pages of the service itself and the OpenAPI document of its table. Only the paths named here are answered; all others are
 * left to those that come after. Everything is public: it says what the software does, and of the instance only its address.
 */
export function createSite(settings: Pick<Settings, 'public_url'>, rows: readonly Row[]): Router {
  // Made when first asked for, so that no start waits for it.
  let made: Document | null = null;
  const document = (): Document => {
    made ??= openapiDocument(rows);
    return made;
  };
  const handlers: Record<string, RequestHandler> = {
    '/': page(() => homePage(settings.public_url)),
    '/setup': page(setupPage),
    '/reference': page(() => referencePage(document(), settings.public_url)),
    '/explorer': page(explorerPage),
    '/api/v2/openapi.json': (_request, response) =>
      void response.set({ 'Cache-Control': 'no-cache', 'X-Content-Type-Options': 'nosniff' }).json(document()),
    '/site/:name': async (request, response, next) => {
      const asset = await assetNamed(String(request.params.name));
      if (asset) response.set({ ...headers, 'Content-Type': asset.type }).send(asset.content);
      else next();
    },
  };
  const router = express.Router({ strict: true, caseSensitive: true });
  for (const [path, handler] of Object.entries(handlers)) {
    router.get(path, handler);
    if (!path.startsWith('/site/')) router.all(path, onlyGet);
  }
  return router;
}
