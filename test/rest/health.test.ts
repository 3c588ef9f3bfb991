import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import express from 'express';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Checks, createHealth, createMetricsRoute, type Phase } from '../../src/rest/health.ts';

const state = { failing: new Set<string>(), phase: 'ready' as Phase };
const names = ['database', 'migrations', 'queue', 'keys', 'repositories'] as const;
let requests = 0;
let looks = 0;
let held = Promise.resolve();
const check = (name: string) => async () => {
  if (name === 'database') looks += 1;
  await held;
  if (state.failing.has(`${name} throws`)) throw new Error('down');
  return !state.failing.has(name);
};
const render = async () => ({ type: 'text/plain; version=0.0.4', text: 'up 1\n' });
const app = express();
app.set('trust proxy', true);
app.use((_request, _response, next) => {
  requests += 1;
  next();
});
app.use(
  createHealth({
    checks: Object.fromEntries(names.map((name) => [name, check(name)])) as Checks,
    phase: () => state.phase,
    roles: ['web'],
  }),
  createMetricsRoute('metrics-secret', render),
);
const server = createServer(app);
let url = '';
beforeAll(async () => {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterAll(() => void server.close());

const all = (value: string) => Object.fromEntries(names.map((name) => [name, value]));

describe('/healthz', () => {
  it('200 whatever else is away', async () => {
    state.failing.add('database');
    const response = await fetch(`${url}/healthz`);
    expect([response.status, await response.json()]).toEqual([200, { status: 'ok' }]);
    state.failing.clear();
  });
});

describe('/readyz', () => {
  it('200 when all is there', async () => {
    const response = await fetch(`${url}/readyz`);
    expect([response.status, await response.json()]).toEqual([
      200,
      { status: 'ready', roles: ['web'], checks: all('ok') },
    ]);
  });

  it.each([...names, ...names.map((name) => `${name} throws`)])('503 when %s', async (name) => {
    state.failing.add(name);
    const response = await fetch(`${url}/readyz`);
    const checks = { ...all('ok'), [name.split(' ')[0] ?? '']: 'failed' };
    expect([response.status, await response.json()]).toEqual([503, { status: 'not ready', roles: ['web'], checks }]);
    state.failing.clear();
  });

  it('looks once for all that request it at the same time, and once more for those that come meanwhile', async () => {
    looks = 0;
    const begun = requests;
    const { promise, resolve } = Promise.withResolvers<void>();
    held = promise;
    const all = Array.from({ length: 50 }, () => fetch(`${url}/readyz`).then(({ status }) => status));
    await expect.poll(() => requests - begun).toBe(50);
    resolve();
    expect(await Promise.all(all)).toEqual(all.map(() => 200));
    expect(looks).toBe(2);
  });

  it('503 while draining', async () => {
    state.phase = 'draining';
    const response = await fetch(`${url}/readyz`);
    expect([response.status, await response.json()]).toEqual([
      503,
      { status: 'draining', roles: ['web'], checks: all('ok') },
    ]);
    state.phase = 'ready';
  });
});

describe('/metrics', () => {
  const ask = async (headers: Record<string, string>) => (await fetch(`${url}/metrics`, { headers })).status;

  it('answers 200 to the token, from wherever it comes', async () => {
    const authorization = { Authorization: 'Bearer metrics-secret' };
    expect(await ask(authorization)).toBe(200);
    expect(await ask({ ...authorization, 'X-Forwarded-For': '203.0.113.5' })).toBe(200);
    const response = await fetch(`${url}/metrics`, { headers: authorization });
    expect([await response.text(), response.headers.get('cache-control')]).toEqual(['up 1\n', 'no-store']);
  });

  it('answers 404 to every other request, from loopback too, as if it were not there', async () => {
    const wrong = [
      'Bearer wrong',
      'Bearer metrics-secreT',
      'Bearer metrics-secret2',
      'Bearer metrics-secre',
      'metrics-secret',
      'Basic metrics-secret',
      'Bearer',
      'Bearer  ',
    ];
    for (const headers of [{}, ...wrong.map((authorization) => ({ Authorization: authorization }))]) {
      expect([headers, await ask(headers)]).toEqual([headers, 404]);
      expect([headers, await ask({ ...headers, 'X-Forwarded-For': '127.0.0.1' })]).toEqual([headers, 404]);
      expect((await fetch(`${url}/metrics`, { method: 'POST', headers })).status).toBe(404);
    }
    expect((await fetch(`${url}/metrics?token=metrics-secret`)).status).toBe(404);
  });

  it('answers 404 where no token is configured, whatever is sent', async () => {
    const without = express().use(createMetricsRoute(undefined, render));
    const other = createServer(without);
    await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve));
    const at = `http://127.0.0.1:${(other.address() as AddressInfo).port}/metrics`;
    for (const authorization of ['', 'Bearer ', 'Bearer undefined'])
      expect((await fetch(at, { headers: { Authorization: authorization } })).status).toBe(404);
    other.close();
  });
});

describe('another method', () => {
  it.each(['/healthz', '/readyz', '/metrics'])('405 with the ones %s knows', async (path) => {
    for (const method of ['POST', 'PUT', 'DELETE']) {
      const response = await fetch(`${url}${path}`, { method, headers: { Authorization: 'Bearer metrics-secret' } });
      expect([response.status, response.headers.get('allow')]).toEqual([405, 'GET, HEAD']);
      expect(await response.json()).toMatchObject({ error: true, code: 'method_not_allowed' });
    }
    const head = { method: 'HEAD', headers: { Authorization: 'Bearer metrics-secret' } };
    expect((await fetch(`${url}${path}`, head)).status).toBe(200);
  });
});
