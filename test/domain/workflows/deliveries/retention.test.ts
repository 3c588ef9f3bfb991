import { randomBytes } from 'node:crypto';
import { expect, it } from 'vitest';
import { deliveryBlobs } from '../../../../src/domain/workflows/deliveries/kept-body.ts';
import { pruneExecutions } from '../../../../src/domain/workflows/executions/prune-executions.ts';
import { shared } from '../../../support/app.ts';
import { call, newWebhook, startWebhookApp } from '../../../support/webhook.ts';

const app = shared(startWebhookApp);
const hook = shared(() => newWebhook(app));

const day = 24 * 3_600_000;
const em = () => app.services.orm.em.fork();
const send = async (key: string, body: string | Uint8Array) => {
  const headers = { authorization: `Bearer ${hook.secret}`, 'idempotency-key': key };
  return (await call(app.url, hook.endpoint, { headers, body })).body.executionId as string;
};
const end = (execution: string) =>
  em().execute(`update execution set status = 'failed', finished_at = ? where id = ?`, [app.clock.now, execution]);
const kept = async () =>
  em().execute<{ key: string; has_body: boolean }[]>(
    `select dedup_key as key, body is not null or body_sha256 is not null as has_body from delivery order by dedup_key`,
  );
const after = async (days: number, since: number) => {
  app.clock.now = new Date(since + days * day);
  await pruneExecutions(app.services, new AbortController().signal);
  return kept();
};

it('keeps bodies for 7 days, deliveries for 30 and keys for one, and all of them while their execution is open', async () => {
  const began = Date.now();
  app.clock.now = new Date(began);
  const small = await send('small', '{}');
  const large = await send('large', randomBytes(100_000));
  await send('waiting', '{}');
  for (const id of [small, large]) await end(id);
  const keys = async () => (await em().execute('select key from delivery_key')).length;
  expect(await keys()).toBe(3);

  const row = (key: string, has_body: boolean) => ({ key, has_body });
  const whole = [row('large', true), row('small', true), row('waiting', true)];
  expect(await after(0.9, began)).toEqual(whole);
  expect(await keys()).toBe(3);
  expect(await after(6.9, began)).toEqual(whole);
  expect(await keys()).toBe(0);
  expect((await deliveryBlobs(em(), '')).size).toBe(1);
  expect(await after(7.1, began)).toEqual([row('large', false), row('small', false), row('waiting', true)]);
  expect((await deliveryBlobs(em(), '')).size).toBe(0);

  expect(await after(29.9, began)).toHaveLength(3);
  expect(await after(30.1, began)).toEqual([row('waiting', true)]);
  app.clock.now = null;
});
