import type pg from 'pg';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { WebhookEndpoint } from '../../../src/domain/workflows/webhook/webhook.ts';
import { shared } from '../../support/app.ts';
import {
  call,
  newWebhook,
  type Sent,
  sign,
  startWebhookApp,
  type Webhook,
  workflowsPath,
} from '../../support/webhook.ts';

const limit = 64 * 1024;
const app = shared(() => startWebhookApp({ PORTICO_WEBHOOK_BODY_LIMIT: '64KiB' }));
const bearer = shared(() => newWebhook(app));
const signed = shared(() => newWebhook(app, { auth_mode: 'hmac' }));
afterEach(() => vi.restoreAllMocks());

const change = (method: string, path: string, body: object) => app.ask(method, `${workflowsPath}${path}`, { body });

/** Names the tables of what the application asks the database from now on, one for each statement. */
async function statements(): Promise<string[]> {
  const requested: string[] = [];
  const pool: pg.Pool = await app.services.orm.em.getConnection().getNativeClient();
  const watched = new Set<pg.PoolClient>();
  pool.on('acquire', (client) => {
    if (watched.has(client)) return;
    watched.add(client);
    const query = client.query.bind(client);
    const watch = (...given: unknown[]) => {
      const [first] = given as [string | { text?: string }];
      const text = typeof first === 'string' ? first : (first.text ?? '');
      const table = /\b(?:from|into|update) (workflow_trigger|data_key|delivery|execution)\b/.exec(text)?.[1];
      if (table !== undefined) requested.push(table);
      return Reflect.apply(query, client, given);
    };
    client.query = watch as typeof client.query;
  });
  return requested;
}

describe('what a call costs before it is proved', () => {
  const callOf = (webhook: Webhook, rawHeaders: string[], pieces: string[], onBody = () => {}) => ({
    workflow: webhook.workflow,
    method: 'POST',
    rawHeaders,
    query: '',
    address: '127.0.0.1',
    async readBody(take: (chunk: Uint8Array) => boolean) {
      onBody();
      for (const piece of pieces) if (!take(Buffer.from(piece))) return 'stopped' as const;
      return 'whole' as const;
    },
  });

  it('is one reading of its trigger, and none while that is remembered', async () => {
    const endpoint = new WebhookEndpoint(app.services);
    endpoint.triggers.setListening(true);
    try {
      const requested = await statements();
      const wrong = ['X-Hub-Signature-256', sign('wrong', '{"a":1}')];
      for (let time = 0; time < 3; time += 1)
        expect((await endpoint.answer(callOf(signed, wrong, ['{"a"', ':1}']))).status).toBe(401);
      expect((await endpoint.answer(callOf(bearer, ['Authorization', 'Bearer wrong'], []))).status).toBe(401);
      expect(requested).toEqual(['workflow_trigger', 'workflow_trigger']);

      // A genuine one asks nothing before the last byte of its body.
      const right = ['X-Hub-Signature-256', sign(signed.secret, '{}')];
      let before = -1;
      const answer = await endpoint.answer(
        callOf(signed, right, ['{', '}'], () => {
          before = requested.length;
        }),
      );
      expect([answer.status, before]).toEqual([202, 2]);
      expect(requested.slice(2)).toContain('delivery');
    } finally {
      await endpoint.close();
    }
  });

  it('is no question to the key service', async () => {
    const unwrap = vi.spyOn(app.services.secrets, 'decrypt');
    const endpoint = new WebhookEndpoint(app.services);
    endpoint.triggers.setListening(true);
    try {
      const headers = ['X-Hub-Signature-256', sign(signed.secret, '{}')];
      for (let time = 0; time < 5; time += 1)
        expect((await endpoint.answer(callOf(signed, headers, ['{}']))).status).toBe(202);
      expect(unwrap).toHaveBeenCalledTimes(1);
    } finally {
      await endpoint.close();
    }
  });
});

describe('of two faults the earlier is answered', () => {
  const tooLarge = Buffer.alloc(limit + 1);
  const wrong = { 'x-hub-signature-256': sign('wrong', 'x') };
  const genuine = (body: string | Uint8Array) => ({ 'x-hub-signature-256': sign(signed.secret, body) });
  const cases: [string, number, () => Promise<{ webhook: Webhook; sent: Sent }>][] = [
    [
      'disabled before too large',
      404,
      async () => {
        const webhook = await newWebhook(app, { auth_mode: 'hmac' });
        await change('PATCH', webhook.path, { enabled: false });
        return { webhook, sent: { body: tooLarge, headers: genuine(tooLarge) } };
      },
    ],
    [
      'no secret before the method',
      401,
      async () => {
        const webhook = await newWebhook(app, { methods: ['PUT'] });
        await change('POST', `${webhook.path}/revoke`, { which: 'all' });
        return { webhook, sent: { method: 'GET' } };
      },
    ],
    [
      'the method before the credential',
      405,
      async () => ({ webhook: await newWebhook(app, { methods: ['PUT'] }), sent: { method: 'GET' } }),
    ],
    ['a wrong credential before too large', 401, async () => ({ webhook: bearer, sent: { body: tooLarge } })],
    [
      'a malformed signature before too large',
      401,
      async () => ({ webhook: signed, sent: { body: tooLarge, headers: { 'x-hub-signature-256': 'sha256=1' } } }),
    ],
    [
      'too large before the signature',
      413,
      async () => ({ webhook: signed, sent: { body: tooLarge, headers: wrong } }),
    ],
    [
      'the signature before the encoding',
      401,
      async () => ({ webhook: signed, sent: { body: 'x', headers: { ...wrong, 'content-encoding': 'zstd' } } }),
    ],
    [
      'the encoding before the rate',
      415,
      async () => {
        const webhook = await newWebhook(app, { rate_limit: 1 });
        const headers = { authorization: `Bearer ${webhook.secret}` };
        expect((await call(app.url, webhook.endpoint, { headers })).status).toBe(202);
        expect((await call(app.url, webhook.endpoint, { headers })).status).toBe(429);
        return { webhook, sent: { body: 'x', headers: { ...headers, 'content-encoding': 'zstd' } } };
      },
    ],
  ];

  it.each(cases)('%s: %i', async (_name, status, prepare) => {
    const { webhook, sent } = await prepare();
    expect((await call(app.url, webhook.endpoint, sent)).status).toBe(status);
  });
});
