import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import express from 'express';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Checks, createHealth, type Phase } from '../../src/rest/health.ts';

const state = { failing: new Set<string>(), phase: 'ready' as Phase };
const names = ['database', 'migrations', 'queue', 'keys', 'repositories'] as const;
const check = (name: string) => async () => {
  if (state.failing.has(`${name} throws`)) throw new Error('down');
  return !state.failing.has(name);
};
const app = express();
app.set('trust proxy', true);
app.use(
  createHealth({
    checks: Object.fromEntries(names.map((name) => [name, check(name)])) as Checks,
    phase: () => state.phase,
    roles: ['web'],
    metrics: async () => ({ type: 'text/plain; version=0.0.4', text: 'up 1\n' }),
    metricsToken: 'metrics-secret',
  }),
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

  it('200 from loopback, or with the token', async () => {
    expect(await ask({})).toBe(200);
    const forwarded = { 'X-Forwarded-For': '203.0.113.5' };
    expect(await ask({ ...forwarded, Authorization: 'Bearer metrics-secret' })).toBe(200);
  });

  it('404 to anybody else, as if it were not there', async () => {
    for (const authorization of [
      '',
      'Bearer wrong',
      'Bearer metrics-secreT',
      'Bearer metrics-secret2',
      'metrics-secret',
    ])
      expect(await ask({ 'X-Forwarded-For': '203.0.113.5', Authorization: authorization })).toBe(404);
    expect(await ask({ 'X-Forwarded-For': '127.0.0.1' })).toBe(404);
    const post = { method: 'POST', headers: { 'X-Forwarded-For': '203.0.113.5' } };
    expect((await fetch(`${url}/metrics`, post)).status).toBe(404);
  });
});

describe('another method', () => {
  it.each(['/healthz', '/readyz', '/metrics'])('405 with the ones %s knows', async (path) => {
    for (const method of ['POST', 'PUT', 'DELETE', 'OPTIONS']) {
      const response = await fetch(`${url}${path}`, { method });
      expect([response.status, response.headers.get('allow')]).toEqual([405, 'GET, HEAD']);
      expect(await response.json()).toMatchObject({ error: true, code: 'method_not_allowed' });
    }
    expect((await fetch(`${url}${path}`, { method: 'HEAD' })).status).toBe(200);
  });
});
