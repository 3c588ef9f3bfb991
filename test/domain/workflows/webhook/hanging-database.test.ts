import { afterEach, expect, it, vi } from 'vitest';
import type { AllServices } from '../../../../src/domain/services.ts';
import { WebhookEndpoint } from '../../../../src/domain/workflows/webhook/webhook.ts';

const slow = vi.hoisted(() => ({ milliseconds: 0 }));
vi.mock('../../../../src/domain/workflows/webhook/opened-call.ts', async (original) => {
  const actual = await original<typeof import('../../../../src/domain/workflows/webhook/opened-call.ts')>();
  type Found = typeof actual.findTrigger;
  const late: Found = () => new Promise((resolve) => setTimeout(resolve, slow.milliseconds, { id: 'one' } as never));
  return {
    openCall: (...given: Parameters<typeof actual.openCall>) =>
      slow.milliseconds > 0 ? new Promise(() => {}) : actual.openCall(...given),
    findTrigger: (...given: Parameters<Found>) =>
      slow.milliseconds > 0 ? late(...given) : actual.findTrigger(...given),
  };
});

afterEach(() => {
  slow.milliseconds = 0;
  vi.useRealTimers();
});

it.each([
  ['its first question', 0],
  ['its second question, after three seconds for the first', 3_000],
])('answers 503 within five seconds when the database takes %s and does not answer', async (_which, first) => {
  vi.useFakeTimers();
  slow.milliseconds = first;
  const asked = vi.fn(() => new Promise<never>(() => {}));
  const log = { warn: vi.fn(), error: vi.fn() };
  const services = {
    orm: { em: { fork: () => ({ execute: asked }) } },
    clock: { now: () => new Date() },
    metrics: { operation: () => {} },
    settings: { webhook: { memory_bytes: 1024, body_bytes: 1024, backlog: 10 } },
    log,
  } as unknown as AllServices;
  const endpoint = new WebhookEndpoint(services);
  const workflow = '0b0f6a2e-9a36-4c1e-8f5d-2f3a4b5c6d7e';
  const call = { workflow, method: 'POST', rawHeaders: [], query: '', address: null };
  let answer: unknown;
  void endpoint.answer({ ...call, readBody: async () => 'whole' as const }).then((given) => {
    answer = given;
  });
  await vi.advanceTimersByTimeAsync(4_400);
  expect([asked.mock.calls.length, answer]).toEqual([first === 0 ? 1 : 0, undefined]);
  await vi.advanceTimersByTimeAsync(500);
  expect(answer).toMatchObject({
    status: 503,
    body: { error: 'Service unavailable' },
    headers: { 'Retry-After': '5' },
  });
  expect(log.error).not.toHaveBeenCalled();
});
