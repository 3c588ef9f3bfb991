import { gzipSync } from 'node:zlib';
import { serverAudits } from 'graphql-http';
import { describe, expect, it } from 'vitest';
import { shared } from '../support/app.ts';
import { graphqlApp } from '../support/graphql-app.ts';

const app = shared(graphqlApp);

const json = { 'Content-Type': 'application/json' };
const post = (body: string | Buffer, headers: Record<string, string> = json, path = '/graphql') =>
  app.send(path, { method: 'POST', headers, body: body as string });

describe('a credential that is not valid', () => {
  it.each([
    ['malformed', 'Bearer nonsense'],
    ['unknown', 'Bearer ptc_0000000000000000000000000000001Q7UKf'],
    ['of another scheme', 'Basic YTpi'],
  ])('is 401 with the body REST has: %s', async (_kind, authorization) => {
    const graphql = await post('{"query":"{ me { id } }"}', { ...json, Authorization: authorization });
    const rest = await app.send('/api/v2/organizations', { headers: { Authorization: authorization } });
    expect(graphql.status).toBe(401);
    expect(graphql.body).toEqual({
      message: 'Unauthenticated',
      error: true,
      code: 'unauthenticated',
      request_id: 'test-request',
    });
    expect(graphql.body).toEqual(rest.body);
    expect(graphql.headers.get('WWW-Authenticate')).toBe('Bearer');
  });
});

describe('the body', () => {
  it.each([
    ['10 MiB', 10 * 1024 * 1024, () => ({ ...json, Authorization: `Bearer ${app.full}` })],
    ['64 KiB without a credential', 64 * 1024, () => json],
  ])('may have %s, and not more', async (_what, limit, headers) => {
    const padded = (size: number) => {
      const query = '{"query":"{ me { id } }","variables":{"x":""}}';
      return query.replace('""', `"${'x'.repeat(size - query.length)}"`);
    };
    expect((await post(padded(limit), headers())).status).toBe(200);
    const { status, body } = await post(padded(limit + 1), headers());
    expect(status).toBe(413);
    expect(body).toMatchObject({ error: true, code: 'too_large', message: `body: must be at most ${limit} bytes` });
    const small = gzipSync(padded(limit + 1));
    expect((await post(small, { ...headers(), 'Content-Encoding': 'gzip' })).status).toBe(413);
  });

  it.each([
    ['a list of requests', '[{"query":"{ me { id } }"}]'],
    ['without a query', '{}'],
    ['a number', '{"query":3}'],
  ])('is 400: %s', async (_kind, text) => {
    const { status, body } = await post(text);
    expect(status).toBe(400);
    expect(body.errors[0].extensions).toEqual({
      code: 'BAD_USER_INPUT',
      reason: 'invalid_request',
      request_id: 'test-request',
    });
  });

  it('is 400 when it is not JSON', async () => {
    const { status, body } = await post('{"query":');
    expect(status).toBe(400);
    expect(body).toMatchObject({ error: true, code: 'invalid_request', message: 'body: is not valid JSON' });
  });

  it('is not read as a form', async () => {
    const form = { 'Content-Type': 'multipart/form-data; boundary=x', 'Apollo-Require-Preflight': 'true' };
    expect((await post('--x--', form)).status).toBe(400);
    expect((await post('query=%7Bme%7Bid%7D%7D', { 'Content-Type': 'application/x-www-form-urlencoded' })).status).toBe(
      400,
    );
    expect((await post('{"query":"{ me { id } }"}', { 'Content-Type': 'text/plain' })).status).toBe(400);
  });
});

describe('GET', () => {
  const query = (text: string, headers: Record<string, string> = { 'Apollo-Require-Preflight': 'true' }) =>
    app.send(`/graphql?query=${encodeURIComponent(text)}`, { headers, token: app.full });

  it('answers queries, when a browser could not have sent it by itself', async () => {
    expect((await query('{ me { name } }')).body.data.me).toEqual({ name: 'Test' });
    const { status, body } = await query('{ me { name } }', {});
    expect(status).toBe(400);
    expect(body.errors[0].extensions.code).toBe('BAD_USER_INPUT');
  });

  it('runs no commands', async () => {
    app.reset();
    const { status, headers } = await query(
      'mutation { updateOrganization(organization: "acme", input: {}) { name } }',
    );
    expect(status).toBe(405);
    expect(headers.get('Allow')).toBe('POST');
    expect(app.operations).toEqual([]);
  });

  it('is the only other method', async () => {
    const { status, headers } = await app.send('/graphql', {
      method: 'PUT',
      headers: { ...json, 'Apollo-Require-Preflight': 'true' },
      body: '{"query":"{ me { name } }"}',
    });
    expect(status).toBe(405);
    expect(headers.get('Allow')).toBe('GET, POST');
  });
});

it('responses are never cached', async () => {
  const { headers } = await app.query('{ me { id } }');
  expect(headers.get('Cache-Control')).toBe('private, no-store');
  expect(headers.get('Vary')).toContain('Authorization');
});

it('nothing lies below the path', async () => {
  expect((await post('{"query":"{ me { id } }"}', json, '/graphql/x')).status).toBe(404);
});

describe('GraphQL over HTTP', () => {
  it.each([true, false])('fails no MUST of the audit (with a credential: %s)', async (known) => {
    const headers = known ? { Authorization: `Bearer ${app.full}` } : {};
    const audits = serverAudits({
      url: `${app.url}/graphql`,
      fetchFn: (url: string, init?: RequestInit) => fetch(url, { ...init, headers: { ...init?.headers, ...headers } }),
    });
    const failed: string[] = [];
    for (const audit of audits) {
      const result = await audit.fn();
      if (result.status === 'error') failed.push(`${audit.name}: ${result.reason}`);
      // Bodies that were not looked at keep their connections.
      if ('response' in result && !result.response.bodyUsed) await result.response.body?.cancel();
    }
    expect(audits.length).toBeGreaterThan(50);
    expect(failed).toEqual([]);
  });
});
