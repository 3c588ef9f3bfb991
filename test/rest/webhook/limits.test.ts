import { connect } from 'node:net';
import { brotliCompressSync, gzipSync } from 'node:zlib';
import { describe, expect, it, vi } from 'vitest';
import { shared } from '../../support/app.ts';
import { overSocket } from '../../support/raw-http.ts';
import { call, newWebhook, sign, startWebhookApp, type Webhook, workflowsPath } from '../../support/webhook.ts';

const kib = 1024;
const limit = 64 * kib;

const app = shared(() => startWebhookApp({ PORTICO_WEBHOOK_BODY_LIMIT: '64KiB', PORTICO_WEBHOOK_MEMORY: '100KiB' }));
const hook = shared(() => newWebhook(app, { auth_mode: 'hmac' }));
const open = shared(() => newWebhook(app));

const signed = (body: string | Uint8Array, headers: Record<string, string> = {}, webhook = hook) => ({
  body,
  headers: { 'x-hub-signature-256': sign(webhook.secret, body), ...headers },
});
const send = (body: string | Uint8Array, headers?: Record<string, string>) =>
  call(app.url, hook.endpoint, signed(body, headers));
const bearer = (webhook: Webhook) => ({ headers: { authorization: `Bearer ${webhook.secret}` } });
const head = (webhook: Webhook, ...lines: string[]) =>
  `${[`POST ${webhook.endpoint} HTTP/1.1`, 'Host: portico.test', `Authorization: Bearer ${webhook.secret}`, ...lines].join('\r\n')}\r\n\r\n`;

describe('the size of a body', () => {
  it('413 above the limit, by its announced length or as it comes', async () => {
    const most = Buffer.alloc(limit, 'a');
    const more = Buffer.alloc(limit + 1, 'a');
    const chunked = (body: Buffer) => ({
      headers: { 'x-hub-signature-256': sign(hook.secret, body) },
      chunks: [body.subarray(0, limit), body.subarray(limit)].filter((chunk) => chunk.length > 0),
    });
    expect((await send(most)).status).toBe(202);
    expect((await call(app.url, hook.endpoint, chunked(most))).status).toBe(202);
    for (const sent of [signed(more), chunked(more)]) {
      const { status, text } = await call(app.url, hook.endpoint, sent);
      expect([status, text]).toEqual([413, '{"error":"Payload too large"}']);
    }
  });

  it('413 for what inflates beyond it, however small it is', async () => {
    const bomb = Buffer.alloc(64 * kib * kib);
    for (const [coding, body] of [
      ['gzip', gzipSync(bomb)],
      ['br', brotliCompressSync(bomb)],
    ] as const)
      expect((await send(body, { 'content-encoding': coding })).status).toBe(413);
    const most = gzipSync(Buffer.alloc(limit));
    expect((await send(most, { 'content-encoding': 'gzip' })).status).toBe(202);
  });

  it('503 while the process holds too many of them', async () => {
    const socket = connect(Number(new URL(app.url).port), '127.0.0.1');
    const answered = new Promise<string>((resolve) => socket.once('data', (data) => resolve(data.toString())));
    socket.write(head(open, 'Content-Length: 60000'));
    socket.write(Buffer.alloc(30_000));
    const busy = { ...bearer(open), body: Buffer.alloc(60_000) };
    // Memory is given in the order of arrival: once a later call has been answered, the one above has arrived.
    expect((await call(app.url, open.endpoint, { ...bearer(open), body: 'small' })).status).toBe(202);
    const busyAnswer = await call(app.url, open.endpoint, busy);
    expect(busyAnswer.status).toBe(503);
    expect([busyAnswer.text, busyAnswer.headers['retry-after']]).toEqual(['{"error":"Service unavailable"}', '5']);
    expect((await call(app.url, open.endpoint, { ...bearer(open), body: 'small' })).status).toBe(202);
    socket.write(Buffer.alloc(30_000));
    expect(await answered).toMatch(/^HTTP\/1\.1 202 /);
    socket.destroy();
    expect((await call(app.url, open.endpoint, busy)).status).toBe(202);
  });

  it('202 beside connections that announce large bodies, and send nothing', async () => {
    const idle = Array.from({ length: 20 }, () => connect(Number(new URL(app.url).port), '127.0.0.1'));
    for (const socket of idle) socket.write(`${head(open, 'Content-Length: 60000')}1`);
    for (let count = 0; count < 3; count += 1)
      expect((await call(app.url, open.endpoint, { ...bearer(open), body: Buffer.alloc(50_000) })).status).toBe(202);
    for (const socket of idle) socket.destroy();
  });
});

it.each(['zstd', 'gzip, gzip', 'compress', 'gzip, identity'])('415 for the content encoding %s', async (coding) => {
  const { status, text } = await send('{}', { 'content-encoding': coding });
  expect([status, text]).toEqual([415, '{"error":"Unsupported content encoding"}']);
});

describe('quotas', () => {
  it('429 above the rate of a trigger, until the minute is over', async () => {
    const webhook = await newWebhook(app, { rate_limit: 2 });
    const ask = () => call(app.url, webhook.endpoint, bearer(webhook));
    expect([(await ask()).status, (await ask()).status]).toEqual([202, 202]);
    const { status, text, headers } = await ask();
    expect([status, text]).toEqual([429, '{"error":"Too many requests"}']);
    expect(Number(headers['retry-after'])).toBeGreaterThan(0);
    app.clock.now = new Date(Date.now() + 60_001);
    expect((await ask()).status).toBe(202);
    app.clock.now = null;
  });

  it('429 while too many executions of the organisation are pending', async () => {
    const em = app.services.orm.em.fork();
    const set = (limits: object) => em.execute('update organization set limits = ?::json', [JSON.stringify(limits)]);
    await set({ workflow_backlog: 0 });
    const refused = await call(app.url, open.endpoint, bearer(open));
    expect([refused.status, refused.headers['retry-after']]).toEqual([429, '10']);
    await set({});
    expect((await call(app.url, open.endpoint, bearer(open))).status).toBe(202);
  });

  it('429 after a thousand wrong signatures a minute of one address, before a body is read', async () => {
    const webhook = await newWebhook(app, { auth_mode: 'hmac' });
    const wrong = { body: '{}', headers: { 'x-hub-signature-256': `sha256=${'0'.repeat(64)}` } };
    for (let count = 0; count < 1_000; count += 50) {
      const answers = await Promise.all(Array.from({ length: 50 }, () => call(app.url, webhook.endpoint, wrong)));
      expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([401]));
    }
    expect((await call(app.url, webhook.endpoint, wrong)).status).toBe(429);
    expect((await call(app.url, webhook.endpoint, { body: '{}' })).status).toBe(401);
    expect((await send('{}')).status).toBe(202);
  });
});

it('429 for the sixth of executions in a row that call webhooks themselves', async () => {
  const webhook = await newWebhook(app);
  const from = (generation: string) =>
    call(app.url, webhook.endpoint, {
      headers: { ...bearer(webhook).headers, 'portico-generation': generation },
    });
  const begun = await from('4');
  expect(begun.status).toBe(202);
  const kept = 'select generation from execution where id = ?';
  expect(await app.services.orm.em.fork().execute(kept, [begun.body.executionId])).toEqual([{ generation: 5 }]);
  const refused = await from('5');
  expect([refused.status, refused.headers['retry-after']]).toEqual([429, '3600']);
  expect((await from('x')).status).toBe(202);
});

it('counts refusals by reason, and keeps nothing of what the calls contained', async () => {
  const webhook = await newWebhook(app);
  for (let count = 0; count < 22; count += 1)
    await call(app.url, webhook.endpoint, { headers: { authorization: 'Bearer mistaken' }, query: 'q=mistaken' });
  await call(app.url, webhook.endpoint, { ...bearer(webhook), method: 'HEAD' });
  const record = await vi.waitUntil(
    async () => {
      const { body } = await app.ask('GET', `${workflowsPath}${webhook.path}`);
      return body.refusals.length === 2 && body;
    },
    { timeout: 60_000 },
  );
  expect(record.refusals).toEqual(
    expect.arrayContaining([
      { reason: 'credential', count: 22 },
      { reason: 'method', count: 1 },
    ]),
  );
  expect(record.latest_refusals).toHaveLength(20);
  expect(record.last_refusal).toMatchObject({ reason: 'method', method: 'HEAD', address: '127.0.0.1' });
  expect(JSON.stringify(record)).not.toContain('mistaken');
});

describe('hostile senders', () => {
  it('see the answer although they go on sending', async () => {
    const answer = await overSocket(
      app,
      Buffer.concat([
        Buffer.from(head({ ...open, secret: 'wrong' }, 'Content-Length: 9000000')),
        Buffer.alloc(900_000),
      ]),
    );
    expect(answer).toMatch(/^HTTP\/1\.1 401 /);
    expect(answer).toMatch(/\{"error":"Unauthorized"\}$/);
  });

  it('with both a length and a transfer coding are refused by the server', async () => {
    expect(
      await overSocket(app, head(open, 'Content-Length: 2', 'Transfer-Encoding: chunked', 'Connection: close')),
    ).toMatch(/^HTTP\/1\.1 400 /);
  });

  it('with 40 KiB of headers are refused by the server', async () => {
    expect(await overSocket(app, head(open, `X-Long: ${'a'.repeat(40 * kib)}`, 'Connection: close'))).toMatch(
      /^HTTP\/1\.1 431 /,
    );
  });

  it('that break off in the middle of a body start nothing', async () => {
    const webhook = await newWebhook(app);
    const socket = connect(Number(new URL(app.url).port), '127.0.0.1').resume();
    await new Promise((resolve) => socket.write(`${head(webhook, 'Content-Length: 10')}{}`, resolve));
    socket.end();
    await new Promise((resolve) => socket.once('close', resolve));
    const rows = await app.services.orm.em
      .fork()
      .execute('select id from delivery where trigger_id = ?', [webhook.trigger]);
    expect(rows).toEqual([]);
  });
});
