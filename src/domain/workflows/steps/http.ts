import { promisify } from 'node:util';
import { brotliDecompress, gunzip, inflate } from 'node:zlib';
import { z } from 'zod';
import { DomainError } from '../../../kernel/errors.ts';
import { readSerially } from '../../../kernel/json-input.ts';
import { retryAfter } from '../../../lib/http-client.ts';
import { isRecord } from '../../../lib/objects.ts';
import { type Redact, redactor } from '../../../lib/redaction/encodings.ts';
import { ExpressionError } from '../../../ports/expressions.ts';
import type { HttpResponse } from '../../../ports/http.ts';
import { generationHeader } from '../../notifications/generation.ts';
import { hour } from '../definition/duration.ts';
import { parseJson } from '../deliveries/delivery-input.ts';
import { type Evaluation, fillTemplates } from '../expressions/evaluate.ts';
import { parseExpression } from '../expressions/parse-expression.ts';
import { referencesOf } from '../expressions/references.ts';
import { asText, templatesIn } from '../expressions/template.ts';
import {
  excerptOf,
  expressionFailed,
  limited,
  type StepCall,
  type StepError,
  type StepResult,
  stepType,
  template,
} from './step-type.ts';

const schema = z.strictObject({
  ...limited(hour / 4),
  type: z.literal('http'),
  method: z.enum(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']).optional(),
  url: z.string().min(1),
  query: z.record(z.string(), template).optional(),
  headers: z.record(z.string(), z.string()).optional(),
  body: template.optional(),
  body_type: z.enum(['json', 'form', 'text']).optional(),
  response: z.enum(['json', 'text', 'bytes', 'none']).optional(),
  ok: z.array(z.int().min(100).max(599)).min(1).max(50).optional(),
  follow_redirects: z.int().min(0).max(5).optional(),
});

export type HttpStep = z.output<typeof schema>;

/** Names of secrets that the templates of a value use; null: it may use any. */
function namesIn(value: unknown): string[] | null {
  const names: string[] = [];
  for (const { text } of templatesIn(value, [], [], true))
    for (const { root, member } of referencesOf(parseExpression(text))) {
      if (root !== 'secrets') continue;
      if (member === null) return null;
      names.push(member);
    }
  return names;
}

/** A request as the definition describes it, with every template filled. */
interface FilledRequest {
  method: string;
  url: URL;
  headers: Record<string, string>;
  body: string | null;
}

class RequestError extends Error {
  override name = 'RequestError';
  readonly fault: StepError;

  constructor(field: string, problem: string) {
    super(`${field}: ${problem}`);
    this.fault = { code: 'invalid_input', message: this.message };
  }
}

const text = z.record(z.string(), z.unknown());

function addQuery(url: URL, query: unknown): void {
  for (const [name, value] of Object.entries(text.parse(query ?? {})))
    for (const item of Array.isArray(value) ? value : [value]) url.searchParams.append(name, asText(item));
}

const types = {
  json: 'application/json',
  form: 'application/x-www-form-urlencoded',
  text: 'text/plain; charset=utf-8',
};

function bodyOf(step: HttpStep, body: unknown): { content: string; type: string } | null {
  if (body === undefined) return null;
  const kind = step.body_type ?? (typeof body === 'string' ? 'text' : 'json');
  if (kind === 'json') return { content: JSON.stringify(body), type: types.json };
  if (kind === 'text') return { content: asText(body), type: types.text };
  if (!isRecord(body)) throw new RequestError('body', 'must be an object to be sent as a form');
  const form = new URL('http://form');
  addQuery(form, body);
  return { content: form.searchParams.toString(), type: types.form };
}

/**
 * Fills the templates of a step.
 * @throws RequestError, ExpressionError
 */
async function fillRequest(
  step: HttpStep,
  evaluation: Evaluation,
  { idempotency_key, generation }: Pick<StepCall, 'idempotency_key' | 'generation'>,
): Promise<FilledRequest> {
  const filled = await fillTemplates({ url: step.url, query: step.query, headers: step.headers }, evaluation);
  const { url: address, query, headers: given } = text.parse(filled);
  const url = URL.parse(asText(address));
  if (url === null || !/^https?:$/.test(url.protocol)) throw new RequestError('url', 'is not an http or https address');
  addQuery(url, query);
  const body = step.body === undefined ? null : bodyOf(step, await fillTemplates(step.body, evaluation));
  const headers: Record<string, string> = {
    'user-agent': 'Portico-Workflows',
    'idempotency-key': idempotency_key,
    ...(body && { 'content-type': body.type }),
  };
  for (const [name, value] of Object.entries(text.parse(given ?? {}))) headers[name.toLowerCase()] = asText(value);
  // No step names another, or its workflow could call its own webhook for ever.
  headers[generationHeader] = String(generation);
  return { method: step.method ?? 'GET', url, headers, body: body?.content ?? null };
}

/** Largest answer, after decoding. */
const mostBytes = 10 * 1024 * 1024;

class ResponseError extends Error {
  override name = 'ResponseError';
  readonly code: string;

  constructor(code: string, message: string) {
    super(message);
    this.code = code;
  }
}

const decoders: Record<string, (content: Uint8Array, options: { maxOutputLength: number }) => Promise<Buffer>> = {
  gzip: promisify(gunzip),
  'x-gzip': promisify(gunzip),
  deflate: promisify(inflate),
  br: promisify(brotliDecompress),
};

async function decoded(content: Uint8Array, coding: string): Promise<Buffer> {
  if (coding === '' || coding === 'identity') return Buffer.from(content);
  const decode = decoders[coding];
  if (decode === undefined)
    throw new ResponseError('invalid_response', `is encoded as ${coding}, which Accept-Encoding does not list`);
  try {
    return await decode(content, { maxOutputLength: mostBytes });
  } catch (error) {
    if ((error as { code?: string }).code === 'ERR_BUFFER_TOO_LARGE')
      throw new ResponseError('too_large', `is larger than ${mostBytes} bytes`);
    throw new ResponseError('invalid_response', `cannot be decoded from ${coding}`);
  }
}

const one = (value: string | string[] | undefined) => (Array.isArray(value) ? value.join(', ') : (value ?? ''));

function textOf(content: Buffer, type: string): string {
  const [, charset = 'utf-8'] = /;\s*charset="?([\w:.-]+)/i.exec(type) ?? [];
  try {
    return new TextDecoder(charset).decode(content);
  } catch {
    return new TextDecoder().decode(content);
  }
}

const isJson = (type: string) => /^[\w.+-]+\/(?:[\w.-]+\+)?json\b/i.test(type);
const isText = (type: string) => /^text\/|\b(?:xml|javascript|yaml|x-www-form-urlencoded)\b/i.test(type);

/** JSON within the limits of the bodies of webhooks. @throws ResponseError */
async function readJson(content: Buffer, type: string): Promise<unknown> {
  const parsed = await parseJson(Buffer.from(textOf(content, type)));
  if ('fault' in parsed) throw new ResponseError('invalid_response', parsed.fault.message);
  return parsed.value;
}

async function readBody(content: Buffer, type: string, wanted: HttpStep['response']): Promise<unknown> {
  const kind = wanted ?? (isJson(type) ? 'json' : isText(type) ? 'text' : 'none');
  if (kind === 'none' || (content.length === 0 && kind === 'json')) return null;
  if (kind === 'bytes') return content.toString('base64');
  if (kind === 'text') return textOf(content, type);
  return readSerially(content.length, () => readJson(content, type));
}

/** What later steps see of an answer. */
interface HttpOutput {
  status: number;
  headers: Record<string, string>;
  body: unknown;
}

/**
 * Reads an answer under its caps: JSON is parsed, text decoded, bytes given in base64; other types have no body unless configured.
 * @throws ResponseError, DomainError of the client for a broken body
 */
async function readResponse(response: HttpResponse, wanted: HttpStep['response']): Promise<HttpOutput> {
  const headers = Object.fromEntries(Object.entries(response.headers).map(([name, value]) => [name, one(value)]));
  const type = headers['content-type'] ?? '';
  const content = await decoded(await response.bytes(), (headers['content-encoding'] ?? '').trim().toLowerCase());
  if (content.length > mostBytes) throw new ResponseError('too_large', `is larger than ${mostBytes} bytes`);
  // Cookies are for the peer's own clients, and nothing here sends them back.
  const { 'set-cookie': _cookie, ...shown } = headers;
  return { status: response.status, headers: shown, body: await readBody(content, type, wanted) };
}

/** Answers that may be another one the next time (RFC 9110 15.5.9, 15.6; RFC 8470; RFC 6585). */
const isPassing = (status: number) => status >= 500 || status === 408 || status === 425 || status === 429;

const redirectsOf = ({ follow_redirects, method = 'GET' }: HttpStep) =>
  follow_redirects ?? (method === 'GET' || method === 'HEAD' ? 5 : 0);

const failed = (error: StepError, isRetryable = false): StepResult => ({ kind: 'failed', error, isRetryable });

/** What an error of the request, the client or the answer means for the step. */
function failure(error: unknown): StepResult {
  if (error instanceof RequestError) return failed(error.fault);
  if (error instanceof ExpressionError) return expressionFailed(error);
  if (error instanceof ResponseError) return failed({ code: error.code, message: `the answer ${error.message}` });
  if (!(error instanceof DomainError)) throw error;
  const { reason } = error.details ?? {};
  return failed(
    { code: typeof reason === 'string' ? reason : error.code, message: error.message },
    error.code === 'upstream_unavailable' || error.code === 'unavailable',
  );
}

async function ask(call: StepCall<HttpStep>, request: FilledRequest): Promise<StepResult> {
  const { step, services, signal, organization } = call;
  const response = await services.http.request(request.url, {
    method: request.method,
    headers: { ...request.headers, 'accept-encoding': 'gzip, deflate, br' },
    body: request.body,
    policy: { pool: `workflows ${organization.id}` },
    maxBytes: mostBytes,
    timeouts: { idle: 30_000, total: 15 * 60_000 },
    maxRedirections: redirectsOf(step),
    refusesDowngrade: true,
    signal,
  });
  const output = await readResponse(response, step.response);
  const isOk = step.ok ? step.ok.includes(output.status) : output.status >= 200 && output.status < 300;
  if (isOk) return { kind: 'completed', output };
  const wait = retryAfter(output.headers['retry-after'], services.clock.now());
  const { status, body } = output;
  return {
    kind: 'failed',
    error: { code: 'http_status', message: `the peer answered ${status}`, status, body },
    isRetryable: isPassing(status),
    ...(wait !== null && { retryAfter: wait }),
  };
}

/** UTF-16 units that an error keeps of the body of an answer. */
const longestExcerpt = 4_096;

/** An input or output of more UTF-16 units is not kept, however much of it is there; a secret of one letter may make a text seventy times as long. */
const mostShown = 64 * 1024 * 1024;

/** A result without values of secrets. Names of its fields are ours, and so is the code of an error: a secret may be the same word. */
async function redacted(result: StepResult, redact: Redact): Promise<StepResult> {
  const within = async (fields: unknown) => {
    const shown: Record<string, unknown> = {};
    for (const [name, value] of Object.entries(fields as object)) shown[name] = await redact(value, mostShown);
    return shown;
  };
  const shown = { ...result };
  if (shown.kind === 'completed') shown.output = await within(shown.output);
  if (shown.kind === 'failed') shown.error = { ...(await within(shown.error)), code: shown.error.code } as StepError;
  if (shown.input !== undefined) shown.input = await within(shown.input);
  return shown;
}

/**
 * Does an `http` step: one request through the guard, with what redirects lead on to. Values of secrets are in nothing that is answered, be it
 * the input, the output or an error.
 */
export async function runHttpStep(call: StepCall<HttpStep>): Promise<StepResult> {
  const { step, scope, services, signal } = call;
  const { url, query, headers, body } = step;
  const names = namesIn([url, query ?? null, headers ?? null, body ?? null]);
  const secrets = await call.secrets(names).catch((error: unknown) => {
    if (error instanceof DomainError) return error;
    throw error;
  });
  if (secrets instanceof DomainError) return failure(secrets);
  const redact = await redactor(secrets);
  const evaluation = { expressions: services.expressions, scope: { ...scope, secrets }, signal };
  let input: object | undefined;
  const result = await (async () => {
    try {
      const request = await fillRequest(step, evaluation, call);
      input = { ...request, url: request.url.href };
      call.admit(input);
      return await ask(call, request);
    } catch (error) {
      signal.throwIfAborted();
      return failure(error);
    }
  })();
  const shown = await redacted(input === undefined ? result : { ...result, input }, redact);
  // Cut only now: a part of a secret would not be found.
  if (shown.kind === 'failed' && 'body' in shown.error) shown.error.body = excerptOf(shown.error.body, longestExcerpt);
  return shown;
}

/** Methods that can be repeated without doing twice what they do (RFC 9110 9.2.2). */
const repeatable = new Set(['GET', 'HEAD', 'PUT', 'DELETE', 'OPTIONS']);

/** Sends a request and gives its answer to the steps after it. */
export const http = stepType<HttpStep>({
  type: 'http',
  schema: () => schema,
  templates: ['url', 'query', 'headers', 'body'],
  maySecret: true,
  acting: { act: runHttpStep, limit: 30_000, attempts: ({ method = 'GET' }) => (repeatable.has(method) ? 3 : 1) },
});
