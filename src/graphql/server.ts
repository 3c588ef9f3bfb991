import { AsyncLocalStorage } from 'node:async_hooks';
import { ApolloServer, HeaderMap, type HTTPGraphQLRequest } from '@apollo/server';
import {
  ApolloServerPluginCacheControlDisabled,
  ApolloServerPluginInlineTraceDisabled,
  ApolloServerPluginLandingPageDisabled,
  ApolloServerPluginSchemaReportingDisabled,
  ApolloServerPluginUsageReportingDisabled,
} from '@apollo/server/plugin/disabled';
import type { Request, RequestHandler, Response } from 'express';
import { defaultFieldResolver, type GraphQLFieldResolver, type GraphQLFormattedError } from 'graphql';
import { authenticateRequest, browserOf, isEndedSession, sessionCookie } from '../domain/identity/authenticate.ts';
import type { AllServices } from '../domain/services.ts';
import type { Actor } from '../kernel/actor.ts';
import { answerMemory, ownerOf } from '../kernel/answer-memory.ts';
import { DomainError, type ErrorCode } from '../kernel/errors.ts';
import { readJsonBody, smallSize } from '../kernel/json-input.ts';
import { asUnavailable } from '../kernel/unavailable.ts';
import { yieldLoop } from '../lib/concurrency.ts';
import { jsonBytes } from '../lib/long-output.ts';
import type { Log } from '../ports/log.ts';
import { GraphqlContext } from './context.ts';
import { deadlineOf, timeLimits } from './deadline.ts';
import { type ErrorAudience, formatError } from './errors.ts';
import { checkSource, documentLimits } from './limits/document.ts';
import { guard } from './limits/guard.ts';
import { type AnswerBounds, answerBounds, LimitError, limits, maxErrors } from './limits/limits.ts';
import { refusedCommands, type Sent } from './refused-commands.ts';
import { buildGraphqlSchema } from './schema.ts';
import { asksForStream, Streams, streamTimes, type Times } from './stream/stream.ts';

interface Refusal {
  status: number;
  headers: Record<string, string>;
  body: { message: string; error: true; code: ErrorCode; request_id: string };
}

interface ParserFault {
  code?: string;
  status?: number;
  type?: string;
  limit?: number;
}

/** Status and headers of what can go wrong before a document is read (RFC 9110 11.6.1). */
const known: Partial<Record<ErrorCode, [status: number, headers: Record<string, string>]>> = {
  invalid_request: [400, {}],
  unauthenticated: [401, { 'WWW-Authenticate': 'Bearer' }],
  forbidden: [403, {}],
  method_not_allowed: [405, { Allow: 'GET, POST' }],
  too_large: [413, {}],
  unsupported_media: [415, {}],
  rate_limited: [429, { 'Retry-After': '1' }],
  unavailable: [503, { 'Retry-After': '1' }],
  storage_full: [503, { 'Retry-After': '30' }],
};

function asDomainError(thrown: unknown): DomainError | null {
  const error = asUnavailable(thrown);
  if (error instanceof DomainError) return error;
  const fault = error as ParserFault;
  if (fault?.type === 'entity.too.large') {
    return new DomainError('too_large', `body: must be at most ${fault.limit} bytes`);
  }
  if (fault?.type === 'entity.parse.failed') return new DomainError('invalid_request', 'body: is not valid JSON');
  if (fault?.status === 415) {
    return new DomainError('unsupported_media', 'body: its encoding is not supported; send UTF-8, plain or gzip');
  }
  if (fault?.code?.startsWith('Z_')) return new DomainError('invalid_request', 'body: is not valid gzip');
  if (fault?.status === 400) return new DomainError('invalid_request', 'body: ended before its announced length');
  return null;
}

/** The answer to a request that does not reach GraphQL: the body every other part of the API gives. */
export function refusalOf(error: unknown, request_id: string): Refusal {
  const fault = asDomainError(error);
  const shown = fault && known[fault.code] ? fault : new DomainError('internal', 'Something went wrong');
  const [status, headers] = known[shown.code] ?? [500, {}];
  return { status, headers, body: { message: shown.message, error: true, code: shown.code, request_id } };
}

/** Items that are completed between two iterations of the event loop; some five fields each make about 10 ms. */
const batch = 2_000;

/**
 * Reads fields as GraphQL does by default. The executor completes a list in one piece, half a second for 190,000 items: of a long one each batch
 * of items is a promise that waits for the batch before it, and gives way to the event loop.
 */
export const readField: GraphQLFieldResolver<unknown, unknown> = (source, args, context, info) => {
  const value: unknown = defaultFieldResolver(source, args, context, info);
  if (!Array.isArray(value) || value.length <= batch) return value;
  let before: Promise<void> = Promise.resolve();
  return value.map((item, at) => {
    if (at % batch === 0 && at > 0) before = before.then(yieldLoop);
    return before.then(() => item);
  });
};

/** Bytes of a body. What callers without a credential may run takes little. */
const bodyLimits = { known: 10 * 1024 * 1024, anonymous: smallSize };

interface Options {
  services: AllServices;
  /** Shows the schema to callers without a credential too. */
  introspection: boolean;
  /** Seconds; for tests. */
  timeLimits?: typeof timeLimits | { query: number; mutation: number };
  /** For tests. */
  streams?: Times;
}

/** Set on every response by the composition root, before any protocol sees the request. */
const requestIdOf = (response: Response) => String(response.getHeader('X-Request-Id'));

interface Current extends ErrorAudience, Pick<AnswerBounds, 'watch'> {
  context: GraphqlContext;
  /** Query, variables and name of the operation as they came. */
  sent: unknown;
}

/** The request being answered: not every hook of Apollo gets it. */
const current = new AsyncLocalStorage<Current>();

function requestNow(): Current {
  const now = current.getStore();
  if (!now) throw new Error('GraphQL outside of a request');
  return now;
}

const sentBy = (request: Request): unknown => (request.method === 'GET' ? request.query : request.body);

/** A request in Apollo's form. Where a header came several times it is one line (RFC 9110 5.3). */
function asApolloRequest(request: Request): HTTPGraphQLRequest {
  const headers = new HeaderMap();
  for (const [name, value] of Object.entries(request.headers))
    if (value !== undefined) headers.set(name, Array.isArray(value) ? value.join(', ') : value);
  const { method, url, body } = request;
  const query = url.indexOf('?');
  return { method, headers, search: query === -1 ? '' : url.slice(query), body };
}

const apolloLog = (log: Log) => ({
  debug: (message?: string) => log.debug({}, message ?? ''),
  info: (message?: string) => log.debug({}, message ?? ''),
  warn: (message?: string) => log.warn({}, message ?? ''),
  error: (message?: string) => log.error({}, message ?? ''),
});

/**
 * The text of an answer, written in steps. One that becomes too long is only the error that says so: the fields of a document may show the same
 * content many times, for which room is taken once.
 */
async function textOf(result: object): Promise<string> {
  const now = requestNow();
  try {
    return `${(await jsonBytes(result, now.watch)).toString()}\n`;
  } catch (error) {
    if (!(error instanceof DomainError)) throw error;
    return `${JSON.stringify({ errors: [formatError({ message: error.message }, error, now)] })}\n`;
  }
}

function createApollo({ log }: AllServices, introspection: boolean): ApolloServer<GraphqlContext> {
  const schema = buildGraphqlSchema();
  const anonymous: ErrorAudience = { request_id: '', anonymous: true, log };
  const format = (formatted: GraphQLFormattedError, error: unknown) =>
    formatError(formatted, error, current.getStore() ?? anonymous);
  return new ApolloServer<GraphqlContext>({
    schema,
    // Access to the schema depends on the caller: the guard decides.
    introspection: true,
    includeStacktraceInErrorResponses: false,
    csrfPrevention: true,
    allowBatchedHttpRequests: false,
    persistedQueries: false,
    stopOnTerminationSignals: false,
    logger: apolloLog(log),
    fieldResolver: readField,
    stringifyResult: textOf,
    parseOptions: { maxTokens: limits.tokens },
    validationRules: [documentLimits],
    validationOptions: { maxErrors },
    formatError: format,
    plugins: [
      refusedCommands(schema, requestNow),
      guard({ introspection, format: (error) => format({ message: error.message }, error) }),
      ApolloServerPluginCacheControlDisabled(),
      ApolloServerPluginInlineTraceDisabled(),
      ApolloServerPluginLandingPageDisabled(),
      ApolloServerPluginSchemaReportingDisabled(),
      ApolloServerPluginUsageReportingDisabled(),
    ],
  });
}

/** Answers what is refused before GraphQL is reached, in the shape REST has; a document that is too large as GraphQL does. */
function refuse({ log, settings }: AllServices, error: unknown, request: Request, response: Response): void {
  if (error instanceof LimitError) {
    const audience = { request_id: requestIdOf(response), anonymous: response.locals.actor === null, log };
    return void response.status(400).json({ errors: [formatError({ message: error.message }, error, audience)] });
  }
  const refusal = refusalOf(error, requestIdOf(response));
  if (refusal.status >= 500) log.error({ err: error, request_id: refusal.body.request_id }, 'GraphQL request failed');
  if (response.headersSent) return void response.destroy();
  if (error instanceof DomainError && isEndedSession(settings, error, request.headers))
    response.append('Set-Cookie', sessionCookie(settings, null));
  response.status(refusal.status).set(refusal.headers).json(refusal.body);
}

/** Reads the body into the request. Apollo requires that a body parser has run. */
async function readBody(request: Request, actor: Actor | null): Promise<void> {
  request.body = undefined;
  if (!request.is('application/json')) return;
  request.body = await readJsonBody(request, actor ? bodyLimits.known : bodyLimits.anonymous, actor?.id ?? null);
  if (request.body === null || typeof request.body !== 'object')
    throw new DomainError('invalid_request', 'body: must be a JSON object');
}

/**
 * The handler for `/graphql`: POST, and GET for queries. An invalid credential is refused before the body is read.
 */
export function createGraphql({
  services,
  introspection,
  timeLimits: times = timeLimits,
  streams: ofStreams = streamTimes,
}: Options): RequestHandler {
  const streams = new Streams(services, buildGraphqlSchema(), ofStreams);
  const apollo = createApollo(services, introspection);
  apollo.startInBackgroundHandlingStartupErrorsByLoggingAndFailingAllRequests();

  async function execute(request: Request, response: Response, actor: Actor | null): Promise<void> {
    const request_id = requestIdOf(response);
    const browser = browserOf(services.settings, request.headers);
    const address = request.ip ?? null;
    const owner = ownerOf(actor, request);
    const deadline = deadlineOf(response, times);
    const count = (bytes: number) =>
      answerMemory[deadline.kind === 'mutation' ? 'addOfCommand' : 'add'](owner, bytes, response);
    const { room, watch } = answerBounds({ take: (bytes) => answerMemory.take(owner, bytes, response), count });
    const context = new GraphqlContext({ services, actor, request_id, address, browser, deadline, room });
    const audience = { request_id, anonymous: actor === null, log: services.log };
    const { headers, status, body } = await current.run({ ...audience, context, watch, sent: sentBy(request) }, () =>
      apollo.executeHTTPGraphQLRequest({ httpGraphQLRequest: asApolloRequest(request), context: async () => context }),
    );
    // Sent outside of `run`: what a connection keeps until its next request would keep the context, with all that was read.
    if (body.kind !== 'complete') throw new Error('GraphQL answered in parts');
    count(body.string.length);
    response.setHeaders(headers);
    const { session } = context.answer;
    if (session !== undefined) response.append('Set-Cookie', sessionCookie(services.settings, session));
    response.status(status ?? 200).send(body.string);
  }

  async function answer(request: Request, response: Response): Promise<void> {
    if (request.method === 'OPTIONS') return void response.status(204).set('Allow', 'GET, POST').end();
    if (request.method !== 'GET' && request.method !== 'POST')
      throw new DomainError('method_not_allowed', 'Method not allowed; allowed: GET, POST');
    response.set('Cache-Control', 'private, no-store').vary('Authorization, Cookie');
    const actor = await authenticateRequest(services, { headers: request.headers, isSafe: false });
    response.locals.actor = actor;
    await readBody(request, actor);
    const { query } = (sentBy(request) ?? {}) as Sent;
    if (typeof query === 'string') checkSource(query);
    if (!asksForStream(request)) return execute(request, response, actor);
    return streams.answer({ request, response, actor, request_id: requestIdOf(response) });
  }

  return (request, response) => answer(request, response).catch((error) => refuse(services, error, request, response));
}
