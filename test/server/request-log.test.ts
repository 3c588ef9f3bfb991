import { createServer } from 'node:http';
import express from 'express';
import { expect, it, onTestFinished } from 'vitest';
import { requestLog } from '../../src/server/http/request-log.ts';

it.each([
  ['/api/v2/organizations/demo?token=planted&page=2', '/api/v2/organizations/demo?token&page'],
  ['/graphql?planted', '/graphql?'],
  ['/Webhooks/ai/workflows/1?TOKEN=planted', '/Webhooks/ai/workflows/1'],
  ['//webhooks/ai/workflows/1;token=planted', '//webhooks/ai/workflows/1'],
  ['/healthz', '/healthz'],
])('logs the names of query parameters and never their values: %s', async (path, url) => {
  const lines: object[] = [];
  const log = { info: (fields: object) => lines.push(fields), debug() {}, warn() {}, error() {} };
  const server = createServer(express().use(requestLog(log as never, () => {})));
  onTestFinished(() => void server.close());
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as { port: number };
  const logged = expect.poll(() => lines);
  await (await fetch(`http://127.0.0.1:${port}${path}`)).text();
  await logged.toMatchObject([{ method: 'GET', url }]);
});
