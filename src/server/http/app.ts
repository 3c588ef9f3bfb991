import { randomUUID } from 'node:crypto';
import { rm, stat, statfs, writeFile } from 'node:fs/promises';
import path from 'node:path';
import express, { type RequestHandler } from 'express';
import { isCurrent } from '../../db/migrate.ts';
import { credentialOf, type RequestHeaders } from '../../domain/identity/authenticate.ts';
import type { AllServices } from '../../domain/services.ts';
import { transportHeaders } from '../../domain/studio/previews/preview-origin.ts';
import { createGitHttp } from '../../git-http/git-http.ts';
import { DomainError } from '../../kernel/errors.ts';
import { createHealth, createMetricsRoute, type Phase } from '../../rest/health.ts';
import { createOpenIdRoutes } from '../../rest/openid.ts';
import { createRouter } from '../../rest/router.ts';
import { routes } from '../../rest/routes.ts';
import { createSite } from '../../rest/site.ts';
import { createWebhook } from '../../rest/webhook.ts';
import type { Config } from '../config.ts';
import type { Core } from '../core.ts';
import { limitBodyTime, limitCallers, refuse, refuseSeveralCredentials } from './request-limits.ts';
import { requestLog } from './request-log.ts';

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
function allowOrigins(origins: readonly string[]): RequestHandler {
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

/** Directories of a data directory in which files are made; each may be a disk of its own. */
const written = ['', 'git', 'blobs', 'blob-journal', 'postgres/data'];

/** A disk with less than this counts as full, bytes: what is saved is mostly smaller, and PostgreSQL extends tables by less. */
const least = 1024 * 1024;
/** What is written to find out what free blocks do not show: quotas, inodes, a file system that has become read-only. */
const probeBytes = 16 * 1024;
/** How long a finding is good for, milliseconds; so that nothing can be made to write by asking. */
const goodFor = 2_000;

async function hasRoom(directory: string): Promise<boolean> {
  const probe = path.join(directory, `.probe-${randomUUID()}`);
  try {
    const { bavail, bsize } = await statfs(directory);
    if (bavail * bsize < least) return false;
    await writeFile(probe, Buffer.alloc(probeBytes), { flag: 'wx', mode: 0o600, flush: true });
    return true;
  } catch (error) {
    // Made when it is first needed.
    return (error as NodeJS.ErrnoException).code === 'ENOENT';
  } finally {
    await rm(probe, { force: true }).catch(() => {});
  }
}

/** Whether files can be written below a data directory; tried at most every two seconds. */
function storageCheck(dataDir: string): () => Promise<boolean> {
  let known: { at: number; answer: Promise<boolean> } | null = null;
  return () => {
    if (known === null || performance.now() - known.at > goodFor) {
      const directories = written.map((name) => path.join(dataDir, name));
      const answer = Promise.all(directories.map(hasRoom)).then((all) => all.every(Boolean));
      known = { at: performance.now(), answer };
    }
    return known.answer;
  };
}

const maxUrl = 16 * 1024;
/** A JSON body must have come in after so many milliseconds. */
const bodyTime = 60_000;

/** GraphQL is a sixth of the program: it is loaded by the first request to it, not at the start. */
function lazyGraphql(services: AllServices, config: Config): express.RequestHandler {
  let handler: Promise<express.RequestHandler> | undefined;
  return async (request, response, next) => {
    handler ??= import('../../graphql/server.ts').then(({ createGraphql }) =>
      createGraphql({ services, introspection: config.PORTICO_GRAPHQL_INTROSPECTION === 'on' }),
    );
    return (await handler)(request, response, next);
  };
}

/** The same for the Model Context Protocol, which few use. */
function lazyMcp(services: AllServices, config: Config): express.RequestHandler {
  let handler: Promise<express.RequestHandler> | undefined;
  return async (request, response, next) => {
    handler ??= import('../../mcp/mcp.ts').then(({ createMcp }) => createMcp(services, config.PORTICO_CORS_ORIGINS));
    return (await handler)(request, response, next);
  };
}

/**
 * Keeps answers to pages of this origin: a browser also sends the session with what a page of the same site, such as a preview, loads as an image
 * or a script, and its size or its effects would show what is there. What CORS allows is not affected.
 */
const keepToOrigin: express.RequestHandler = (_request, response, next) => {
  response.set({ 'X-Content-Type-Options': 'nosniff', 'Cross-Origin-Resource-Policy': 'same-origin' });
  next();
};

/** An express application without routes, which logs and counts its requests. */
function emptyApp({ services, metrics }: Core, config: Config): express.Express {
  const app = express();
  app.disable('x-powered-by');
  app.set('query parser', 'simple');
  // Versions are named by the operations; a hash of the text would change with every request id.
  app.set('etag', false);
  app.set('trust proxy', config.PORTICO_TRUSTED_PROXIES.length > 0 ? config.PORTICO_TRUSTED_PROXIES : false);
  const keepEncrypted: express.RequestHandler = (_request, response, next) => {
    response.set(transportHeaders(services.settings.public_url));
    next();
  };
  return app.use(requestLog(services.log, metrics.http), keepToOrigin, keepEncrypted);
}

/** An application that says how a process is, and nothing else yet. */
function beginApp(core: Core, config: Config, phase: () => Phase): express.Express {
  const { services, metrics, queue, kms } = core;
  const app = emptyApp(core, config);
  app.use(
    createHealth({
      phase,
      roles: config.PORTICO_ROLES,
      checks: {
        database: async () => (await services.orm.em.fork().execute('select 1')).length === 1,
        migrations: () => isCurrent(services.orm),
        queue: () => queue.healthy(),
        keys: async () => (await kms.health()).ok,
        repositories: async () => (await stat(config.PORTICO_DATA_DIR)).isDirectory(),
        storage: storageCheck(config.PORTICO_DATA_DIR),
      },
    }),
  );
  if (config.PORTICO_METRICS_PORT === undefined)
    app.use(createMetricsRoute(config.PORTICO_METRICS_TOKEN, metrics.render));
  return app;
}

const nothingBut = (sentence: string): express.RequestHandler => {
  return (request, response) => refuse(request, response, new DomainError('not_found', sentence), {});
};

/** What a worker serves: how it is, and no more. */
export const createWorkerApp = (core: Core, config: Config, phase: () => Phase): express.Express =>
  beginApp(core, config, phase).use(nothingBut('A worker serves nothing but /healthz, /readyz and /metrics'));

/** What a listener for metrics alone serves (`PORTICO_METRICS_PORT`); it requires the token too. */
export const createMetricsApp = (core: Core, config: Config): express.Express =>
  emptyApp(core, config)
    .use(createMetricsRoute(config.PORTICO_METRICS_TOKEN, core.metrics.render))
    .use(nothingBut('This port serves nothing but /metrics'));

/** The express application over a core; `phase` reports readiness: from the end of the start until the listener closes. */
export function createApp(core: Core, config: Config, phase: () => Phase = () => 'ready'): express.Express {
  const { services } = core;
  const app = beginApp(core, config, phase);
  app.use(createWebhook(core.webhook));
  app.use((request, response, next) => {
    if (request.originalUrl.length <= maxUrl) return next();
    const error = new DomainError('uri_too_long', `The URL is longer than ${maxUrl} bytes`);
    refuse(request, response, error, { Connection: 'close' });
  });
  const limits = {
    clock: services.clock,
    credentialOf: (headers: RequestHeaders) => credentialOf(services.settings, headers),
    failureLimit: config.PORTICO_AUTH_FAILURE_LIMIT,
    rateLimit: config.PORTICO_RATE_LIMIT,
    isAccepted: (credential: string) => services.grants.isAccepted(credential),
  };
  app.use(['/api/v2', '/graphql', '/mcp'], allowOrigins(config.PORTICO_CORS_ORIGINS));
  app.use(['/api/v2', '/graphql', '/mcp', '/git'], refuseSeveralCredentials, limitCallers(limits));
  app.use(['/api/v2', '/graphql', '/mcp'], limitBodyTime(bodyTime));
  app.use(createGitHttp(services));
  app.all('/graphql', lazyGraphql(services, config));
  app.all('/mcp', lazyMcp(services, config));
  app.use(createOpenIdRoutes(services));
  app.use(createSite(services.settings, routes));
  app.use(createRouter(routes, services));
  return app;
}
