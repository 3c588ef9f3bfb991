import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { connect } from 'node:net';
import express from 'express';
import { afterEach, expect, it, vi } from 'vitest';
import { WebhookEndpoint } from '../../../src/domain/workflows/webhook/webhook.ts';
import { DomainError } from '../../../src/kernel/errors.ts';
import { createWebhook } from '../../../src/rest/webhook.ts';
import { shared } from '../../support/app.ts';
import { call, newWebhook, startWebhookApp, workflowsPath } from '../../support/webhook.ts';

const app = shared(startWebhookApp);
const hook = shared(() => newWebhook(app));
afterEach(() => vi.restoreAllMocks());

const unavailable = { status: 503, text: '{"error":"Service unavailable"}' };
const send = (headers: Record<string, string> = {}) =>
  call(app.url, hook.endpoint, { headers: { authorization: `Bearer ${hook.secret}`, ...headers }, body: '{}' });
const count = async () =>
  (await app.services.orm.em.fork().execute('select 1 from execution where workflow_id = ?', [hook.workflow])).length;

it('503 and never 401 while the key service is away, also for a wrong secret', async () => {
  vi.spyOn(app.services.secrets, 'decrypt').mockRejectedValue(
    new DomainError('unavailable', 'The key service does not answer', { details: { reason: 'unavailable' } }),
  );
  for (const headers of [{}, { authorization: 'Bearer wrong' }]) {
    const answer = await send(headers);
    expect(answer).toMatchObject(unavailable);
    expect(answer.headers['retry-after']).toBe('5');
  }
});

it('503 for a secret whose key is missing', async () => {
  const broken = await newWebhook(app);
  const em = app.services.orm.em.fork();
  await em.execute(
    'update workflow_trigger set secret = (select secret from workflow_trigger where id = ?) where id = ?',
    [hook.trigger, broken.trigger],
  );
  const headers = { authorization: `Bearer ${broken.secret}` };
  expect(await call(app.url, broken.endpoint, { headers })).toMatchObject(unavailable);
});

it('503 when the commit is lost, and the repeat of the sender starts one execution', async () => {
  const before = await count();
  const lost = Object.assign(new Error('Connection terminated unexpectedly'), {});
  // The commit happens, but its answer does not come.
  const pool = await app.services.orm.em.getConnection().getNativeClient();
  const connect = pool.connect.bind(pool);
  vi.spyOn(pool, 'connect').mockImplementation((async () => {
    const connection = await connect();
    if (vi.isMockFunction(connection.query)) return connection;
    const query = connection.query.bind(connection) as (...given: unknown[]) => Promise<unknown>;
    vi.spyOn(connection, 'query').mockImplementation((async (...given: unknown[]) => {
      const answer = await query(...given);
      if (given[0] === 'commit') throw lost;
      return answer;
    }) as never);
    return connection;
  }) as never);
  const key = { 'idempotency-key': 'lost-1' };
  expect(await send(key)).toMatchObject(unavailable);
  vi.restoreAllMocks();
  const again = await send(key);
  expect([again.status, again.headers['idempotency-replayed']]).toEqual([202, 'true']);
  expect(await count()).toBe(before + 1);
});

it('503 when the database refuses connections', async () => {
  vi.spyOn(app.services.orm.em, 'fork').mockImplementation(() => {
    throw new Error('Connection terminated due to connection timeout');
  });
  expect(await send()).toMatchObject(unavailable);
});

it('a webhook that changes between proof and commit is looked at again', async () => {
  // This process receives no notifications, so an endpoint that caches triggers is stale after a change by another process.
  const endpoint = new WebhookEndpoint(app.services);
  endpoint.triggers.setListening(true);
  const outer = express().use(createWebhook(endpoint, { bodyTime: 300 }));
  const server = createServer(outer).listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  const { port } = server.address() as AddressInfo;
  const at = `http://127.0.0.1:${port}`;
  const ask = (secret: string) => call(at, hook.endpoint, { headers: { authorization: `Bearer ${secret}` } });
  try {
    expect((await ask(hook.secret)).status).toBe(202);
    const { body } = await app.ask('POST', `${workflowsPath}${hook.path}/rotate`, { body: {} });
    expect((await ask(hook.secret)).status).toBe(401);
    expect((await ask(body.secret)).status).toBe(202);
    hook.secret = body.secret;
    await app.ask('PATCH', `${workflowsPath}${hook.path}`, { body: { enabled: false } });
    expect((await ask(hook.secret)).status).toBe(404);
    await app.ask('PATCH', `${workflowsPath}${hook.path}`, { body: { enabled: true } });
    endpoint.triggers.evict(hook.workflow);

    // Slower than this endpoint allows.
    const socket = connect(port, '127.0.0.1');
    const answered = new Promise<string>((resolve) => socket.once('data', (data) => resolve(data.toString())));
    socket.write(
      `POST ${hook.endpoint} HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${hook.secret}\r\nContent-Length: 9\r\n\r\n{`,
    );
    expect(await answered).toMatch(/^HTTP\/1\.1 408 [\s\S]*\{"error":"Request timeout"\}$/);
    socket.destroy();
  } finally {
    server.closeAllConnections();
    server.close();
    await endpoint.close();
  }
});
