import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout } from 'node:timers/promises';
import { afterEach, expect, it } from 'vitest';
import type { ServerProcess } from '../support/server-process.ts';
import { twoServers } from '../support/two-servers.ts';

const workflows = '/api/v2/organizations/demo/projects/site/workflows';

/** A peer that counts its calls by their key, and answers when it is told. */
interface Peer {
  url: string;
  calls: { path: string; key: string }[];
  /** Answers what waits, and from now on at once. */
  open(): void;
  close(): Promise<void>;
}

async function startPeer(isHeld: (path: string) => boolean): Promise<Peer> {
  const calls: Peer['calls'] = [];
  let isOpen = false;
  const held: (() => void)[] = [];
  const server: Server = createServer((request, response) => {
    const path = request.url ?? '';
    calls.push({ path, key: String(request.headers['idempotency-key']) });
    const answer = () => response.writeHead(200, { 'Content-Type': 'application/json' }).end(JSON.stringify({ path }));
    if (isHeld(path) && !isOpen) held.push(answer);
    else answer();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    calls,
    open() {
      isOpen = true;
      for (const answer of held.splice(0)) answer();
    },
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

let peer: Peer | undefined;
afterEach(async () => {
  await peer?.close();
  peer = undefined;
});

const asker = (token: string) => async (server: ServerProcess, method: string, at: string, body?: object) => {
  const response = await fetch(`${server.url}${workflows}${at}`, {
    method,
    headers: { Authorization: `Bearer ${token}`, ...(body && { 'Content-Type': 'application/json' }) },
    ...(body && { body: JSON.stringify(body) }),
  });
  const answer = await response.json();
  if (!response.ok) throw new Error(`${method} ${at}: ${response.status} ${JSON.stringify(answer)}`);
  // biome-ignore lint/suspicious/noExplicitAny: tests look into answers of every shape
  return answer as any;
};

async function until<T>(ask: () => Promise<T>, fits: (answer: T) => boolean, seconds = 90): Promise<T> {
  for (const end = Date.now() + seconds * 1000; ; ) {
    const answer = await ask();
    if (fits(answer)) return answer;
    if (Date.now() > end) throw new Error(`Not in ${seconds} s: ${JSON.stringify(answer)}`);
    await setTimeout(100);
  }
}

const threeCalls = (url: string) => ({
  portico: 'workflow/1',
  steps: ['a', 'b', 'c'].map((id) => ({ id, type: 'http', method: 'POST', url: `${url}/${id}` })),
});

/** A web server and a worker beside it on one database, and executions that wait at a step of three. */
async function midway(heldAt: string) {
  peer = await startPeer((path) => path === `/${heldAt}`);
  const servers = await twoServers({ PORTICO_ALLOWED_CIDRS: '127.0.0.0/8' });
  const ask = asker(servers.owner.text);
  const { id: workflow } = await ask(servers.one, 'POST', '', { name: 'Calls', definition: threeCalls(peer.url) });
  const at = `/${workflow}/executions`;
  const ids: string[] = [];
  for (let count = 0; count < 6; count += 1) ids.push((await ask(servers.one, 'POST', at, {})).execution_id);
  const calls = peer.calls;
  await until(
    async () => calls.filter(({ path }) => path === `/${heldAt}`).length,
    (count) => count === ids.length,
  );
  const settled = (server: ServerProcess) =>
    until(
      () => Promise.all(ids.map((id) => ask(server, 'GET', `${at}/${id}`))),
      (all) => all.every(({ status }) => status === 'completed' || status === 'failed'),
    );
  /** How often each step of each execution was called, by its key. */
  const counts = (path: string) => {
    const keys = calls.filter((call) => call.path === path).map(({ key }) => key);
    return [...new Set(keys)].map((key) => keys.filter((one) => one === key).length);
  };
  return { ...servers, ask, at, ids, settled, counts };
}

it.each(['a', 'b', 'c'])(
  'kill -9 of one of two servers in step %s: the other takes over, completed steps never run again, that one once more',
  async (step) => {
    const { one, other, settled, counts, ids } = await midway(step);
    await one.stop('SIGKILL');
    peer?.open();
    const ended = await settled(other);
    expect(ended.map(({ status }) => status)).toEqual(ids.map(() => 'completed'));
    for (const path of ['/a', '/b', '/c']) {
      const found = counts(path);
      expect(found).toHaveLength(ids.length);
      if (path === `/${step}`) expect(Math.max(...found)).toBeLessThanOrEqual(2);
      else expect(new Set(found)).toEqual(new Set([1]));
    }
  },
);

it('a server that is frozen and thawed after it was given up writes nothing more', async () => {
  const { one, other, ask, at, settled, counts, ids } = await midway('b');
  const before = await Promise.all(ids.map((id) => ask(other, 'GET', `${at}/${id}`)));
  one.child.kill('SIGSTOP');
  // Those the frozen server had begun are taken up; it may have had none.
  const limit = Date.now() + 16_000;
  await until(
    () => Promise.all(ids.map((id) => ask(other, 'GET', `${at}/${id}`))),
    (all) => Date.now() > limit || all.some(({ attempt }, index) => attempt > before[index].attempt),
  );
  peer?.open();
  const ended = await settled(other);
  one.child.kill('SIGCONT');
  await setTimeout(3_000);
  expect(ended.map(({ status }) => status)).toEqual(ids.map(() => 'completed'));
  expect(await Promise.all(ids.map((id) => ask(other, 'GET', `${at}/${id}`)))).toEqual(ended);
  expect(new Set(counts('/a'))).toEqual(new Set([1]));
  expect(new Set(counts('/c'))).toEqual(new Set([1]));
  expect(Math.max(...counts('/b'))).toBeLessThanOrEqual(2);
});

it('SIGTERM hands executions back: another process goes on within seconds, and it counts as no crash', async () => {
  const { one, other, ask, at, settled, counts, ids } = await midway('b');
  const { code } = await one.stop('SIGTERM');
  expect(code).toBe(0);
  peer?.open();
  const ended = await settled(other);
  expect(ended.map(({ status }) => status)).toEqual(ids.map(() => 'completed'));
  expect(new Set(counts('/a'))).toEqual(new Set([1]));
  expect(new Set(counts('/c'))).toEqual(new Set([1]));
  const types = async (id: string) =>
    (await ask(other, 'GET', `${at}/${id}/events`)).map(
      ({ type, path }: { type: string; path: string | null }) => `${type} ${path}`,
    );
  for (const id of ids)
    expect((await types(id)).filter((event: string) => event === 'step.completed a')).toHaveLength(1);
});
