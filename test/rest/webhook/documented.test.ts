import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { shared } from '../../support/app.ts';
import { askRaw } from '../../support/raw-http.ts';
import { vectors } from '../../support/signature-vectors.ts';
import {
  call,
  newWebhook,
  type Sent,
  setSecret,
  sign,
  startWebhookApp,
  type Webhook,
  workflowsPath,
} from '../../support/webhook.ts';

const app = shared(startWebhookApp);
const bearer = shared(() => newWebhook(app));
const signed = shared(() => newWebhook(app, { auth_mode: 'hmac' }));

const unauthorized = '{"error":"Unauthorized"}';
const notConfigured = '{"error":"Workflow webhook not configured"}';
const auth = ({ secret }: Webhook) => ({ authorization: `Bearer ${secret}` });
const to = (webhook: Webhook, sent: Sent = {}) => call(app.url, webhook.endpoint, sent);
const signedBody = (body: string | Uint8Array, webhook = signed) => ({
  body,
  headers: { 'x-hub-signature-256': sign(webhook.secret, body), 'content-type': 'application/json' },
});
const rows = async (sql: string, params: unknown[] = []): Promise<Record<string, unknown>[]> =>
  app.services.orm.em.fork().execute(sql, params);
const executionsOf = async ({ workflow }: Webhook) =>
  (await rows('select id from execution where workflow_id = ?', [workflow])).map(({ id }) => id);
const manage = (method: string, path: string, body?: object) => app.ask(method, `${workflowsPath}${path}`, { body });

describe('what the interface documents', () => {
  it('202 for an absolute request target, as proxies send it', async () => {
    const target = `http://portico.test${bearer.endpoint}?token=${bearer.secret}`;
    expect(await askRaw(app, 'POST', target, { token: null })).toMatchObject({ status: 202 });
  });

  it('202 with the id of an execution that exists, by bearer, token and signature', async () => {
    const answers = [
      await to(bearer, { headers: auth(bearer), body: '{}' }),
      await to(bearer, { query: `token=${bearer.secret}` }),
      await to(signed, signedBody('{"a":1}')),
    ];
    for (const { status, text, body, headers } of answers) {
      expect([status, text]).toEqual([202, `{"executionId":"${body.executionId}"}`]);
      expect(headers).toMatchObject({
        'content-type': 'application/json; charset=utf-8',
        'cache-control': 'no-store',
        'x-request-id': expect.any(String),
      });
      expect(Object.keys(headers).filter((name) => /access-control|cookie/.test(name))).toEqual([]);
      const [row] = await rows('select * from execution where id = ?', [body.executionId]);
      expect(row).toMatchObject({ status: 'pending', version: 1, trigger_type: 'webhook', input: null });
      const [delivery] = await rows('select * from delivery where id = ?', [row?.delivery_id]);
      expect(delivery).toMatchObject({ outcome: 'accepted', execution_id: body.executionId });
    }
  });

  it('401 with no secret configured, and nothing starts', async () => {
    const webhook = await newWebhook(app);
    await manage('POST', `${webhook.path}/revoke`, { which: 'all' });
    const { status, text } = await to(webhook, { headers: auth(webhook) });
    expect([status, text]).toEqual([401, unauthorized]);
    expect(await executionsOf(webhook)).toEqual([]);
  });

  it.each<[string, () => Promise<unknown>]>([
    ['a wrong secret', () => to(bearer, { headers: { authorization: 'Bearer wrong' } })],
    ['no secret', () => to(bearer)],
    ['a missing signature', () => to(signed, { body: '{}' })],
    ['GET in hmac mode', () => to(signed, { method: 'GET' })],
    ['a tampered body', () => to(signed, { ...signedBody('{"a":1}'), body: '{"a":2}' })],
    ['the secret of another trigger', () => to(bearer, { headers: auth(signed) })],
    ['a bearer in hmac mode', () => to(signed, { headers: auth(signed), body: '{}' })],
  ])('401 for %s', async (_name, send) => {
    expect(await send()).toMatchObject({ status: 401, text: unauthorized, headers: { 'www-authenticate': 'Bearer' } });
  });

  it('404 for what is unknown, deleted, disabled, no id, or has no webhook', async () => {
    const gone = await newWebhook(app);
    await manage('DELETE', gone.path);
    const off = await newWebhook(app);
    await manage('PATCH', off.path, { enabled: false });
    const halted = await newWebhook(app);
    await manage('POST', `/${halted.workflow}/disable`);
    const endpoints = [gone.endpoint, off.endpoint, halted.endpoint].concat(
      [randomUUID(), 'x', bearer.workflow.toUpperCase(), `${bearer.workflow}/`, '%ff', ''].map(
        (name) => `/webhooks/ai/workflows/${name}`,
      ),
    );
    for (const endpoint of endpoints) {
      for (const secret of [gone, off, halted, bearer]) {
        const { status, text } = await call(app.url, endpoint, { headers: auth(secret) });
        expect([endpoint, status, text]).toEqual([endpoint, 404, notConfigured]);
      }
    }
  });
});

describe('methods', () => {
  const good = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'];

  it.each([...good, 'HEAD', 'OPTIONS', 'PROPFIND'])('%s', async (method) => {
    const inSecretMode = await to(bearer, { method, headers: auth(bearer) });
    expect(inSecretMode.status).toBe(good.includes(method) ? 202 : 405);
    if (inSecretMode.status === 405) {
      expect(inSecretMode.headers.allow).toBe('GET, POST, PUT, PATCH, DELETE');
      expect(inSecretMode.text).toBe(method === 'HEAD' ? '' : '{"error":"Method not allowed"}');
    }
    const signature = sign(signed.secret, '');
    const inHmacMode = await to(signed, { method, headers: { 'x-hub-signature-256': signature } });
    expect(inHmacMode.status).toBe(method === 'POST' ? 202 : 401);
  });

  it('405 outside of those the trigger takes, before the credential is looked at', async () => {
    const webhook = await newWebhook(app, { methods: ['PUT'] });
    const { status, headers } = await to(webhook);
    expect([status, headers.allow]).toEqual([405, 'PUT']);
    expect((await to(webhook, { method: 'PUT', headers: auth(webhook) })).status).toBe(202);
  });
});

describe('credentials', () => {
  it('are a bearer or a token, each once and right', async () => {
    const { secret } = bearer;
    const cases: [number, Sent][] = [
      [202, { headers: { authorization: `bEARER   ${secret}  ` } }],
      [202, { headers: auth(bearer), query: `token=${secret}` }],
      [401, { headers: auth(bearer), query: 'token=wrong' }],
      [401, { headers: auth(bearer), query: 'token=' }],
      [401, { headers: { authorization: 'Bearer wrong' }, query: `token=${secret}` }],
      [401, { query: `token=${secret}&token=${secret}` }],
      [401, { query: 'token=' }],
      [401, { query: `Token=${secret}` }],
      [401, { headers: { authorization: [`Bearer ${secret}`, `Bearer ${secret}`] } }],
      [401, { headers: { authorization: `Basic ${secret}` } }],
      [401, { headers: { authorization: secret } }],
      [401, { headers: { authorization: `Bearer ${secret} ${secret}` } }],
      [401, { headers: { authorization: `Bearer ${secret.toLowerCase()}` } }],
      [401, { headers: { authorization: `Bearer ${secret.slice(0, -1)}` } }],
    ];
    for (const [status, sent] of cases) expect([sent, (await to(bearer, sent)).status]).toEqual([sent, status]);
  });

  it('are one signature line of the exact form', async () => {
    const good = sign(signed.secret, '{}');
    const cases: [number, string | string[]][] = [
      [202, good],
      [202, `sha256=${good.slice(7).toUpperCase()}`],
      [401, good.slice(7)],
      [401, good.slice(0, -1)],
      [401, `${good}0`],
      [401, good.replace('sha256=', 'SHA256=')],
      [401, good.replace('sha256=', 'sha1=')],
      [401, `${good}, ${good}`],
      [401, [good, good]],
      [401, ''],
    ];
    for (const [status, line] of cases) {
      const sent = { body: '{}', headers: { 'x-hub-signature-256': line } };
      expect([line, (await to(signed, sent)).status]).toEqual([line, status]);
    }
  });

  it('of a former secret are refused at once, or after the grace', async () => {
    const webhook = await newWebhook(app);
    const rotate = async (grace_period_seconds?: number) =>
      (await manage('POST', `${webhook.path}/rotate`, { grace_period_seconds })).body.secret as string;
    const status = async (secret: string) => (await to(webhook, { headers: auth({ ...webhook, secret }) })).status;
    const second = await rotate();
    expect([await status(webhook.secret), await status(second)]).toEqual([401, 202]);
    const third = await rotate(60);
    expect([await status(webhook.secret), await status(second), await status(third)]).toEqual([401, 202, 202]);
    app.clock.now = new Date(Date.now() + 61_000);
    expect([await status(second), await status(third)]).toEqual([401, 202]);
    app.clock.now = null;
    const versions = await rows('select secret_version from delivery where trigger_id = ? order by received_at', [
      webhook.trigger,
    ]);
    expect(versions.map(({ secret_version }) => secret_version)).toEqual([2, 2, 3, 3]);
  });
});

describe('signatures', () => {
  it.each(vectors)('of $name, in one piece and byte by byte', async ({ key, body, signature }) => {
    const webhook = await newWebhook(app, { auth_mode: 'hmac' });
    await setSecret(app, webhook, key);
    const headers = { 'x-hub-signature-256': signature };
    expect((await to(webhook, { body, headers })).status).toBe(202);
    const chunks = [...body].map((byte) => Uint8Array.of(byte));
    expect((await to(webhook, { chunks, headers })).status).toBe(202);
  });
});
