import { rename } from 'node:fs/promises';
import path from 'node:path';
import { expect, test, vi } from 'vitest';
import { demoStudio, restClient } from '../support/rest-client.ts';
import { demoDataDir, endPid, portico, postmasterPid, settingsFor, startServer } from '../support/server-process.ts';

const sent = async (url: string, init?: RequestInit) => {
  const response = await fetch(url, init);
  return { status: response.status, retry: response.headers.get('retry-after'), text: await response.text() };
};

test('while PostgreSQL cannot be started every endpoint answers 503 and readiness names the database; then all works again', async () => {
  const { dataDir, token } = await demoDataDir();
  const server = await startServer(dataDir);
  const rest = restClient(server.url, token);
  const headers = { Authorization: `Bearer ${token}` };
  const isReady = async () => expect((await sent(`${server.url}/readyz`)).status).toBe(200);
  await vi.waitFor(isReady, { timeout: 60_000, interval: 50 });

  // Without its files PostgreSQL cannot come back before the test lets it.
  const cluster = path.join(dataDir, 'postgres/data');
  const postmaster = (await postmasterPid(dataDir)) ?? 0;
  await rename(cluster, `${cluster}.away`);
  await endPid(postmaster);

  // Twice: the first meets connections that were open, the second cannot make one.
  for (const _ of [1, 2]) {
    const answer = await rest.get('/organizations/demo/tokens');
    expect([answer.status, answer.headers.get('retry-after')]).toEqual([503, '1']);
    expect(answer.body).toMatchObject({ error: true, code: 'unavailable' });
    const cloned = await sent(`${server.url}/git/demo/site.git/info/refs?service=git-upload-pack`, { headers });
    // A grant in the cache needs no database.
    expect([200, 503]).toContain(cloned.status);
    const graphql = await sent(`${server.url}/graphql`, {
      method: 'POST',
      headers: { ...headers, 'Content-Type': 'application/json' },
      body: JSON.stringify({ query: '{ organizations(first: 1) { total_count } }' }),
    });
    expect(graphql.text).toMatch(/unavailable/i);
  }
  const readiness = await sent(`${server.url}/readyz`);
  expect([readiness.status, JSON.parse(readiness.text).checks.database]).toEqual([503, 'failed']);
  expect((await sent(`${server.url}/healthz`)).status).toBe(200);

  await rename(`${cluster}.away`, cluster);
  await vi.waitFor(async () => expect((await sent(`${server.url}/readyz`)).status).toBe(200), {
    timeout: 60_000,
    interval: 50,
  });
  expect((await rest.get('/organizations/demo')).status).toBe(200);
  expect((await rest.get(`${demoStudio}/collections`)).status).toBe(200);
  // The queue works again too: a job is taken, and ends with the refusal of an address that may not be reached.
  const settings = settingsFor(dataDir);
  const admin = await portico(['token', 'create', '--organization', 'demo', '--preset', 'admin'], settings);
  const owner = restClient(server.url, admin.stdout.trim());
  const draft = { name: 'Later', import_url: 'https://127.0.0.1/site.git' };
  expect((await owner.send('POST', '/organizations/demo/projects', draft)).status).toBe(201);
  await vi.waitFor(
    async () => {
      const { body } = await owner.get('/organizations/demo/projects/later/studio/repository');
      expect(body.import.state).toBe('failed');
    },
    { timeout: 60_000, interval: 100 },
  );
  const { code, stdout, stderr } = await server.stop();
  // What the stop waits for is in the log.
  expect(code, stdout.slice(-4_000) + stderr).toBe(0);
});
