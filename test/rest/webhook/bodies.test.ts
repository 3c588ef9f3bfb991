import { randomBytes } from 'node:crypto';
import { expect, it } from 'vitest';
import { unpackBody } from '../../../src/domain/workflows/deliveries/kept-body.ts';
import { shared } from '../../support/app.ts';
import { call, newWebhook, sign, startWebhookApp } from '../../support/webhook.ts';

const app = shared(startWebhookApp);
const hook = shared(() => newWebhook(app, { auth_mode: 'hmac' }));

/** The body a row of an execution's delivery keeps. */
async function storedBody(execution: string): Promise<Buffer> {
  const sql = 'select body, raw_size from delivery where execution_id = ?';
  const [row] = await app.services.orm.em.fork().execute<{ body: Buffer; raw_size: number }[]>(sql, [execution]);
  return unpackBody(row?.body ?? Buffer.alloc(0), row?.raw_size ?? -1);
}

const sizes = [0, 1, 900, 8_000, 16_384, 16_385, 40_000, 65_536, 65_537];

it('that are in the same memory one after the other are stored as they came, between others that are refused', async () => {
  for (const _ of [1, 2, 3]) {
    const bodies = Array.from({ length: 72 }, (_none, number) => randomBytes(sizes[number % sizes.length] ?? 0));
    const sent = await Promise.all(
      bodies.map(async (body, number) => {
        const isWrong = number % 10 === 3;
        const headers = { 'x-hub-signature-256': sign(isWrong ? 'wrong' : hook.secret, body) };
        const chunks = [body.subarray(0, 500), body.subarray(500)].filter(({ length }) => length > 0);
        const answer = await call(app.url, hook.endpoint, number % 2 ? { chunks, headers } : { body, headers });
        expect(answer.status).toBe(isWrong ? 401 : 202);
        return { body, execution: answer.body.executionId as string | undefined };
      }),
    );
    for (const { body, execution } of sent) {
      // Larger ones are in the blob store.
      if (execution === undefined || body.length > 65_536) continue;
      expect((await storedBody(execution)).equals(body)).toBe(true);
    }
  }
});
