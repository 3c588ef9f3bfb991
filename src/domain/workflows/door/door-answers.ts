import type { WebhookMethod } from '../triggers/trigger.entity.ts';
import type { DoorAnswer } from './call/webhook-call.ts';

const refusal = (status: number, error: string, headers: Record<string, string> = {}): DoorAnswer => ({
  status,
  body: { error },
  headers,
});

/** Everything the door can answer, to the letter. */
export const doorAnswers = {
  accepted: (executionId: string, replayed: boolean): DoorAnswer => ({
    status: 202,
    body: { executionId },
    headers: replayed ? { 'Idempotency-Replayed': 'true' } : {},
  }),
  notConfigured: refusal(404, 'Workflow webhook not configured'),
  unauthorized: refusal(401, 'Unauthorized', { 'WWW-Authenticate': 'Bearer' }),
  methodNotAllowed: (allow: readonly WebhookMethod[]) =>
    refusal(405, 'Method not allowed', { Allow: allow.join(', ') }),
  tooMany: (seconds: number) => refusal(429, 'Too many requests', { 'Retry-After': String(seconds) }),
  tooLarge: refusal(413, 'Payload too large'),
  slow: refusal(408, 'Request timeout'),
  badEncoding: refusal(415, 'Unsupported content encoding'),
  unavailable: refusal(503, 'Service unavailable', { 'Retry-After': '5' }),
};
