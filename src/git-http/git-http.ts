import type { Readable } from 'node:stream';
import { createGunzip } from 'node:zlib';
import express, {
  type ErrorRequestHandler,
  type Request,
  type RequestHandler,
  type Response,
  type Router,
} from 'express';
import { authenticateToken, tokenOf } from '../domain/identity/authenticate.ts';
import type { AllServices } from '../domain/services.ts';
import { fetchRepository, preparePush, pushRepository } from '../domain/studio/repository/git-access.operations.ts';
import type { Actor } from '../kernel/actor.ts';
import { DomainError, type ErrorCode } from '../kernel/errors.ts';
import type { Call } from '../kernel/operation.ts';
import { run, watchRights } from '../kernel/run.ts';
import { asUnavailable } from '../kernel/unavailable.ts';
import type { GitServeRequest } from '../ports/git-transfer.ts';

type Service = GitServeRequest['service'];

const unauthenticated = () => new DomainError('unauthenticated', 'Unauthenticated');

async function actorOf(services: AllServices, request: Request): Promise<Actor> {
  const token = tokenOf(request.headers.authorization);
  const actor = token ? await authenticateToken(services, token) : null;
  if (!actor) throw unauthenticated();
  return actor;
}

function serviceOf(name: unknown): Service {
  if (name === 'git-upload-pack' || name === 'git-receive-pack') return name;
  throw new DomainError('forbidden', 'Only the smart HTTP protocol is served here; use git 1.6.6 or later');
}

/** What every operation behind a git request is called with. */
async function callOf(
  services: AllServices,
  request: Request,
  response: Response,
  signal: AbortSignal,
): Promise<Call<AllServices> & { actor: Actor }> {
  return {
    services,
    actor: await actorOf(services, request),
    conditions: {},
    signal,
    request_id: String(response.getHeader('X-Request-Id')),
    address: request.ip ?? null,
    facts: {},
  };
}

/** Ends the work for a request when the client disconnects, or when its body is damaged. */
function stopperOf(response: Response): AbortController {
  const controller = new AbortController();
  response.once('close', () => {
    // A refusal like others: no fault of ours, which would stand in the log as one.
    if (!response.writableFinished) controller.abort(new DomainError('request_timeout', 'The client went away'));
  });
  return controller;
}

/** The request's bytes, unpacked: git compresses large requests. A broken body stops the work behind the request. */
function inputOf(request: Request, stopper: AbortController): Readable {
  const encoding = request.headers['content-encoding'] ?? 'identity';
  if (encoding === 'identity') return request;
  if (encoding !== 'gzip' && encoding !== 'x-gzip') {
    throw new DomainError('unsupported_media', 'Content-Encoding: must be gzip, or absent');
  }
  // From the first moment on: an error without a listener would end the process.
  const unpacked = createGunzip().on('error', () => {
    stopper.abort(new DomainError('invalid_request', 'body: is not valid gzip'));
    request.resume();
  });
  return request.pipe(unpacked);
}

const protocolOf = (request: Request): string | null => {
  const value = request.headers['git-protocol'];
  return typeof value === 'string' && /^version=[012]$/.test(value) ? value : null;
};

const noCache = {
  'Cache-Control': 'no-cache, max-age=0, must-revalidate',
  Expires: 'Fri, 01 Jan 1980 00:00:00 GMT',
  Pragma: 'no-cache',
};

function handler(
  services: AllServices,
  serviceName: (request: Request) => unknown,
  advertise: boolean,
): RequestHandler {
  return async (request, response) => {
    const service = serviceOf(serviceName(request));
    const stopper = stopperOf(response);
    const { signal } = stopper;
    const call = await callOf(services, request, response, signal);
    const { organization, project } = request.params;
    const place = { organization, project };
    const type = { ...noCache, 'Content-Type': `application/x-${service}-${advertise ? 'advertisement' : 'result'}` };
    const open: NonNullable<Call['pack']> = () => {
      if (!advertise && request.headers['content-type'] !== `application/x-${service}-request`) {
        throw new DomainError('unsupported_media', `Content-Type: must be application/x-${service}-request`);
      }
      const input = advertise ? request : inputOf(request, stopper);
      response.set(type);
      return { protocol: protocolOf(request), input, output: response };
    };
    if (service === 'git-receive-pack' && !advertise) {
      await run(pushRepository, { ...call, pack: open }, place);
    } else {
      const { repository } = await run(
        advertise && service === 'git-receive-pack' ? preparePush : fetchRepository,
        call,
        place,
      );
      const served = { client: call.actor.id, service, advertise, signal, ...open() };
      await services.git.serve(repository, served).finally(watchRights(call, response));
    }
    response.end();
  };
}

const statusOf: Partial<Record<ErrorCode, number>> = {
  unauthenticated: 401,
  forbidden: 403,
  not_found: 404,
  method_not_allowed: 405,
  request_timeout: 408,
  invalid_request: 400,
  invalid_path: 400,
  unsupported_media: 415,
  too_large: 413,
  rate_limited: 429,
};

const asDomainError = (thrown: unknown): DomainError | null => {
  const error = asUnavailable(thrown);
  if (error instanceof DomainError) return error;
  // The router could not decode the address.
  if (error instanceof URIError) return new DomainError('invalid_path', 'The path is not valid percent-encoded UTF-8');
  return null;
};

/** The addresses of the Git LFS API (its docs/api), which clients derive from a repository's own. */
const lfs = '/info/lfs/{*api}';
const lfsType = 'application/vnd.git-lfs+json';

/** Answers an authenticated Git LFS client that there is no LFS store: its files come with the push as they are. */
function lfsHandler(services: AllServices): RequestHandler {
  return async (request, response) => {
    const call = await callOf(services, request, response, stopperOf(response).signal);
    const { organization, project } = request.params;
    await run(fetchRepository, call, { organization, project });
    const message =
      'Git LFS is not stored here: push the files themselves (git lfs migrate export), or keep them where lfs.url of .lfsconfig says';
    response.set(noCache).status(501).type(lfsType).send(JSON.stringify({ message }));
  };
}

/** Refusals as git shows them: a line of text after `remote:`; as Git LFS shows them for its own addresses. */
function errorHandler(services: AllServices): ErrorRequestHandler {
  return (error, request, response, _next) => {
    const known = asDomainError(error);
    const request_id = String(response.getHeader('X-Request-Id'));
    if (!known) services.log.error({ err: error, request_id }, 'git request failed');
    if (response.headersSent) return void response.destroy();
    const status = known ? (statusOf[known.code] ?? 503) : 500;
    if (status === 401) response.set('WWW-Authenticate', 'Basic realm="Portico"');
    // The rest of its body would be waited for.
    if (status === 408) response.set('Connection', 'close');
    if (status === 429 || status === 503) response.set('Retry-After', '1');
    const message = known?.message ?? 'Something went wrong';
    response.status(status);
    if (/\.git\/info\/lfs\//.test(request.path)) response.type(lfsType).send(JSON.stringify({ message }));
    else response.type('text/plain').send(`${message}\n`);
  };
}

/** Answers a known address with another method: OPTIONS is 204, all others are 405, both with `Allow`. */
const otherMethods =
  (allow: string): RequestHandler =>
  (request, response) => {
    response.set('Allow', allow);
    if (request.method !== 'OPTIONS')
      throw new DomainError('method_not_allowed', `Method not allowed; allowed: ${allow}`);
    response.status(204).end();
  };

/** git's smart HTTP protocol (gitprotocol-http) at `/git/{organization}/{project}.git`. */
export function createGitHttp(services: AllServices): Router {
  const router = express.Router({ caseSensitive: true });
  const base = '/git/:organization/:project.git';
  router.get(
    `${base}/info/refs`,
    handler(services, (request) => request.query.service, true),
  );
  router.all(`${base}/info/refs`, otherMethods('GET, HEAD'));
  for (const service of ['git-upload-pack', 'git-receive-pack'] as const) {
    router.post(
      `${base}/${service}`,
      handler(services, () => service, false),
    );
    router.all(`${base}/${service}`, otherMethods('POST'));
  }
  router.all(`${base}${lfs}`, lfsHandler(services));
  router.use('/git', (request) => {
    // The dumb protocol reads files; it is refused as a whole, with or without a token.
    if (/\.git\/(?:HEAD|objects\/|info\/)/.test(request.path)) serviceOf(null);
    throw new DomainError('not_found', 'No repository is here; the address is /git/<organization>/<project>.git');
  });
  router.use('/git', errorHandler(services));
  return router;
}
