import { afterAll, beforeAll, expect, it } from 'vitest';
import { claimIdempotency } from '../../src/domain/idempotency.ts';
import { systemActor } from '../../src/domain/identity/actor.ts';
import { systemCall } from '../../src/system-call.ts';
import { startTestApp, type TestApp } from '../support/app.ts';

let app: TestApp;
beforeAll(async () => {
  app = await startTestApp();
});
afterAll(() => app?.stop());

it('a call whose key another one has taken over neither frees it nor answers for it', async () => {
  const actor = systemActor('test', [], 'portico.test', true);
  const claim = () => {
    const call = { ...systemCall(app.services, actor), conditions: { idempotency_key: 'one' } };
    return claimIdempotency(call, actor, 'test.operation', { a: 1 });
  };
  app.clock.now = new Date();
  const slow = await claim();
  app.clock.now = new Date(app.clock.now.getTime() + 151_000);
  const next = await claim();
  await slow?.release();
  await expect(claim()).rejects.toMatchObject({ code: 'busy' });
  await slow?.complete({ output: 'of the slow one', etag: undefined });
  await expect(claim()).rejects.toMatchObject({ code: 'busy' });
  await next?.complete({ output: 'of the next one', etag: undefined });
  expect((await claim())?.replay).toEqual({ output: 'of the next one' });
});
