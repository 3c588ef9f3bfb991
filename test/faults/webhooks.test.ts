import { randomUUID } from 'node:crypto';
import pg from 'pg';
import { expect, test, vi } from 'vitest';
import { demoWorkflows, makeDemoWebhook } from '../support/demo-webhook.ts';
import { restClient } from '../support/rest-client.ts';
import { demoDataDir, kill, type ServerProcess, startServer } from '../support/server-process.ts';
import { twoServers } from '../support/two-servers.ts';
import { call, sign } from '../support/webhook.ts';

/** Executions of a workflow among those of the given ids, as the server lists them. */
async function missing(server: ServerProcess, token: string, workflow: string, ids: readonly string[]) {
  const rest = restClient(server.url, token);
  const lost: string[] = [];
  for (const id of ids)
    if ((await rest.get(`${demoWorkflows}/${workflow}/executions/${id}`)).status !== 200) lost.push(id);
  return lost;
}

test('every call that was accepted is there after the server was killed or stopped under load', async () => {
  const { dataDir, token } = await demoDataDir();
  let server = await startServer(dataDir);
  const hook = await makeDemoWebhook(server, token);
  const accepted: string[] = [];
  for (const signal of ['SIGKILL', 'SIGTERM', 'SIGKILL'] as const) {
    const before = accepted.length;
    let over = false;
    const sender = async () => {
      while (!over) {
        const body = JSON.stringify({ id: randomUUID() });
        const headers = { 'x-hub-signature-256': sign(hook.secret, body), 'content-type': 'application/json' };
        // What was cut off is unknown: it may be there or not.
        const answer = await call(server.url, hook.endpoint, { body, headers }).catch(() => null);
        if (!answer) return;
        if (answer.status === 202) accepted.push(answer.body.executionId);
        else expect(answer.status).toBe(503);
      }
    };
    const senders = Array.from({ length: 8 }, sender);
    await vi.waitFor(() => expect(accepted.length - before).toBeGreaterThan(40), { timeout: 60_000, interval: 5 });
    if (signal === 'SIGKILL') await kill(server.child);
    else await server.stop(signal);
    over = true;
    await Promise.all(senders);
    server = await startServer(dataDir);
    expect(await missing(server, token, hook.id, accepted.slice(before))).toEqual([]);
  }
  expect(new Set(accepted).size).toBe(accepted.length);
});

test('one delivery a hundred times at once over two servers makes one execution', async () => {
  const { url, one, other, owner } = await twoServers();
  const hook = await makeDemoWebhook(one, owner.text);
  const body = '{"a":1}';
  const headers = { 'x-hub-signature-256': sign(hook.secret, body), 'x-github-delivery': randomUUID() };
  const answers = await Promise.all(
    Array.from({ length: 100 }, (_, at) => call([one, other][at % 2]?.url ?? '', hook.endpoint, { body, headers })),
  );
  expect(new Set(answers.map(({ status, text }) => `${status} ${text}`)).size).toBe(1);
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  const { rows } = await client
    .query('select count(*)::int as count from execution where workflow_id = $1', [hook.id])
    .finally(() => client.end());
  expect(rows).toEqual([{ count: 1 }]);
});

test.each([false, true])(
  'after a rotation no server accepts the old secret, within a grace both do (listeners cut: %s)',
  async (cut) => {
    const { url, one, other, owner } = await twoServers();
    const hook = await makeDemoWebhook(one, owner.text);
    const body = '{}';
    const ask = async (server: ServerProcess, secret: string) =>
      (await call(server.url, hook.endpoint, { body, headers: { 'x-hub-signature-256': sign(secret, body) } })).status;
    const rotate = async (server: ServerProcess, grace_period_seconds: number) =>
      (await restClient(server.url, owner.text).send('POST', `${hook.path}/rotate`, { grace_period_seconds })).body
        .secret as string;
    let current = hook.secret;
    for (const server of [one, other, one]) {
      // Both have it in their caches.
      expect([await ask(one, current), await ask(other, current)]).toEqual([202, 202]);
      if (cut) {
        const client = new pg.Client({ connectionString: url });
        await client.connect();
        const statement =
          "select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'portico-listener' and datname = current_database()";
        await client.query(statement).finally(() => client.end());
      }
      const old = current;
      current = await rotate(server, 0);
      const answers = await Promise.all([one, other, one, other].map((each) => ask(each, old)));
      expect(answers).toEqual([401, 401, 401, 401]);
      expect([await ask(one, current), await ask(other, current)]).toEqual([202, 202]);
    }
    const old = current;
    current = await rotate(other, 600);
    expect([await ask(one, old), await ask(other, old), await ask(one, current)]).toEqual([202, 202, 202]);
    await restClient(one.url, owner.text).send('POST', `${hook.path}/revoke`, { which: 'previous' });
    expect([await ask(one, old), await ask(other, old), await ask(other, current)]).toEqual([401, 401, 202]);
  },
);
