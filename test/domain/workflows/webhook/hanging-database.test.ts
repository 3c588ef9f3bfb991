import { afterEach, expect, it, vi } from 'vitest';
import type { AllServices } from '../../../../src/domain/services.ts';
import { WebhookEndpoint } from '../../../../src/domain/workflows/webhook/webhook.ts';

afterEach(() => void vi.useRealTimers());

const workflow = '0b0f6a2e-9a36-4c1e-8f5d-2f3a4b5c6d7e';
/** A webhook whose secret has to be read before its call is. */
const trigger = { id: 'one', workflow_id: workflow, enabled: true, secret: 'sealed', secret_version: 1 };

it.each([
  ['its first question', 0],
  ['its second question, after three seconds for the first', 3_000],
])('answers 503 within five seconds when the database takes %s and does not answer', async (_which, first) => {
  vi.useFakeTimers();
  const requested = vi.fn(() => new Promise<never>(() => {}));
  const secrets = { decrypt: vi.fn(() => new Promise<never>(() => {})) };
  const log = { warn: vi.fn(), error: vi.fn() };
  const services = {
    orm: { em: { fork: () => ({ execute: requested }) } },
    clock: { now: () => new Date() },
    metrics: { operation: () => {} },
    workflows: { limits: { memory_bytes: 1024, body_bytes: 1024, backlog: 10 } },
    secrets,
    log,
  } as unknown as AllServices;
  const endpoint = new WebhookEndpoint(services);
  if (first > 0) {
    const found = new Promise<never>((resolve) => setTimeout(resolve, first, trigger as never));
    vi.spyOn(endpoint.triggers, 'get').mockReturnValue(found);
  }
  const call = { workflow, method: 'POST', rawHeaders: [], query: '', address: null };
  let answer: unknown;
  void endpoint.answer({ ...call, readBody: async () => 'whole' as const }).then((given) => {
    answer = given;
  });
  await vi.advanceTimersByTimeAsync(4_400);
  expect([requested.mock.calls.length, secrets.decrypt.mock.calls.length]).toEqual(first === 0 ? [1, 0] : [0, 1]);
  expect(answer).toBeUndefined();
  await vi.advanceTimersByTimeAsync(500);
  expect(answer).toMatchObject({
    status: 503,
    body: { error: 'Service unavailable' },
    headers: { 'Retry-After': '5' },
  });
  expect(log.error).not.toHaveBeenCalled();
});
