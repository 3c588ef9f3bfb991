import { createHmac } from 'node:crypto';
import { DomainError } from '../../kernel/errors.ts';
import type { Services } from '../../kernel/services.ts';
import type { HttpResponse } from '../../ports/http.ts';

/**
 * Headers of a signed message (Standard Webhooks 1.0): its id, the time in Unix seconds, and `v1,` with the HMAC-SHA-256 of
 * `id.timestamp.body` in base64.
 * @param secret `whsec_` and the key in base64
 */
export function signedHeaders(
  { secret, id, version }: { secret: string; id: string; version: string },
  body: string,
  now: Date,
): Record<string, string> {
  const timestamp = Math.floor(now.getTime() / 1000);
  const key = Buffer.from(secret.replace(/^whsec_/, ''), 'base64');
  const signature = createHmac('sha256', key).update(`${id}.${timestamp}.${body}`).digest('base64');
  return {
    'Content-Type': 'application/json',
    'User-Agent': `Portico-Webhooks/${version}`,
    'webhook-id': id,
    'webhook-timestamp': String(timestamp),
    'webhook-signature': `v1,${signature}`,
  };
}

/** How long a receiver may take, milliseconds: to connect, and in all. */
const timeouts = { connect: 5_000, headers: 15_000, idle: 15_000, total: 15_000 };
const mostRead = 64 * 1024;
const mostKept = 1024;

/** What came of one attempt. */
export interface SendResult {
  /** Null: there was no answer. */
  status: number | null;
  /** Name of what went wrong: an `HttpFailure`, or `status` for an answer other than 2xx. */
  error: string | null;
  /** Beginning of the answer's body. */
  answer: string | null;
  /** What the receiver asks for, as it came. */
  retryAfter: string | null;
}

/** The first bytes of an answer as text PostgreSQL can store; a body that is cut short or too slow gives what has come. */
async function beginningOf(response: HttpResponse): Promise<string> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  try {
    for await (const chunk of response.body) {
      chunks.push(chunk);
      size += chunk.length;
      if (size >= mostRead) break;
    }
  } catch (error) {
    if (!(error instanceof DomainError)) throw error;
  }
  const kept = Buffer.concat(chunks).subarray(0, mostKept);
  // A character that is cut in two at the end is left out.
  return new TextDecoder().decode(kept, { stream: kept.length === mostKept }).replaceAll('\u0000', '');
}

const single = (value: string | string[] | undefined) => (typeof value === 'string' ? value : null);

/**
 * Posts a signed message. Redirects are not followed, and private addresses are reached only in `PORTICO_ALLOWED_CIDRS`.
 * @throws what aborted it, when `signal` was
 */
export async function send(
  { http }: Pick<Services, 'http'>,
  url: string,
  { headers, body, signal }: { headers: Record<string, string>; body: string; signal: AbortSignal },
): Promise<SendResult> {
  try {
    // However long the answer is, only its beginning is read.
    const maxBytes = Number.MAX_SAFE_INTEGER;
    const response = await http.request(url, { method: 'POST', headers, body, signal, policy: {}, timeouts, maxBytes });
    const { status } = response;
    const error = status >= 200 && status < 300 ? null : 'status';
    const retryAfter = single(response.headers['retry-after']);
    return { status, error, answer: await beginningOf(response), retryAfter };
  } catch (error) {
    if (!(error instanceof DomainError)) throw error;
    const reason = String(error.details?.reason ?? error.code);
    return { status: null, error: reason, answer: null, retryAfter: null };
  }
}
