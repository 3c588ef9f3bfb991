import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { createMetrics } from '../../src/engines/metrics/prometheus.ts';
import { createPreview } from '../../src/preview/preview.ts';
import { previewLog } from '../../src/server/http/request-log.ts';
import { shared, startTestApp } from '../support/app.ts';
import { askHost, makeEnvironment, publish } from '../support/preview.ts';

const app = shared(startTestApp);
let host: string;
const metrics = createMetrics();
const server = createServer();

beforeAll(async () => {
  server.on('request', previewLog(app.services.log, metrics.http, createPreview(app.services)));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  app.services.settings.preview_url = `http://*.localhost:${port}`;
  const environment = await makeEnvironment(app, { slug: 'live' });
  await publish(app, environment, { 'index.html': '<p>hello</p>' });
  host = `${environment.label}.localhost:${port}`;
});
afterAll(async () => {
  metrics.stop();
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
});

const ask = (target: string, headers: Record<string, string> = {}) =>
  askHost((server.address() as AddressInfo).port, host, target, { headers });
const lines = () => app.log.map((line) => JSON.parse(line)).filter(({ msg }) => msg === 'request');

it('is a line with host and path, and never a query or a cookie', async () => {
  const { headers } = await ask('/?pass=planted-pass', { cookie: 'a=planted-cookie', 'x-request-id': 'find-me' });
  expect(headers['x-request-id']).toBe('find-me');
  await ask('/nowhere?also=planted-pass');
  const found = await vi.waitFor(
    () => {
      const all = lines().filter((line) => line.host === host);
      expect(all).toHaveLength(2);
      return all;
    },
    { timeout: 60_000 },
  );
  expect(found[0]).toMatchObject({ method: 'GET', url: '/', status: 200, request_id: 'find-me' });
  expect(found[1]).toMatchObject({ method: 'GET', url: '/nowhere', status: 404, duration_ms: expect.any(Number) });
  expect(app.log.join('')).not.toContain('planted');
});

it('counts as one route, whatever is requested', async () => {
  const { text } = await metrics.render();
  expect(text).toContain('portico_http_request_seconds_count{method="GET",route="preview",status="200"} 1');
  expect(text).toContain('portico_http_request_seconds_count{method="GET",route="preview",status="404"} 1');
  expect(text).not.toContain('nowhere');
});
