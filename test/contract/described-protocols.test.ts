import { once } from 'node:events';
import { createServer, type IncomingMessage, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { gzipSync } from 'node:zlib';
import express from 'express';
import { beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest';
import { WebhookEndpoint } from '../../src/domain/workflows/webhook/webhook.ts';
import { permissionNames } from '../../src/kernel/actor.ts';
import { DomainError, type ErrorCode } from '../../src/kernel/errors.ts';
import { createWebhook } from '../../src/rest/webhook.ts';
import { type Answer, metricsToken, seed, shared, studio } from '../support/app.ts';
import { undescribedAt } from '../support/described.ts';
import { askRaw } from '../support/raw-http.ts';
import { newWebhook, sign, startWebhookApp, type Webhook } from '../support/webhook.ts';

const app = shared(() => startWebhookApp({ PORTICO_WEBHOOK_BODY_LIMIT: '1KiB', PORTICO_AUTH_FAILURE_LIMIT: '100000' }));
beforeAll(() => seed(app, { 'a.md': '---\ntitle: A\n---\n' }));

interface Sent {
  token?: string | null;
  headers?: Record<string, string>;
  body?: string | Buffer;
}

interface GitRequest extends Sent {
  place?: string;
}

const packet = (text: string) => (text.length + 4).toString(16).padStart(4, '0') + text;

/** Checks an answer against the document. */
function expectDescribed(answer: Answer, status: number, method: string, template: string): void {
  expect(answer.status).toBe(status);
  expect(undescribedAt(method, template, answer)).toEqual([]);
}

describe('every answer of the webhook of workflows is one that openapi.json describes', () => {
  const template = '/webhooks/ai/workflows/{workflow}';
  let open: Webhook;
  beforeAll(async () => {
    open = await newWebhook(app);
  });

  async function call(status: number, method: string, path: string, { token = null, ...rest }: Sent = {}) {
    const answer = await askRaw(app, method, path, { token, ...rest });
    expectDescribed(answer, status, method, template);
    return answer;
  }

  it.each(['GET', 'POST', 'PUT', 'PATCH', 'DELETE'])('202 with %s', async (method) => {
    const hasBody = method !== 'GET' && method !== 'DELETE';
    await call(202, method, open.endpoint, { token: open.secret, ...(hasBody && { body: '{"a": 1}' }) });
    await call(202, method, `${open.endpoint}?token=${open.secret}`);
  });

  it('202 for a repeat, marked as one', async () => {
    const request = { token: open.secret, headers: { 'Idempotency-Key': 'once' }, body: '{}' };
    expect((await call(202, 'POST', open.endpoint, request)).headers.get('idempotency-replayed')).toBeNull();
    expect((await call(202, 'POST', open.endpoint, request)).headers.get('idempotency-replayed')).toBe('true');
  });

  it('202 and 401 in hmac mode', async () => {
    const signed = await newWebhook(app, { auth_mode: 'hmac' });
    const headers = (body: string) => ({ 'X-Hub-Signature-256': sign(signed.secret, body) });
    await call(202, 'POST', signed.endpoint, { body: '{}', headers: headers('{}') });
    await call(401, 'POST', signed.endpoint, { body: '{}', headers: headers('{ }') });
    await call(401, 'GET', signed.endpoint);
  });

  it('401 without the secret, and with another one', async () => {
    await call(401, 'POST', open.endpoint, { body: '{}' });
    await call(401, 'POST', open.endpoint, { body: '{}', token: 'wrong' });
  });

  it('404 for a workflow that is unknown and for a trigger that is disabled', async () => {
    await call(404, 'POST', '/webhooks/ai/workflows/unknown');
    const off = await newWebhook(app, { enabled: false });
    await call(404, 'POST', off.endpoint, { token: off.secret });
  });

  it('405 for a method the trigger does not accept', async () => {
    const posts = await newWebhook(app, { methods: ['POST'] });
    const { headers } = await call(405, 'PUT', posts.endpoint, { token: posts.secret, body: '{}' });
    expect(headers.get('allow')).toBe('POST');
  });

  it('408 for a body that does not arrive in time', async () => {
    const endpoint = new WebhookEndpoint(app.services);
    const outer = express().use((_request, response, next) => {
      response.set('X-Request-Id', 'one');
      next();
    });
    const server = createServer(outer.use(createWebhook(endpoint, { bodyTime: 1 }))).listen(0, '127.0.0.1');
    onTestFinished(async () => {
      server.closeAllConnections();
      server.close();
      await endpoint.close();
    });
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    const sent = request({ port, path: open.endpoint, method: 'POST', headers: { 'Content-Length': 9 } });
    sent.setHeader('Authorization', `Bearer ${open.secret}`).write('{');
    const [response] = (await once(sent, 'response')) as [IncomingMessage];
    const [body] = (await once(response, 'data')) as [Buffer];
    sent.destroy();
    const headers = new Headers(response.headers as Record<string, string>);
    const answer = { status: response.statusCode ?? 0, headers, body: JSON.parse(body.toString()) };
    expectDescribed(answer, 408, 'POST', template);
  });

  it('413 for a body over the limit, as sent and decompressed', async () => {
    await call(413, 'POST', open.endpoint, { token: open.secret, body: 'x'.repeat(1025) });
    const body = gzipSync('x'.repeat(1025));
    await call(413, 'POST', open.endpoint, { token: open.secret, body, headers: { 'Content-Encoding': 'gzip' } });
  });

  it('415 for an encoding that is not accepted', async () => {
    await call(415, 'POST', open.endpoint, { token: open.secret, body: 'x', headers: { 'Content-Encoding': 'zstd' } });
  });

  it('429 over the rate limit of the trigger', async () => {
    const slow = await newWebhook(app, { rate_limit: 1 });
    await call(202, 'POST', slow.endpoint, { token: slow.secret });
    await call(429, 'POST', slow.endpoint, { token: slow.secret });
  });

  it('431 for headers over the limit', async () => {
    const { headers, body } = await call(431, 'POST', open.endpoint, { headers: { 'X-Long': 'x'.repeat(40_000) } });
    expect(headers.get('x-request-id')).toBe(body.request_id);
  });

  it('417 for an expectation that is not known', async () => {
    await call(417, 'POST', open.endpoint, { headers: { Expect: 'x' } });
  });

  it('503 while the secret cannot be read', async () => {
    const other = await newWebhook(app);
    const decrypt = vi.spyOn(app.services.secrets, 'decrypt').mockRejectedValue(new DomainError('unavailable', 'Away'));
    onTestFinished(() => decrypt.mockRestore());
    await call(503, 'POST', other.endpoint, { token: other.secret });
  });
});

describe('every answer of git over HTTP is one that openapi.json describes', () => {
  const repository = '/git/{organization}/{project}.git';
  const at = (path: string, place = 'acme/site') => `/git/${place}.git/${path}`;
  const templateOf = (path: string) => `${repository}/${path.split('?')[0]}`;
  const services = ['git-upload-pack', 'git-receive-pack'] as const;
  const typeOf = (service: string) => ({ 'Content-Type': `application/x-${service}-request` });

  async function ask(status: number, method: string, path: string, { place = 'acme/site', ...rest }: GitRequest = {}) {
    const answer = await askRaw(app, method, at(path, place), rest);
    expectDescribed(answer, status, method, templateOf(path));
    return answer;
  }

  describe.each(services)('%s', (service) => {
    const refs = `info/refs?service=${service}`;
    const flush = { body: '0000', headers: typeOf(service) };

    it('200', async () => {
      await ask(200, 'GET', refs);
      const { sha } = (await app.ask('GET', `${studio}/commits`)).body[0];
      await app.ask('POST', `${studio}/branches`, { body: { name: 'gone' } });
      const wants = {
        'git-upload-pack': `${packet(`want ${sha} no-progress\n`)}0000${packet('done\n')}`,
        'git-receive-pack': `${packet(`${sha} ${'0'.repeat(40)} refs/heads/gone\0 report-status\n`)}0000`,
      };
      const { body } = await ask(200, 'POST', service, { ...flush, body: wants[service] });
      expect(body).toContain(service === 'git-upload-pack' ? 'PACK' : 'ok refs/heads/gone');
    });

    it('400 for an organisation that cannot exist, and for a body that is not gzip', async () => {
      await ask(400, 'GET', refs, { place: '%2e%2e/site' });
      await ask(400, 'POST', service, { ...flush, place: '%2e%2e/site' });
      const headers = { ...typeOf(service), 'Content-Encoding': 'gzip' };
      await ask(400, 'POST', service, { body: 'nope', headers });
    });

    it('401 without a token', async () => {
      await ask(401, 'GET', refs, { token: null });
      await ask(401, 'POST', service, { ...flush, token: null });
    });

    it('403 without the permission, and for the dumb protocol', async () => {
      const needed = service === 'git-upload-pack' ? 'browse_studio' : 'edit_studio';
      const token = await app.makeToken(permissionNames.filter((name) => name !== needed));
      await ask(403, 'GET', refs, { token });
      await ask(403, 'POST', service, { ...flush, token });
      await ask(403, 'GET', 'info/refs');
    });

    it('404 for a project that does not exist', async () => {
      await ask(404, 'GET', refs, { place: 'acme/none' });
      await ask(404, 'POST', service, { ...flush, place: 'acme/none' });
    });

    it('417 for an expectation that is not known', async () => {
      await ask(417, 'GET', refs, { headers: { Expect: 'x' } });
    });

    it('414 for a URL and 431 for headers over the limit', async () => {
      await ask(414, 'GET', `${refs}&x=${'x'.repeat(17_000)}`);
      await ask(431, 'GET', refs, { headers: { 'X-Long': 'x'.repeat(40_000) } });
    });

    it('415 for another type, and for another encoding', async () => {
      await ask(415, 'POST', service, { body: '0000' });
      await ask(415, 'POST', service, { ...flush, headers: { ...typeOf(service), 'Content-Encoding': 'br' } });
    });

    it.each<[number, ErrorCode]>([
      [408, 'request_timeout'],
      [413, 'too_large'],
      [429, 'rate_limited'],
      [500, 'internal'],
      [503, 'repository_unavailable'],
      [503, 'storage_full'],
    ])('%i when the work behind it ends with %s', async (status, code) => {
      const error = code === 'internal' ? new Error('A fault') : new DomainError(code, 'Refused');
      const serve = vi.spyOn(app.services.git, 'serve').mockRejectedValue(error);
      onTestFinished(() => serve.mockRestore());
      await ask(status, 'POST', service, flush);
      if (![408, 413].includes(status)) await ask(status, 'GET', refs);
    });
  });
});

describe('every answer of GraphQL, Git LFS and of the process itself is one that openapi.json describes', () => {
  const ask = async (status: number, method: string, path: string, sent: Sent = {}, template = path) => {
    const answer = await askRaw(app, method, path, sent);
    expectDescribed(answer, status, method, template);
    return answer;
  };
  const query = (text: string) => JSON.stringify({ query: text });

  it.each([
    [200, { body: query('{ organizations { nodes { name } } }') }],
    [200, { body: query('{ project(organization: "acme", project: "none") { name } }') }],
    [400, { body: query('{ none }') }],
    [400, { body: '{"query":' }],
    [401, { body: query('{ __typename }'), token: 'wrong' }],
    [413, { body: query('x'.repeat(10 * 1024 * 1024)) }],
    [417, { body: query('{ __typename }'), headers: { Expect: 'x' } }],
    [431, { body: query('{ __typename }'), headers: { 'X-Large': 'x'.repeat(33 * 1024) } }],
  ])('%s of GraphQL', async (status, sent) => {
    await ask(status, 'POST', '/graphql', sent);
  });

  it.each([
    [501, 'acme/site', {}],
    [401, 'acme/site', { token: null }],
    [404, 'acme/none', {}],
    [417, 'acme/site', { headers: { Expect: 'x' } }],
  ])('%s of Git LFS', async (status, place, sent) => {
    const template = '/git/{organization}/{project}.git/info/lfs/objects/batch';
    await ask(status, 'POST', `/git/${place}.git/info/lfs/objects/batch`, { body: '{}', ...sent }, template);
  });

  it('of health, readiness and metrics', async () => {
    await ask(200, 'GET', '/healthz', { token: null });
    const { body, status } = await askRaw(app, 'GET', '/readyz', { token: null });
    await ask(status, 'GET', '/readyz', { token: null });
    expect(Object.keys(body.checks).length).toBeGreaterThan(4);
    await ask(200, 'GET', '/metrics', { token: metricsToken });
    await ask(404, 'GET', '/metrics', { token: null });
    for (const path of ['/healthz', '/readyz', '/metrics']) {
      await ask(417, 'GET', path, { headers: { Expect: 'x' } });
      await ask(431, 'GET', path, { headers: { 'X-Large': 'x'.repeat(33 * 1024) } });
    }
  });
});
