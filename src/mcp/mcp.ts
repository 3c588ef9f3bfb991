/**
 * The endpoint of the Model Context Protocol at `/mcp`: Streamable HTTP without sessions, revision 2026-07-28 and those of 2025 alike. A request
 * brings an API token; what it can do is what the token can.
 */

import { toNodeHandler } from '@modelcontextprotocol/node';
import { type AuthInfo, createMcpHandler } from '@modelcontextprotocol/server';
import type { ErrorRequestHandler, Request, RequestHandler } from 'express';
import express from 'express';
import { authenticateToken } from '../domain/identity/authenticate.ts';
import type { AllServices } from '../domain/services.ts';
import type { Actor } from '../kernel/actor.ts';
import { answerMemory, ownerOf } from '../kernel/answer-memory.ts';
import { DomainError, type ErrorCode, fieldError } from '../kernel/errors.ts';
import { readJsonBody } from '../kernel/json-input.ts';
import { createServer, type McpRequest, shownFault } from './server.ts';

/** Most bytes of a message. */
const bodyLimit = 10 * 1024 * 1024;

/** Most values of a message, but for those within the arguments of a tool: names of objects and items of lists, all in all. */
const mostValues = 1_000;

/** Most characters of the texts and names of a message, but for texts within the arguments of a tool: answers repeat some of them whole. */
const mostText = 64 * 1024;

/** Characters of a name of the caller's own that a refusal repeats. */
const shownName = 100;

const loopback = new Set(['localhost', '127.0.0.1', '[::1]']);

const hostOf = (address: string) => {
  try {
    const { hostname, username, password } = new URL(address);
    return username === '' && password === '' ? hostname : null;
  } catch {
    return null;
  }
};

/**
 * Refuses what a page of another site may have sent under a name of its own that leads here (DNS rebinding): the host has to be that of the service,
 * or this machine, and the origin of a browser the service's own or one it allows.
 * @throws DomainError `forbidden`
 */
function checkSource({ headers }: Request, { public_url }: AllServices['settings'], origins: readonly string[]): void {
  const host = hostOf(`http://${headers.host ?? ''}`);
  if (host === null || (host !== hostOf(public_url) && !loopback.has(host)))
    throw new DomainError('forbidden', 'Host: is not the address of this service, which PORTICO_PUBLIC_URL names');
  const { origin } = headers;
  const isOwn = origin === new URL(public_url).origin || origin?.replace(/^https?:\/\//, '') === headers.host;
  if (origin !== undefined && !isOwn && !origins.includes(origin))
    throw new DomainError('forbidden', 'Origin: may not use this service; PORTICO_CORS_ORIGINS names those that may');
}

/** @throws DomainError `unauthenticated` */
async function actorOf(services: AllServices, { headers: { authorization } }: Request): Promise<Actor> {
  const token = /^Bearer +(\S+) *$/i.exec(authorization ?? '')?.[1];
  const actor = token === undefined ? null : await authenticateToken(services, token);
  if (!actor || actor.run !== undefined)
    throw new DomainError('unauthenticated', 'Unauthenticated: send an API token as Authorization: Bearer');
  return actor;
}

/**
 * Bounds what the library walks before any handler sees it. It does so several times without a pause, and is slow with objects of many names.
 * It passes on the arguments of a tool by their names alone; what they hold is measured by the operation that the tool calls.
 * @throws DomainError `invalid_request`
 */
function checkExtent(message: unknown): void {
  const check = (size: number, most: number, { field }: { field: string }, what: string) => {
    if (size <= most) return;
    const beyond = `the message has more than ${most} ${what} besides those within arguments of a tool; send fewer`;
    throw fieldError('invalid_request', field, beyond);
  };
  const isCall = (message as { method?: unknown } | null)?.method === 'tools/call';
  const left: { field: string; value: unknown; level: number }[] = [{ field: 'body', value: message, level: 0 }];
  let values = 0;
  let text = 0;
  let largest = { field: 'body', size: 0 };
  let longest = largest;
  const addText = (field: string, more: string) => {
    text += more.length;
    if (more.length > longest.size) longest = { field, size: more.length };
    check(text, mostText, longest, 'characters');
  };
  for (let next = left.pop(); next; next = left.pop()) {
    const { field, value, level } = next;
    if (typeof value === 'string') addText(field, value);
    if (value === null || typeof value !== 'object') continue;
    const names = Object.keys(value);
    values += names.length;
    if (names.length > largest.size) largest = { field, size: names.length };
    check(values, mostValues, largest, 'values');
    for (const name of names) addText(field, name);
    if (isCall && level === 2 && field === 'params.arguments') continue;
    for (const name of names) {
      const at = level === 0 ? name : level < 3 ? `${field}.${name}` : field;
      left.push({ field: at.slice(0, shownName), value: (value as Record<string, unknown>)[name], level: level + 1 });
    }
  }
}

/** Passes an answer on, and counts its bytes so far before each chunk. */
function countingStream(count: (bytes: number) => void): TransformStream<Uint8Array, Uint8Array> {
  let bytes = 0;
  return new TransformStream({
    transform(chunk, controller) {
      bytes += chunk.byteLength;
      count(bytes);
      controller.enqueue(chunk);
    },
  });
}

const statusOf: Partial<Record<ErrorCode, number>> = {
  unauthenticated: 401,
  forbidden: 403,
  request_timeout: 408,
  too_large: 413,
  unsupported_media: 415,
  rate_limited: 429,
  unavailable: 503,
  storage_full: 503,
};

/** A request that no server takes: an error of JSON-RPC without the id it cannot know. */
const answerFault =
  (services: AllServices): ErrorRequestHandler =>
  (thrown, request, response, _next) => {
    request.resume();
    const request_id = String(response.getHeader('X-Request-Id'));
    const known = shownFault(thrown, services, request_id);
    if (response.headersSent) return void response.destroy();
    if (known.code === 'unauthenticated') response.set('WWW-Authenticate', 'Bearer');
    const code = known.code === 'internal' ? -32_603 : -32_600;
    response.status(statusOf[known.code] ?? (known.code === 'internal' ? 500 : 400)).json({
      jsonrpc: '2.0',
      id: null,
      error: { code, message: known.message, data: { code: known.code, request_id } },
    });
  };

/** @param origins of pages that may use it beside the service's own */
export function createMcp(services: AllServices, origins: readonly string[]): RequestHandler {
  const { log, settings } = services;
  const handler = createMcpHandler(
    ({ authInfo }) => createServer(authInfo?.extra?.request as McpRequest, settings.version),
    { maxRequestBodySize: bodyLimit, onerror: (err) => log.debug({ err }, 'MCP request refused') },
  );
  const counted: Pick<typeof handler, 'fetch'> = {
    async fetch(request, options) {
      const answer = await handler.fetch(request, options);
      const own = options?.authInfo?.extra?.request as McpRequest | undefined;
      if (answer.body === null || own === undefined) return answer;
      return new Response(answer.body.pipeThrough(countingStream(own.count)), answer);
    },
  };
  const serve = toNodeHandler(counted, { onerror: (err) => log.error({ err }, 'MCP request failed') });
  const router = express.Router();
  router.use(async (request, response) => {
    checkSource(request, settings, origins);
    const actor = await actorOf(services, request);
    const body = request.method === 'POST' ? await readJsonBody(request, bodyLimit, actor.id) : undefined;
    // Only the first revision had them, and each message may take what a request may.
    if (Array.isArray(body)) throw new DomainError('invalid_request', 'body: must be one message; send each by itself');
    checkExtent(body);
    const own: McpRequest = {
      services,
      actor,
      request_id: String(response.getHeader('X-Request-Id')),
      address: request.ip ?? null,
      room: (bytes) => answerMemory.take(ownerOf(actor, request), bytes, response),
      count: (bytes) => answerMemory.addOfCommand(ownerOf(actor, request), bytes, response),
    };
    response.set('Cache-Control', 'no-store');
    const auth: AuthInfo = { token: '', clientId: actor.id, scopes: [], extra: { request: own } };
    await serve(Object.assign(request, { auth }), response, body);
  });
  router.use(answerFault(services));
  return router;
}
