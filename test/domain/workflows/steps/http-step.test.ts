import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { brotliCompressSync, gzipSync } from 'node:zlib';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type HttpStep, runHttpStep } from '../../../../src/domain/workflows/steps/http.ts';
import { ExpressionError } from '../../../../src/ports/expressions.ts';
import { shared, startTestApp } from '../../../support/app.ts';
import { makeExecution, stepCall } from './support.ts';

type Answer = (request: IncomingMessage, response: ServerResponse, body: string) => void;

const app = shared(() => startTestApp({ PORTICO_ALLOWED_CIDRS: '127.0.0.1/32' }));
const ids = shared(() => makeExecution(app));
let peer: Server;
let base: string;
let answer: Answer;
let seen: { method: string; url: string; headers: IncomingMessage['headers']; body: string }[] = [];

beforeAll(async () => {
  await app.ask('PUT', `/api/v2/organizations/acme/projects/site/workflows/${ids.workflow_id}/secrets/KEY`, {
    body: { value: 'planted+secret/value' },
  });
  peer = createServer(async (request, response) => {
    const body = await text(request);
    seen.push({ method: request.method ?? '', url: request.url ?? '', headers: request.headers, body });
    answer(request, response, body);
  });
  await new Promise<void>((resolve) => peer.listen(0, '127.0.0.1', resolve));
  base = `http://127.0.0.1:${(peer.address() as AddressInfo).port}`;
});
afterAll(async () => {
  peer?.closeAllConnections();
  peer?.close();
});
beforeEach(() => {
  seen = [];
  answer = (_request, response) => response.setHeader('Content-Type', 'application/json').end('{"ok":true}');
});

const run = async (step: Omit<HttpStep, 'id' | 'type'>) =>
  runHttpStep(await stepCall(app, ids, { id: 'fetch', type: 'http', ...step } as HttpStep));

describe('the request', () => {
  it('is filled from templates, and carries the key of the step', async () => {
    const result = await run({
      method: 'POST',
      url: `${base}/items/\${{ input.body.n }}?a=1`,
      query: { title: '${{ input.body.title }} & more', list: ['x', 'y'] },
      headers: { 'X-Number': '${{ input.body.n }}' },
      body: { title: '${{ input.body.title }}', missing: '${{ input.none }}' },
    });
    expect(result).toMatchObject({ kind: 'completed', output: { status: 200, body: { ok: true } } });
    expect(seen).toHaveLength(1);
    expect(seen[0]).toMatchObject({
      method: 'POST',
      url: '/items/7?a=1&title=Hello+%26+more&list=x&list=y',
      body: '{"title":"Hello"}',
      headers: { 'x-number': '7', 'content-type': 'application/json', 'user-agent': 'Portico-Workflows' },
    });
    expect(seen[0]?.headers['idempotency-key']).toMatch(/^[0-9a-f]{64}$/);
  });

  it('says how many executions have started one another, whatever the step says of it', async () => {
    const step = { id: 'fetch', type: 'http', url: base, headers: { 'Portico-Generation': '0' } } as HttpStep;
    await runHttpStep(await stepCall(app, ids, step, { generation: 3 }));
    expect(seen[0]?.headers['portico-generation']).toBe('3');
  });

  it.each([
    ['form', { a: '1 &', b: ['x', 'y'] }, 'a=1+%26&b=x&b=y', 'application/x-www-form-urlencoded'],
    ['text', 'n is ${{ input.body.n }}', 'n is 7', 'text/plain; charset=utf-8'],
    [undefined, 'plain', 'plain', 'text/plain; charset=utf-8'],
    [undefined, [1, 2], '[1,2]', 'application/json'],
  ] as const)('%s body', async (body_type, body, sent, type) => {
    await run({ method: 'PUT', url: base, body: body as never, ...(body_type && { body_type }) });
    expect([seen[0]?.body, seen[0]?.headers['content-type']]).toEqual([sent, type]);
  });

  it.each([
    ['ftp://a.example/', 'invalid_input'],
    ['${{ input.none }}', 'invalid_input'],
    ['http://10.0.0.1/', 'blocked_address'],
    ['http://169.254.169.254/latest/meta-data', 'blocked_address'],
    ['http://[::ffff:169.254.169.254]/', 'blocked_address'],
    ['http://nothing.invalid/', 'dns'],
  ])('%s fails with %s', async (url, code) => {
    expect(await run({ url })).toMatchObject({ kind: 'failed', error: { code } });
    expect(seen).toEqual([]);
  });

  it('a header with a line break is refused', async () => {
    expect(await run({ url: base, headers: { 'X-A': 'a\r\nX-B: b' } })).toMatchObject({
      kind: 'failed',
      error: { code: 'invalid_headers' },
      isRetryable: false,
    });
    expect(seen).toEqual([]);
  });
});

describe('the answer', () => {
  const respond = (type: string, content: string | Buffer, headers: Record<string, string> = {}) => {
    answer = (_request, response) => response.writeHead(200, { 'Content-Type': type, ...headers }).end(content);
  };
  const body = async (response?: HttpStep['response']) => {
    const result = await run({ url: base, ...(response && { response }) });
    return result.kind === 'completed' ? (result.output as { body: unknown }).body : result;
  };

  it('is read by its type', async () => {
    respond('application/vnd.api+json', '{"a":1}');
    expect(await body()).toEqual({ a: 1 });
    respond('text/html; charset=iso-8859-1', Buffer.from('caf\xe9', 'latin1'));
    expect(await body()).toBe('café');
    respond('image/png', Buffer.of(1, 2, 3));
    expect(await body()).toBeNull();
    expect(await body('bytes')).toBe('AQID');
    expect(await body('none')).toBeNull();
    respond('application/json', '');
    expect(await body()).toBeNull();
  });

  it('is decoded', async () => {
    respond('application/json', gzipSync('{"a":1}'), { 'Content-Encoding': 'gzip' });
    expect(await body()).toEqual({ a: 1 });
    respond('application/json', brotliCompressSync('{"a":2}'), { 'Content-Encoding': 'br' });
    expect(await body()).toEqual({ a: 2 });
  });

  it.each([
    ['no JSON', 'application/json', '{', {}, 'invalid_response'],
    ['JSON of 201 levels', 'application/json', '['.repeat(201) + ']'.repeat(201), {}, 'invalid_response'],
    ['JSON of 10,000 levels', 'application/json', '['.repeat(10_000) + ']'.repeat(10_000), {}, 'invalid_response'],
    ['JSON of 200,001 values', 'application/json', `[${'0,'.repeat(199_999)}0]`, {}, 'invalid_response'],
    ['a broken coding', 'text/plain', 'x', { 'Content-Encoding': 'gzip' }, 'invalid_response'],
    ['an encoding that was not requested', 'text/plain', 'x', { 'Content-Encoding': 'zstd' }, 'invalid_response'],
    ['a bomb', 'text/plain', gzipSync(Buffer.alloc(11 * 1024 * 1024)), { 'Content-Encoding': 'gzip' }, 'too_large'],
    ['too many bytes', 'text/plain', Buffer.alloc(10 * 1024 * 1024 + 1), {}, 'body_too_large'],
  ])('%s fails', async (_what, type, content, headers, code) => {
    respond(type, content, headers);
    expect(await run({ url: base })).toMatchObject({ kind: 'failed', error: { code } });
  });

  it('of a status that is not ok fails, and says whether to try again', async () => {
    answer = (_request, response) =>
      response.writeHead(503, { 'Retry-After': '120', 'Content-Type': 'text/plain' }).end('away');
    expect(await run({ url: base })).toMatchObject({
      kind: 'failed',
      error: { code: 'http_status', status: 503, body: 'away' },
      isRetryable: true,
      retryAfter: 120_000,
    });
    answer = (_request, response) => response.writeHead(404).end();
    expect(await run({ url: base })).toMatchObject({ kind: 'failed', isRetryable: false });
    expect(await run({ url: base, ok: [404] })).toMatchObject({ kind: 'completed', output: { status: 404 } });
  });
});

describe('the body of an answer that is not ok', () => {
  const bodyOf = async (content: string, more: Partial<HttpStep> = {}) => {
    answer = (_request, response) =>
      response
        .writeHead(400, { 'Content-Type': 'application/json' })
        .end(content.replace('KEY', 'planted+secret/value'));
    const result = await run({ url: base, ...more });
    return result.kind === 'failed' ? result.error.body : result;
  };
  /** JSON of so many characters. */
  const ofLength = (length: number) => JSON.stringify({ a: 'x'.repeat(length - 8) });

  it('is kept as it is up to 4,096 characters of JSON, and as their text above', async () => {
    expect(await bodyOf(ofLength(4_096))).toEqual({ a: 'x'.repeat(4_088) });
    expect(await bodyOf(ofLength(4_097))).toBe(ofLength(4_097).slice(0, 4_096));
    expect(await bodyOf(JSON.stringify('x'.repeat(5_000)))).toBe('x'.repeat(4_096));
  });

  it('is cut when secrets are out of it, not in the middle of one', async () => {
    const content = JSON.stringify({ a: 'x'.repeat(4_080), b: 'KEY' });
    const kept = await bodyOf(content, { headers: { 'X-Key': '${{ secrets.KEY }}' } });
    expect(kept).toBe(content.replace('KEY', '[secret KEY]').slice(0, 4_096));
  });
});

describe('redirects', () => {
  it('are followed by reads, up to the limit', async () => {
    answer = (request, response) => {
      const n = Number(request.url?.slice(1));
      if (n === 0) response.end('end');
      else response.writeHead(302, { Location: `/${n - 1}` }).end();
    };
    expect(await run({ url: `${base}/5` })).toMatchObject({ kind: 'completed' });
    expect(await run({ url: `${base}/6` })).toMatchObject({ kind: 'failed', error: { code: 'redirect_too_many' } });
    expect(await run({ url: `${base}/1`, follow_redirects: 0 })).toMatchObject({
      error: { code: 'http_status', status: 302 },
    });
    expect(await run({ method: 'POST', url: `${base}/1` })).toMatchObject({
      error: { code: 'http_status', status: 302 },
    });
  });

  it('to an inner address are refused, and credentials stay with their origin', async () => {
    answer = (_request, response) => response.writeHead(302, { Location: 'http://169.254.169.254/' }).end();
    expect(await run({ url: base })).toMatchObject({ kind: 'failed', error: { code: 'blocked_address' } });
    const other = createServer((request, response) => {
      seen.push({ method: 'other', url: '', headers: request.headers, body: '' });
      response.end();
    });
    await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve));
    const elsewhere = `http://127.0.0.1:${(other.address() as AddressInfo).port}/`;
    answer = (_request, response) => response.writeHead(302, { Location: elsewhere }).end();
    await run({ url: base, headers: { Authorization: 'Bearer x', 'X-Key': '${{ secrets.KEY }}' } });
    other.close();
    expect(seen.at(-1)).toMatchObject({ method: 'other' });
    expect(seen.at(-1)?.headers).not.toHaveProperty('authorization');
    expect(seen.at(-1)?.headers).not.toHaveProperty('x-key');
  });
});

describe('secrets', () => {
  it('reach the peer and nothing else', async () => {
    answer = (request, response, body) =>
      response
        .setHeader('Content-Type', 'application/json')
        .end(JSON.stringify({ echo: request.headers.authorization, url: request.url, body }));
    const result = await run({
      method: 'POST',
      url: `${base}/?k=\${{ secrets.KEY }}`,
      headers: { Authorization: 'Bearer ${{ secrets.KEY }}' },
      body: { k: '${{ secrets.KEY }}', b: '${{ $base64encode(secrets.KEY) }}' },
    });
    expect(seen[0]).toMatchObject({ headers: { authorization: 'Bearer planted+secret/value' } });
    expect(seen[0]?.body).toContain('planted+secret/value');
    const kept = JSON.stringify(result);
    expect(kept).toContain('[secret KEY]');
    for (const form of [
      'planted+secret/value',
      encodeURIComponent('planted+secret/value'),
      Buffer.from('planted+secret/value').toString('base64'),
    ])
      expect(kept).not.toContain(form);
  });

  it('leave the fields of a result as they are, whatever words they are', async () => {
    for (const [name, value] of [
      ['KIND', 'kind'],
      ['STATUS', 'status'],
      ['ERROR', 'error'],
      ['CODE', 'http_status'],
    ])
      await app.ask('PUT', `/api/v2/organizations/acme/projects/site/workflows/${ids.workflow_id}/secrets/${name}`, {
        body: { value },
      });
    const headers = { 'X-Keys': '${{ secrets.KIND & secrets.STATUS & secrets.ERROR & secrets.CODE }}' };
    answer = (request, response) => response.writeHead(request.method === 'POST' ? 409 : 200).end();
    expect(await run({ url: base, headers })).toMatchObject({
      kind: 'completed',
      output: { status: 200, body: null },
      input: { method: 'GET', headers: { 'x-keys': '[secret KIND][secret STATUS][secret ERROR][secret CODE]' } },
    });
    expect(await run({ method: 'POST', url: base, headers })).toMatchObject({
      kind: 'failed',
      error: { code: 'http_status', message: 'the peer answered 409', status: 409 },
    });
  });

  it('are in no error either', async () => {
    const result = await run({ url: `${base}/\${{ $number(secrets.KEY) }}` });
    expect(result).toMatchObject({ kind: 'failed', error: { code: 'bad_expression' } });
    expect(JSON.stringify(result)).not.toContain('planted');
  });

  it.each(['url', 'query', 'headers', 'body'])(
    'that are not set fail a step whose %s needs them, and nothing is sent',
    async (where) => {
      const text = '${{ secrets.NONE }}';
      const parts = { url: base, query: { q: text }, headers: { 'X-A': `[${text}]` }, body: { a: text } };
      const step = where === 'url' ? { url: `${base}/${text}` } : { url: base, [where]: parts[where as 'query'] };
      const before = seen.length;
      expect(await run({ ...step, method: 'POST' })).toEqual({
        kind: 'failed',
        error: { code: 'secret_not_set', message: 'the secret "NONE" is not set; set it, then retry the execution' },
        isRetryable: false,
      });
      expect(seen).toHaveLength(before);
    },
  );
});

it('a step whose time is over is aborted', async () => {
  answer = () => {};
  const stop = new AbortController();
  const call = await stepCall(app, ids, { id: 'fetch', type: 'http', url: base } as HttpStep, { signal: stop.signal });
  const requested = runHttpStep(call);
  setTimeout(() => stop.abort(new Error('time is over')), 50);
  await expect(requested).rejects.toThrow('time is over');
});

it('is tried again when the server could evaluate nothing', async () => {
  const evaluate = async () => Promise.reject(new ExpressionError('unavailable', 'the server is stopping'));
  const services = { ...app.services, expressions: { ...app.services.expressions, evaluate } };
  const step = { id: 'fetch', type: 'http', url: `${base}/\${{ 1 + 1 }}` } as HttpStep;
  const result = await runHttpStep(await stepCall(app, ids, step, { services }));
  expect(result).toMatchObject({ kind: 'failed', error: { code: 'unavailable' }, isRetryable: true });
  expect(seen).toEqual([]);
});
