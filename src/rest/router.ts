import express, {
  type ErrorRequestHandler,
  type Request,
  type RequestHandler,
  type Response,
  type Router,
} from 'express';
import { authenticateRequest, browserOf, isEndedSession, sessionCookie } from '../domain/identity/authenticate.ts';
import type { AllServices } from '../domain/services.ts';
import { DomainError } from '../kernel/errors.ts';
import { type Call, NotModified } from '../kernel/operation.ts';
import { recordRefusal, run } from '../kernel/run.ts';
import type { Spool } from '../ports/spool.ts';
import { answer, sendStream } from './answer.ts';
import { asDomainError, errorBody, errorHeaders, otherMethods, statusOf } from './errors.ts';
import {
  type IgnoredFields,
  ignoredFields,
  ignoredHeader,
  ignoredWarnings,
  isStrict,
  knownPart,
  refuseIgnored,
} from './ignored-fields.ts';
import { bodyReader, inputOf } from './input.ts';
import { mebibyte, type Row } from './table.ts';

const idempotentBodyLimit = mebibyte;

function conditionsOf(row: Row, request: Request): Call['conditions'] {
  const { 'if-match': ifMatch, 'if-none-match': ifNoneMatch } = request.headers;
  const key = request.headers['idempotency-key'];
  const small = !request.is('multipart/*') && Number(request.headers['content-length'] ?? 0) <= idempotentBodyLimit;
  return {
    ...(ifMatch !== undefined && { if_match: ifMatch }),
    ...(ifNoneMatch !== undefined && { if_none_match: ifNoneMatch }),
    ...(row.method === 'post' &&
      !row.operation.freshGrant &&
      small &&
      typeof key === 'string' && { idempotency_key: key }),
  };
}

/** An aborted request stops the work behind it; an answered one does not. */
function signalOf(response: Response): AbortSignal {
  const controller = new AbortController();
  response.once('close', () => {
    if (!response.writableFinished) controller.abort();
  });
  return controller.signal;
}

/** Set on every response by the composition root, before any protocol sees the request. */
const requestIdOf = (response: Response) => String(response.getHeader('X-Request-Id'));

function setIgnored(response: Response, ignored: IgnoredFields, idle?: readonly string[]): void {
  const header = ignoredHeader(ignored, idle);
  if (header) response.set('X-Ignored-Fields', header);
}

/** Reads what a request sends, its files and signed bytes into the call. @throws DomainError, or what Express's parsers throw */
function requestReader(row: Row) {
  const readBody = bodyReader(row);
  const { input: schema } = row.operation;
  return async (request: Request, response: Response, call: Call, spool: Spool) => {
    Object.assign(call, await readBody(request, response, call, spool));
    const given = inputOf(row, request);
    const inPath = Object.keys(request.params);
    const ignored = ignoredFields(schema, given, inPath);
    setIgnored(response, ignored);
    if (isStrict(request.get('prefer'))) {
      response.set('Preference-Applied', 'handling=strict');
      call.strict = true;
      refuseIgnored(ignored);
    }
    return { input: knownPart(schema, given, inPath), ignored };
  };
}

function handlerFor(row: Row, services: AllServices): RequestHandler {
  const read = requestReader(row);
  return async (request, response) => {
    const isSafe = row.method === 'get';
    const actor = await authenticateRequest(services, { headers: request.headers, isSafe });
    // An unauthenticated request is refused before a byte of the body is read.
    if (!actor && row.operation.permission !== 'public') throw new DomainError('unauthenticated', 'Unauthenticated');
    const call: Call = {
      services,
      actor,
      conditions: conditionsOf(row, request),
      signal: signalOf(response),
      request_id: requestIdOf(response),
      address: request.ip ?? null,
      browser: browserOf(services.settings, request.headers),
      facts: {},
    };
    const { organization } = request.params;
    // For the request's line in the log, which names the caller as well.
    response.locals.operation = { operation: row.operation.name, actor: actor?.id ?? null, organization };
    response.set({ 'Cache-Control': row.secret ? 'no-store' : 'private, no-cache' }).vary('Authorization, Cookie');
    const spool = services.spools.open();
    const { input, ignored } = await read(request, response, call, spool).catch(async (error: unknown) => {
      await spool.close();
      await recordRefusal(row.operation, call, request.params, error);
      throw error;
    });
    try {
      const output = await run(row.operation, call, input).finally(() => spool.close());
      if (call.facts.ignored) setIgnored(response, ignored, call.facts.ignored);
      const warnings = row.operation.kind === 'command' ? ignoredWarnings(ignored, call.facts.ignored) : [];
      if (call.facts.stream) await sendStream(row, request, response, call, output);
      else await answer(row, input, request, response, call, output, warnings);
    } catch (error) {
      if (!(error instanceof NotModified)) throw error;
      response
        .set('ETag', call.facts.etag ?? '')
        .status(304)
        .end();
    }
  };
}

/** The last handler: every refusal in one shape, every fault of ours with a fixed text and its cause in the log. */
export function errorHandler(services: AllServices): ErrorRequestHandler {
  return (error, request, response, _next) => {
    // What a parser has begun to read and nothing reads on would stand before the next request of the connection.
    request.unpipe();
    request.resume();
    const known = asDomainError(error);
    const id = requestIdOf(response);
    if (!known) services.log.error({ err: error, request_id: id }, 'request failed');
    else if (known.cause !== undefined)
      services.log.warn({ err: known.cause, request_id: id, code: known.code }, known.message);
    if (response.headersSent) return void response.destroy();
    if (known && isEndedSession(services.settings, known, request.headers))
      response.append('Set-Cookie', sessionCookie(services.settings, null));
    const shown = known ?? new DomainError('internal', 'Something went wrong');
    response.status(statusOf[shown.code]).set(errorHeaders(shown)).json(errorBody(shown, id));
  };
}

/** Serves a table of rows; a known path with another method is answered with `Allow`. */
export function createRouter(rows: readonly Row[], services: AllServices): Router {
  const router = express.Router({ strict: true, caseSensitive: true });
  for (const [path, ofPath] of Map.groupBy(rows, ({ path }) => path)) {
    // One route per path: to compile its pattern for each row is a good part of a start.
    const route = router.route(path);
    for (const row of ofPath) route[row.method](handlerFor(row, services));
    const known = ofPath.flatMap(({ method }) => (method === 'get' ? ['GET', 'HEAD'] : [method.toUpperCase()]));
    // A path may be that of several routes, such as one with a name and one with a parameter in its place.
    route.all((_request, response, next) => {
      response.locals.known = [...(response.locals.known ?? []), ...known];
      next();
    });
  }
  router.use((request, response, next) => {
    const { known } = response.locals as { known?: string[] };
    if (known) return otherMethods([...new Set(known)].sort())(request, response, next);
    throw new DomainError('not_found', `Nothing is at ${request.path.slice(0, 200)}`);
  });
  router.use(errorHandler(services));
  return router;
}
