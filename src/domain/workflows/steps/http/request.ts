import { z } from 'zod';
import type { Step } from '../../definition/step.schema.ts';
import { type Evaluation, fillTemplates } from '../../expressions/evaluate.ts';
import { asText } from '../../expressions/template.ts';
import type { StepError } from '../step-call.ts';

export type HttpStep = Extract<Step, { type: 'http' }>;

/** A request as the definition describes it, with every template filled. */
export interface FilledRequest {
  method: string;
  url: URL;
  headers: Record<string, string>;
  body: string | null;
}

export class RequestError extends Error {
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
  if (typeof body !== 'object' || body === null || Array.isArray(body))
    throw new RequestError('body', 'must be an object to be sent as a form');
  const form = new URL('http://form');
  addQuery(form, body);
  return { content: form.searchParams.toString(), type: types.form };
}

/**
 * Fills the templates of a step.
 * @throws RequestError, ExpressionError
 */
export async function fillRequest(
  step: HttpStep,
  evaluation: Evaluation,
  idempotencyKey: string,
): Promise<FilledRequest> {
  const filled = await fillTemplates({ url: step.url, query: step.query, headers: step.headers }, evaluation);
  const { url: address, query, headers: given } = text.parse(filled);
  const url = URL.parse(asText(address));
  if (url === null || !/^https?:$/.test(url.protocol)) throw new RequestError('url', 'is not an http or https address');
  addQuery(url, query);
  const body = step.body === undefined ? null : bodyOf(step, await fillTemplates(step.body, evaluation));
  const headers: Record<string, string> = {
    'user-agent': 'Portico-Workflows',
    'idempotency-key': idempotencyKey,
    ...(body && { 'content-type': body.type }),
  };
  for (const [name, value] of Object.entries(text.parse(given ?? {}))) headers[name.toLowerCase()] = asText(value);
  return { method: step.method ?? 'GET', url, headers, body: body?.content ?? null };
}
