import { createHmac } from 'node:crypto';

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
