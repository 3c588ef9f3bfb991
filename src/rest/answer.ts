import { createHash } from 'node:crypto';
import { pipeline } from 'node:stream/promises';
import type { Request, Response } from 'express';
import type { FieldError } from '../kernel/errors.ts';
import type { Call } from '../kernel/operation.ts';
import { maxPerPage, type Page } from '../kernel/paging.ts';
import { jsonBytes } from '../lib/long-output.ts';
import { withWarnings } from './ignored-fields.ts';
import type { Row } from './table.ts';

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
export async function answer(
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
  send(row, request, response, call, await jsonBytes(isPage(output) ? output.items : body));
}

/** Sends an attached stream. A fault after its first byte aborts the connection, so that no client takes a part for the whole. */
export async function sendStream(
  row: Row,
  request: Request,
  response: Response,
  call: Call,
  output: unknown,
): Promise<void> {
  const { type = 'application/octet-stream', headers = {} } = row.stream?.(output as never) ?? {};
  response.set(headers).set('Content-Type', type).status(row.status);
  if (request.method === 'HEAD') return void response.end();
  await pipeline(call.facts.stream ?? [], response);
}
