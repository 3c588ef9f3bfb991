import { randomUUID } from 'node:crypto';
import { rename, rm } from 'node:fs/promises';
import path from 'node:path';
import { expect, test, vi } from 'vitest';
import { demoWorkflows, makeDemoWebhook } from '../support/demo-webhook.ts';
import { restClient } from '../support/rest-client.ts';
import {
  demoDataDir,
  endPid,
  postmasterPid,
  settingsFor,
  startProgram,
  startServer,
} from '../support/server-process.ts';
import { call, sign } from '../support/webhook.ts';

const patience = { timeout: 60_000, interval: 50 };

test('while the database is away a webhook says 503, and who comes again starts one execution for each delivery', async () => {
  const { dataDir, token } = await demoDataDir();
  const server = await startServer(dataDir);
  const hook = await makeDemoWebhook(server, token);
  const body = '{"a":1}';
  const send = (delivery: string) =>
    call(server.url, hook.endpoint, {
      body,
      headers: { 'x-hub-signature-256': sign(hook.secret, body), 'x-github-delivery': delivery },
    });
  const statuses: number[] = [];
  const untilAccepted = async (delivery: string): Promise<string> => {
    for (;;) {
      const { status, headers, body: answer } = await send(delivery);
      statuses.push(status);
      if (status === 202) return answer.executionId;
      expect([status, headers['retry-after'], answer]).toEqual([503, '5', { error: 'Service unavailable' }]);
    }
  };
  const cluster = path.join(dataDir, 'postgres/data');
  const found: string[] = [];
  let over = false;
  const sender = async () => {
    while (!over) found.push(await untilAccepted(randomUUID()));
  };
  const senders = Array.from({ length: 6 }, sender);
  await vi.waitFor(() => expect(found.length).toBeGreaterThan(20), patience);
  const postmaster = (await postmasterPid(dataDir)) ?? 0;
  await rename(cluster, `${cluster}.away`);
  await endPid(postmaster);
  await vi.waitFor(() => expect(statuses.filter((status) => status === 503).length).toBeGreaterThan(12), patience);
  const before = found.length;
  await rename(`${cluster}.away`, cluster);
  await vi.waitFor(() => expect(found.length).toBeGreaterThan(before + 12), patience);
  over = true;
  await Promise.all(senders);

  expect(new Set(found).size).toBe(found.length);
  const rest = restClient(server.url, token);
  const list = await rest.get(`${demoWorkflows}/${hook.id}/executions?per_page=1`);
  expect(Number(list.headers.get('x-total-count'))).toBe(found.length);
});

test('a lost key is reported at the start; a server that is to do without says 503 where its secrets are needed', async () => {
  const { dataDir, token } = await demoDataDir();
  const first = await startServer(dataDir);
  const hook = await makeDemoWebhook(first, token);
  await first.stop();
  await rm(path.join(dataDir, 'keys/keyring.json'));

  const { code, stdout, stderr } = await (await startProgram('main', [], settingsFor(dataDir))).ended;
  expect(code).not.toBe(0);
  expect(stdout + stderr).toMatch(/Stored secrets need keys that are not in .*keyring\.json: \S+/);

  const server = await startServer(dataDir, { PORTICO_KMS_ALLOW_MISSING: '1' });
  const headers = { 'x-hub-signature-256': sign(hook.secret, '{}') };
  expect((await call(server.url, hook.endpoint, { body: '{}', headers })).status).toBe(503);
  const rest = restClient(server.url, token);
  expect((await rest.get(hook.path)).body.secret_state).toBe('unreadable');
});
