import path from 'node:path';
import express, { type RequestHandler, type Router } from 'express';
import type { Settings } from '../kernel/services.ts';
import { onlyGet } from './errors.ts';
import { openapiDocument } from './openapi/openapi.ts';
import type { Document } from './openapi/openapi-types.ts';
import { assetNamed, packageRoot } from './site/assets.ts';
import { createDashboard } from './site/dashboard.ts';
import { explorerPage } from './site/explorer.ts';
import { pageHeaders } from './site/layout.ts';
import { referencePage } from './site/reference.ts';
import type { Row } from './table.ts';

/** Content security policy of the pages: their own files and this server. Nothing inline, nothing from other origins, no frames. */
const policy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self'",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
];

const headers = { ...pageHeaders(policy), 'Cache-Control': 'no-cache' };

const page =
  (render: () => string): RequestHandler =>
  (_request, response) =>
    void response.set(headers).type('html').send(render());

/**
 * The pages of the service itself and the OpenAPI document of its table. Only the paths named here are answered; all others are
 * left to later handlers. Everything is public: it describes the software, and of the instance only its address.
 *
 * @param dashboard directory of the built dashboard
 */
export function createSite(
  settings: Pick<Settings, 'public_url' | 'preview_url'>,
  rows: readonly Row[],
  dashboard = path.join(packageRoot, 'dist/dashboard'),
): Router {
  // Made on first use, so that it does not delay the start.
  let made: Document | null = null;
  const document = (): Document => {
    made ??= openapiDocument(rows);
    return made;
  };
  const handlers: Record<string, RequestHandler> = {
    '/reference': page(() => referencePage(document(), settings.public_url)),
    '/explorer': page(explorerPage),
    '/api/v2/openapi.json': (_request, response) =>
      void response.set({ 'Cache-Control': 'no-cache', 'X-Content-Type-Options': 'nosniff' }).json(document()),
  };
  const router = express.Router({ strict: true, caseSensitive: true });
  for (const [path, handler] of Object.entries(handlers)) {
    router.get(path, handler);
    router.all(path, onlyGet);
  }
  router.use(createDashboard({ directory: dashboard, settings }));
  router.all('/site/:name', async (request, response, next) => {
    const asset = await assetNamed(String(request.params.name));
    if (!asset) return next();
    if (request.method !== 'GET' && request.method !== 'HEAD') return onlyGet(request, response, next);
    response.set({ ...headers, 'Content-Type': asset.type }).send(asset.content);
  });
  return router;
}
