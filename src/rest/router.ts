import { createHash } from 'node:crypto';
import { pipeline } from 'node:stream/promises';
import express, {
  type ErrorRequestHandler,
  type Request,
  type RequestHandler,
  type Response,
  type Router,
} from 'express';
import { authenticateRequest, browserOf, isEndedSession, sessionCookie } from '../domain/identity/authenticate.ts';
import type { AllServices } from '../domain/services.ts';
import { answerMemory, ownerOf } from '../kernel/answer-memory.ts';
import { DomainError, type FieldError } from '../kernel/errors.ts';
import { type Call, NotModified } from '../kernel/operation.ts';
import { maxPerPage, type Page } from '../kernel/paging.ts';
import { recordRefusal, run, watchRights } from '../kernel/run.ts';
import { jsonBytes } from '../lib/long-output.ts';
import type { Spool } from '../ports/spool.ts';
import { asDomainError, errorBody, errorHeaders, otherMethods, statusOf } from './errors.ts';
import {
  type IgnoredFields,
  ignoredFields,
  ignoredHeader,
  ignoredWarnings,
  isStrict,
  knownPart,
  refuseIgnored,
  withWarnings,
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
      room: (bytes) => answerMemory.take(ownerOf(actor, request), bytes, response),
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
function errorHandler(services: AllServices): ErrorRequestHandler {
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

/**
 * `Link` of a list (RFC 8288): first, prev, next and last pages of the same query. A list that was answered whole is its own first and last page;
 * one that did not fit continues in pages of the ordinary size.
 */
export function linkHeader(originalUrl: string, list: Page<unknown>): string {
  const { page, total_count } = list;
  const isWhole = list.per_page > maxPerPage;
  const per_page = Math.min(list.per_page, maxPerPage);
  const to = (target: number | null, rel: string) => {
    const url = new URL(originalUrl, 'http://localhost');
    url.searchParams.delete('after');
    if (target !== null) {
      url.searchParams.set('page', String(target));
      url.searchParams.set('per_page', String(per_page));
    }
    return `<${url.pathname}${url.search}>; rel="${rel}"`;
  };
  if (isWhole && total_count <= list.per_page) return [to(null, 'first'), to(null, 'last')].join(', ');
  const last = Math.max(1, Math.ceil(total_count / per_page));
  const next = isWhole ? list.per_page / per_page + 1 : page + 1;
  const links = [to(1, 'first')];
  if (page > 1) links.push(to(Math.min(page - 1, last), 'prev'));
  if (next <= last) links.push(to(next, 'next'));
  return [...links, to(last, 'last')].join(', ');
}

const isPage = (output: unknown): output is Page<unknown> =>
  output !== null && typeof output === 'object' && 'cursors' in output && 'items' in output;

/** One JSON value a line: what log tools read. */
const lineType = 'application/x-ndjson';

function statusFor(row: Row, output: unknown): number {
  for (const [flag, status] of Object.entries(row.also ?? {})) {
    if ((output as Record<string, unknown> | null)?.[flag] === true) return status;
  }
  return row.status;
}

/** Sends JSON; a read whose operation sets no version gets one of the text itself (RFC 9110 8.8.1, weak). */
function send(row: Row, request: Request, response: Response, call: Call, json: Buffer): void {
  response.type('application/json');
  if (row.method === 'get' && !call.facts.etag) {
    const etag = `W/"${createHash('sha1')
      .update(`${response.getHeader('X-Total-Count')} `)
      .update(json)
      .digest('base64url')}"`;
    response.set('ETag', etag);
    if (request.headers['if-none-match']?.split(',').some((tag) => tag.trim() === etag)) {
      return void response.status(304).end();
    }
  }
  response.send(json);
}

/**
 * Answers with what an operation gave: in the row's own form, as lines, as a page with its links, or as JSON.
 * @param warnings of a command's request; they stand in the answer when it is an object
 */
async function answer(
  row: Row,
  input: Record<string, unknown>,
  request: Request,
  response: Response,
  call: Call,
  output: unknown,
  warnings: readonly FieldError[],
): Promise<void> {
  const body = withWarnings(row.present ? row.present.from(output as never) : output, warnings);
  if (call.facts.etag) response.set('ETag', call.facts.etag);
  if (call.facts.replayed) response.set('Idempotency-Replayed', 'true');
  const commit = ((Array.isArray(body) ? body[0] : body) as { commit?: { sha?: string } } | null)?.commit;
  if (commit?.sha) response.set('X-Commit-Sha', commit.sha);
  const status = statusFor(row, output);
  response.status(status);
  if (status === 201 && row.location)
    response.set('Location', new URL(request.originalUrl, 'http://localhost').pathname + row.location(output as never));
  if (status === 204) return void response.end();
  const accepts = (type: string) => request.accepts('application/json', type) === type;
  // A client may take long for a file.
  if (call.facts.bytes) response.once('close', watchRights(call, response));
  const raw = row.raw?.(output as never, input, call.facts.bytes, accepts);
  if (raw) {
    const { Vary, ...headers } = raw.headers ?? {};
    if (Vary !== undefined) response.vary(Vary);
    return void response.set(headers).type(raw.type).send(raw.content);
  }
  if (isPage(output)) {
    response.set('X-Total-Count', String(output.total_count));
    response.set('Link', linkHeader(request.originalUrl, output));
    if (row.lines) response.vary('Accept');
    if (row.lines && accepts(lineType))
      return void response.type(lineType).send(output.items.map((item) => `${JSON.stringify(item)}\n`).join(''));
  }
  const count = row.operation.kind === 'query' ? 'add' : 'addOfCommand';
  const watch = (bytes: number) => answerMemory[count](ownerOf(call.actor, request), bytes, response);
  send(row, request, response, call, await jsonBytes(isPage(output) ? output.items : body, watch));
}

/** What a stream holds while its client reads: the rows it has read ahead and the part it is making; bytes. */
const streamHolds = 2 * mebibyte;

/** Sends an attached stream. A fault after its first byte aborts the connection, so that no client takes a part for the whole. */
async function sendStream(row: Row, request: Request, response: Response, call: Call, output: unknown): Promise<void> {
  if (request.method !== 'HEAD') await answerMemory.take(ownerOf(call.actor, request), streamHolds, response);
  const { type = 'application/octet-stream', headers = {} } = row.stream?.(output as never) ?? {};
  response.set(headers).set('Content-Type', type).status(row.status);
  if (request.method === 'HEAD') return void response.end();
  // A pipeline listens for the end of a response in several ways, beside what does so already; more than ten look like a leak to Node.
  response.setMaxListeners(20);
  await pipeline(call.facts.stream ?? [], response).finally(watchRights(call, response));
}
