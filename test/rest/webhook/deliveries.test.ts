import { randomBytes, randomUUID } from 'node:crypto';
import { brotliCompressSync, deflateRawSync, deflateSync, gzipSync } from 'node:zlib';
import { afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
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

const app = shared(startWebhookApp);
let hook: Webhook;
beforeAll(async () => {
  hook = await newWebhook(app, { auth_mode: 'hmac' });
});

const json = { 'content-type': 'application/json' };
const send = (body: string | Uint8Array, headers: Record<string, string> = json, more: Sent = {}) =>
  call(app.url, hook.endpoint, {
    body,
    headers: { 'x-hub-signature-256': sign(hook.secret, body), ...headers },
    ...more,
  });
const rows = async (sql: string, params: unknown[] = []): Promise<Record<string, unknown>[]> =>
  app.services.orm.em.fork().execute(sql, params);
const ask = (method: string, path: string, options: object = {}) =>
  app.ask(method, `${workflowsPath}${hook.path}${path}`, options);
const deliveryOf = async (executionId: string) => {
  const [row] = await rows('select id from delivery where execution_id = ? order by received_at desc', [executionId]);
  return (await ask('GET', `/deliveries/${row?.id}`)).body;
};
const accepted = async (...sent: Parameters<typeof send>) => {
  const { status, body } = await send(...sent);
  expect(status).toBe(202);
  return deliveryOf(body.executionId);
};

describe('a delivery', () => {
  it('holds what came, without credentials', async () => {
    const headers = { ...json, 'X-GitHub-Event': 'ping', 'X-GitHub-Delivery': randomUUID(), Cookie: 'a=b' };
    const { body } = await send('{"zen":"é"}', headers, { query: `token=${hook.secret}&a=1&b=${hook.secret}` });
    const [row] = await rows('select id from delivery where execution_id = ?', [body.executionId]);
    const found = (await ask('GET', `/deliveries/${row?.id}`)).body;
    expect(found).toMatchObject({
      outcome: 'accepted',
      execution_id: body.executionId,
      method: 'POST',
      event: 'ping',
      delivery_id: headers['X-GitHub-Delivery'],
      raw_size: 12,
      auth: { mode: 'hmac', secret_version: 1 },
      query: { a: '1', b: '[redacted]' },
      body: { zen: 'é' },
      body_note: null,
      body_error: null,
      raw: '{"zen":"é"}',
      has_expired: false,
    });
    expect(found.headers).toMatchObject({
      'content-type': 'application/json',
      'x-hub-signature-256': '[redacted]',
      cookie: '[redacted]',
      'x-github-event': 'ping',
    });
    const { body: listed } = await ask('GET', '/deliveries?per_page=1');
    expect(listed).toEqual([expect.objectContaining({ id: found.id, event: 'ping' })]);
    expect(listed[0]).not.toHaveProperty('headers');
    expect((await ask('GET', '')).body.last_delivery_at).toBe(found.received_at);
  });

  it('with a body that cannot be read is accepted and says why', async () => {
    expect(await accepted('{"a":')).toMatchObject({ body: null, body_error: { position: 5 }, raw: '{"a":' });
    expect(await accepted('not gzip', { ...json, 'content-encoding': 'gzip' })).toMatchObject({
      body: null,
      body_error: { message: 'is not valid gzip', position: null },
    });
  });

  it.each([
    ['gzip', gzipSync],
    ['deflate', deflateSync],
    ['deflate', deflateRawSync],
    ['br', brotliCompressSync],
    ['identity', (body: Buffer) => body],
  ])('in %s is signed as it comes, and read as it was', async (coding, encode) => {
    const plain = Buffer.from('{"a":[1,2,3]}');
    const coded = encode(plain);
    expect((await accepted(coded, { ...json, 'content-encoding': coding })).body).toEqual({ a: [1, 2, 3] });
    if (coding === 'identity') return;
    const wrong = await call(app.url, hook.endpoint, {
      body: coded,
      headers: { 'x-hub-signature-256': sign(hook.secret, plain), 'content-encoding': coding },
    });
    expect(wrong.status).toBe(401);
  });

  it('of some length is kept compressed, and comes back as it was', async () => {
    for (const length of [200, 2_000]) {
      const list = Array.from({ length }, (_, id) => ({ id, name: `entry ${id}` }));
      const { id, body } = await accepted(JSON.stringify(list));
      expect(body).toEqual(list);
      const [row] = await rows('select octet_length(body) < raw_size / 2 as packed from delivery where id = ?', [id]);
      expect(row).toEqual({ packed: true });
    }
  });

  it('comes back as it was when many are stored together, small ones without compression', async () => {
    const texts = Array.from({ length: 60 }, (_, number) =>
      JSON.stringify(`${number} `.repeat(number === 7 ? 9_000 : 1_500)),
    );
    const calls = await Promise.all(texts.map((text) => send(text)));
    for (const [number, { status, body }] of calls.entries()) {
      expect(status).toBe(202);
      expect((await deliveryOf(body.executionId)).body).toBe(JSON.parse(texts[number] ?? ''));
    }
    const sizes = await rows(
      'select octet_length(body) as kept, raw_size from delivery where execution_id = any(?::uuid[])',
      [`{${calls.map(({ body }) => body.executionId)}}`],
    );
    const whole = sizes.filter(({ kept, raw_size }) => kept === raw_size);
    expect(whole.length).toBeGreaterThan(0);
    expect(whole.every(({ raw_size }) => Number(raw_size) < 16 * 1024)).toBe(true);
  });

  it('keeps NUL escapes and lone surrogates to the letter', async () => {
    const text = '{"a":"\\u0000\\ud800"}';
    expect((await accepted(text)).raw).toBe(text);
  });

  it('up to 64 KiB is in its row, a larger one on the disk, where the sweep leaves it', async () => {
    const small = JSON.stringify('a'.repeat(64 * 1024 - 2));
    const large = JSON.stringify('b'.repeat(64 * 1024 - 1));
    for (const [text, isInRow] of [
      [small, true],
      [large, false],
    ] as const) {
      const found = await accepted(text);
      expect(found.body).toBe(JSON.parse(text));
      const [row] = await rows('select body is null as out, body_sha256 from delivery where id = ?', [found.id]);
      expect([row?.out, row?.body_sha256]).toEqual(isInRow ? [false, null] : [true, found.raw_sha256]);
    }
    const { deliveryBlobs } = await import('../../../src/domain/workflows/deliveries/kept-body.ts');
    const [{ body_sha256 } = {}] = await rows('select body_sha256 from delivery where body_sha256 is not null');
    const live = await deliveryBlobs(app.services.orm.em.fork(), String(body_sha256).slice(0, 2));
    expect(live.has(String(body_sha256))).toBe(true);
  });
});

describe('a large delivery', () => {
  const large = (letter: string) => JSON.stringify(letter.repeat(3_000_000));
  const kept = () => vi.spyOn(app.services.blobs, 'put');
  afterEach(() => vi.restoreAllMocks());

  it('comes in pieces of any size, coded or not', async () => {
    const text = large('c');
    const bytes = Buffer.from(text);
    const pieces = Array.from({ length: 30 }, (_, at) => bytes.subarray(at * 100_001, (at + 1) * 100_001));
    const chunked = { headers: { ...json, 'x-hub-signature-256': sign(hook.secret, text) }, chunks: pieces };
    const { status, body } = await call(app.url, hook.endpoint, chunked);
    expect(status).toBe(202);
    expect((await deliveryOf(body.executionId)).body).toBe(JSON.parse(text));
    // Noise, so that it is large when it is coded, too.
    const noise = randomBytes(100_000).toString('hex');
    const found = await accepted(gzipSync(JSON.stringify(noise)), { ...json, 'content-encoding': 'gzip' });
    expect([found.body, found.raw_size > 64 * 1024]).toEqual([noise, true]);
  });

  it('is not stored when its signature is wrong, and its sender gets 401', async () => {
    const put = kept();
    const text = large('d');
    const { status } = await send(text, { ...json, 'x-hub-signature-256': sign('wrong', text) });
    expect(status).toBe(401);
    await expect(put.mock.results[0]?.value).rejects.toThrow();
    expect(put).toHaveBeenCalledTimes(1);
  });

  it('that the disk has no room for is put off', async () => {
    kept().mockRejectedValue(new Error('no room'));
    expect((await send(large('e'))).status).toBe(503);
  });
});

describe('a repeated call', () => {
  const keyed = (key: string, body = '{}', header = 'X-GitHub-Delivery') => send(body, { ...json, [header]: key });

  it('gets the first answer, whatever became of it but failure', async () => {
    const key = randomUUID();
    const first = await keyed(key);
    expect(first.headers['idempotency-replayed']).toBeUndefined();
    for (const status of ['pending', 'running', 'paused', 'completed', 'cancelled']) {
      await rows('update execution set status = ? where id = ?', [status, first.body.executionId]);
      const again = await keyed(key);
      expect([again.status, again.text, again.headers['idempotency-replayed']]).toEqual([202, first.text, 'true']);
    }
    expect((await keyed(key, '{"other":1}')).text).toBe(first.text);
    const found = await rows('select outcome, body_differs from delivery where dedup_key = ? order by id', [key]);
    expect(found.map(({ outcome }) => outcome)).toEqual(['accepted', ...Array(6).fill('duplicate')]);
    expect(found.filter(({ body_differs }) => body_differs)).toHaveLength(1);
  });

  it('starts anew when the first has failed, and takes over its key', async () => {
    const key = randomUUID();
    const first = await keyed(key);
    await rows("update execution set status = 'failed' where id = ?", [first.body.executionId]);
    const second = await keyed(key);
    expect(second.body.executionId).not.toBe(first.body.executionId);
    expect(second.headers['idempotency-replayed']).toBeUndefined();
    const [row] = await rows('select replay_of from execution where id = ?', [second.body.executionId]);
    expect(row?.replay_of).toBe(first.body.executionId);
    expect((await keyed(key)).text).toBe(second.text);
  });

  it('starts anew after a day, without a key, and for another trigger', async () => {
    const key = randomUUID();
    const first = await keyed(key);
    app.clock.now = new Date(Date.now() + 24 * 3600_000 + 1000);
    const late = await keyed(key);
    app.clock.now = null;
    expect(late.body.executionId).not.toBe(first.body.executionId);
    const [row] = await rows('select replay_of from execution where id = ?', [late.body.executionId]);
    expect(row?.replay_of).toBeNull();
    expect((await send('{}')).body.executionId).not.toBe((await send('{}')).body.executionId);
    const before = hook;
    hook = await newWebhook(app, { auth_mode: 'hmac' });
    const other = await keyed(key);
    hook = before;
    expect(other.headers['idempotency-replayed']).toBeUndefined();
  });

  it.each(['webhook-id', 'Idempotency-Key', 'X-Gitlab-Event-UUID'])('is known by %s', async (header) => {
    const key = randomUUID();
    const first = await keyed(key, '{}', header);
    expect((await keyed(key, '{}', header)).text).toBe(first.text);
  });

  it('a hundred times at once makes one execution', async () => {
    const key = randomUUID();
    const answers = await Promise.all(Array.from({ length: 100 }, () => keyed(key)));
    expect(new Set(answers.map(({ status, text }) => `${status} ${text}`)).size).toBe(1);
    expect(await rows('select distinct execution_id from delivery where dedup_key = ?', [key])).toHaveLength(1);
    expect(answers.filter(({ headers }) => headers['idempotency-replayed'] === undefined)).toHaveLength(1);
  });
});

describe('redeliver', () => {
  it('starts with the stored bytes, past the key', async () => {
    const first = await accepted('{"n":1}', { ...json, 'webhook-id': randomUUID() });
    const { status, body } = await ask('POST', `/deliveries/${first.id}/redeliver`, { body: {} });
    expect(status).toBe(202);
    expect(body.executionId).not.toBe(first.execution_id);
    expect(await deliveryOf(body.execution_id)).toMatchObject({ outcome: 'redelivery', body: { n: 1 } });
  });

  it('409 when the bytes are not kept any more, but not for an empty body', async () => {
    const gone = await accepted('{"n":1}');
    const empty = await accepted('');
    await rows('update delivery set body = null where id in (?, ?)', [gone.id, empty.id]);
    expect((await ask('GET', `/deliveries/${gone.id}`)).body).toMatchObject({
      has_expired: true,
      body: null,
      raw: null,
    });
    expect((await ask('POST', `/deliveries/${gone.id}/redeliver`, { body: {} })).status).toBe(409);
    expect((await ask('POST', `/deliveries/${empty.id}/redeliver`, { body: {} })).status).toBe(202);
  });

  it('404 for what is no delivery of this trigger', async () => {
    for (const id of [randomUUID(), 'x'])
      expect((await ask('POST', `/deliveries/${id}/redeliver`, { body: {} })).status).toBe(404);
  });
});
