import { randomUUID } from 'node:crypto';
import { setTimeout } from 'node:timers/promises';
import pg from 'pg';
import { afterEach, expect, test, vi } from 'vitest';
import type { ServerProcess } from '../support/server-process.ts';
import { call, sign } from '../support/webhook.ts';
import { startHeldExecutions } from '../support/workflows/held-executions.ts';
import { type Peer, startPeer } from '../support/workflows/peer.ts';
import { query, startProcesses, until } from '../support/workflows/processes.ts';

vi.setConfig({ testTimeout: 240_000 });

let peer: Peer | undefined;
afterEach(async () => {
  await peer?.close();
  peer = undefined;
});

test('rolling restarts of both roles under load lose nothing: no call is refused but by a closed port, no step runs twice', async () => {
  const service = await startPeer();
  peer = service;
  const processes = await startProcesses();
  const { ask, start, databaseUrl } = processes;
  const definition = {
    portico: 'workflow/1',
    steps: ['a', 'b'].map((id) => ({ id, type: 'http', method: 'POST', url: `${service.url}/${id}` })),
  };
  const { id } = await ask(processes.web, 'POST', '', { name: 'Rolled', definition });
  const { id: trigger } = await ask(processes.web, 'POST', `/${id}/triggers`, { type: 'webhook', auth_mode: 'hmac' });
  const { secret } = await ask(processes.web, 'POST', `/${id}/triggers/${trigger}/reveal`, {});
  const webs = [processes.web, await start('web')];
  const workers = [await start('worker'), await start('worker')];

  const accepted: string[] = [];
  const refusals: string[] = [];
  let over = false;
  const sender = async (first: number) => {
    // As much as an idle worker can do beside everything else here.
    for (let turn = first; !over; turn += 1, await setTimeout(40)) {
      const body = JSON.stringify({ id: randomUUID() });
      const headers = { 'x-hub-signature-256': sign(secret, body), connection: 'close' };
      const { url } = webs[turn % webs.length] as ServerProcess;
      const answer = await call(url, `/webhooks/ai/workflows/${id}`, { body, headers }).catch(
        ({ code }: NodeJS.ErrnoException) => code ?? 'unknown',
      );
      // A connection that was not accepted yet when the port was closed is reset: nothing of it was read.
      if (typeof answer === 'string') expect(['ECONNREFUSED', 'ECONNRESET']).toContain(answer);
      else if (answer.status === 202) accepted.push(answer.body.executionId);
      else refusals.push(`${answer.status} ${answer.text}`);
    }
  };
  const senders = [0, 1].map(sender);
  const goesOn = async () => {
    const had = accepted.length;
    await vi.waitFor(() => expect(accepted.length).toBeGreaterThan(had + 20), { timeout: 60_000, interval: 5 });
  };
  for (const [list, role] of [
    [webs, 'web'],
    [workers, 'worker'],
  ] as const)
    for (const index of [0, 1]) {
      await goesOn();
      const old = list[index] as ServerProcess;
      const { code } = await old.stop('SIGTERM');
      expect([role, code]).toEqual([role, 0]);
      await goesOn();
      list[index] = await start(role);
    }
  await goesOn();
  over = true;
  await Promise.all(senders);
  expect(refusals).toEqual([]);

  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  const standing = async () =>
    (
      await client.query(
        `select count(*)::int as count, count(*) filter (where status = 'completed')::int as completed,
           count(*) filter (where crashes > 0)::int as crashed from execution where id = any($1)`,
        [accepted],
      )
    ).rows[0] as { count: number; completed: number; crashed: number };
  const ended = await until(standing, ({ completed }) => completed === accepted.length, 90).finally(() => client.end());
  expect(ended).toEqual({ count: accepted.length, completed: accepted.length, crashed: 0 });
  expect(Math.max(...service.counts('/a'), ...service.counts('/b'))).toBe(1);
  for (const server of [...webs, ...workers]) expect((await server.stop('SIGTERM')).code).toBe(0);
});

test('SIGTERM hands executions back: another worker goes on before a heartbeat is over, and it counts as no crash', async () => {
  const service = await startPeer((path) => path === '/b');
  peer = service;
  const { processes, worker, ids, settled, look, events } = await startHeldExecutions(service);
  await processes.start('worker');
  expect((await worker.stop('SIGTERM')).code).toBe(0);
  // Nothing is left in the name of who has gone.
  expect(await query(processes, 'select count(*)::int as count from execution where crashes > 0')).toEqual([
    { count: 0 },
  ]);
  await until(
    () => look(ids),
    (all) => all.every(({ attempt }) => attempt === 2),
    90,
  );
  service.open();
  const ended = await settled(ids, 90);
  expect(ended.map(({ status }) => status)).toEqual(ids.map(() => 'completed'));
  expect(service.counts('/a')).toEqual(ids.map(() => 1));
  expect(service.counts('/c')).toEqual(ids.map(() => 1));
  for (const id of ids) expect((await events(id)).filter((event) => event === 'step.completed a')).toHaveLength(1);
});
