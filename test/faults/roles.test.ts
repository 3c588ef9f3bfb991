import { afterEach, expect, test, vi } from 'vitest';
import { metricsToken, type ServerProcess } from '../support/server-process.ts';
import { type Peer, startPeer } from '../support/workflows/peer.ts';
import { startProcesses, threeCalls, until } from '../support/workflows/processes.ts';

let peer: Peer | undefined;
afterEach(async () => {
  await peer?.close();
  peer = undefined;
});

const ready = async (server: ServerProcess) => {
  const response = await fetch(`${server.url}/readyz`);
  return { status: response.status, body: (await response.json()) as { status: string; roles: string[] } };
};
const isReady = (server: ServerProcess) =>
  until(
    () => ready(server),
    ({ status }) => status === 200,
    60,
  );

const metricsOf = async ({ url }: Pick<ServerProcess, 'url'>) =>
  (await fetch(`${url}/metrics`, { headers: { Authorization: `Bearer ${metricsToken}` } })).text();

const logged = (server: ServerProcess, pattern: RegExp) =>
  pattern.test(server.output().stdout + server.output().stderr);

test('a web server accepts and leaves executions queued; workers execute them, as many as there are; each says what it is', async () => {
  peer = await startPeer((path) => path === '/b');
  const { web, start, ask } = await startProcesses();
  expect((await isReady(web)).body).toMatchObject({ status: 'ready', roles: ['web'] });
  const { id } = await ask(web, 'POST', '', { name: 'Calls', definition: threeCalls(peer.url) });
  const at = `/${id}/executions`;
  const begin = async (count: number) => {
    const begun: string[] = [];
    for (let index = 0; index < count; index += 1) begun.push((await ask(web, 'POST', at, {})).execution_id);
    return begun;
  };
  const ids = await begin(8);
  const all = () => Promise.all(ids.map((one) => ask(web, 'GET', `${at}/${one}`)));
  const statuses = async () => new Set((await all()).map(({ status }) => status));

  // Longer than a queue of its own would take: looks of every kind come every two seconds at most.
  const patience = performance.now() + 5_000;
  await vi.waitFor(() => expect(performance.now()).toBeGreaterThan(patience), { timeout: 60_000, interval: 200 });
  expect([...(await statuses())]).toEqual(['pending']);
  expect(peer.calls).toEqual([]);

  const [first, second] = [await start('worker'), await start('worker')];
  for (const worker of [first, second]) {
    expect((await isReady(worker)).body).toMatchObject({ status: 'ready', roles: ['worker'] });
    expect((await fetch(`${worker.url}/healthz`)).status).toBe(200);
    expect(await metricsOf(worker)).toMatch(/^portico_workflow_open_executions/m);
    for (const endpoint of [
      '/',
      '/graphql',
      '/api/v2/organizations/demo',
      `/webhooks/ai/workflows/${id}`,
      '/git/demo/site.git',
    ]) {
      const response = await fetch(`${worker.url}${endpoint}`, { method: 'POST' });
      expect([endpoint, response.status]).toEqual([endpoint, 404]);
    }
    expect(logged(worker, /"roles":\["worker"\]/)).toBe(true);
  }
  const waiting = peer;
  await until(
    () => waiting.counts('/b').length,
    (count) => count === ids.length,
    60,
  );
  // Both have taken some, once there is enough for two.
  const drivers = async () => {
    const metrics = await Promise.all([first, second].map(async ({ url }) => metricsOf({ url })));
    return metrics.map((text) =>
      Number(/^portico_workflow_steps_total\{type="http",status="completed"\} (\d+)$/m.exec(text)?.[1] ?? 0),
    );
  };
  peer.open();
  await until(
    async () => {
      ids.push(...(await begin(4)));
      return drivers();
    },
    (counts) => counts.every((count) => count > 0),
    60,
  );
  await until(statuses, (found) => found.size === 1 && found.has('completed'), 60);
  expect((await drivers()).reduce((sum, count) => sum + count, 0)).toBe(3 * ids.length);
  for (const path of ['/a', '/b', '/c']) expect(peer.counts(path)).toEqual(ids.map(() => 1));
  expect(await metricsOf(web)).not.toMatch(/^portico_workflow_steps_total\{/m);

  for (const server of [first, second, web]) expect((await server.stop('SIGTERM')).code).toBe(0);
});

test('a process of both roles does both, beside a worker that comes and goes', async () => {
  peer = await startPeer();
  const { web, start, ask } = await startProcesses();
  const both = await start('all');
  expect((await isReady(both)).body.roles).toEqual(['web', 'worker']);
  const { id } = await ask(both, 'POST', '', { name: 'Calls', definition: threeCalls(peer.url) });
  const run = async (at: ServerProcess) => {
    const { execution_id } = await ask(at, 'POST', `/${id}/executions`, {});
    return until(
      () => ask(at, 'GET', `/${id}/executions/${execution_id}`),
      ({ status }) => status === 'completed',
      60,
    );
  };
  await run(both);
  const worker = await start('worker');
  await run(web);
  expect((await both.stop('SIGTERM')).code).toBe(0);
  // The worker alone goes on with what the web server accepts.
  await run(web);
  expect((await worker.stop('SIGTERM')).code).toBe(0);
});
