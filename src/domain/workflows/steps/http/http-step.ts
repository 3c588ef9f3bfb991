import { DomainError } from '../../../errors.ts';
import { ExpressionError } from '../../../ports/expressions.ts';
import { expressionFailed } from '../expression-failed.ts';
import { redactor, secretsFor } from '../secret-values.ts';
import type { StepCall, StepError, StepResult } from '../step-call.ts';
import { type FilledRequest, fillRequest, type HttpStep, RequestError } from './request.ts';
import { mostBytes, ResponseError, readResponse, retryAfter } from './response.ts';

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
  const body = typeof output.body === 'string' ? output.body.slice(0, 4_096) : output.body;
  return {
    kind: 'failed',
    error: { code: 'http_status', message: `the peer answered ${output.status}`, status: output.status, body },
    isRetryable: isPassing(output.status),
    ...(wait !== undefined && { retryAfter: wait }),
  };
}

/**
 * Does an `http` step: one request through the guard, with what redirects lead on to. Values of secrets are in nothing that is answered, be it
 * the input, the output or an error.
 */
export async function runHttpStep(call: StepCall<HttpStep>): Promise<StepResult> {
  const { step, roots, services, signal } = call;
  const { url, query, headers, body } = step;
  const secrets = await secretsFor(call, [url, query ?? null, headers ?? null, body ?? null]).catch(
    (error: unknown) => {
      if (error instanceof DomainError) return error;
      throw error;
    },
  );
  if (secrets instanceof DomainError) return failure(secrets);
  const redact = redactor(secrets);
  const evaluation = { expressions: services.expressions, roots: { ...roots, secrets }, signal };
  let input: unknown;
  const result = await (async () => {
    try {
      const request = await fillRequest(step, evaluation, call.idempotency_key);
      input = { ...request, url: request.url.href };
      return await ask(call, request);
    } catch (error) {
      signal.throwIfAborted();
      return failure(error);
    }
  })();
  return redact({ ...result, input }) as StepResult;
}
