import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, it, onTestFinished, vi } from 'vitest';
import type { GuardedClient } from '../../../src/engines/http/guarded-http.ts';
import { type ExchangeRequest, NotSent } from '../../../src/ports/exchange.ts';
import { client, failure } from './support.ts';

const policy = { pool: 'test' };
const connect = 10_000;

/** A server on loopback that counts its connections and requests. */
async function counted(answer = (response: ServerResponse) => void response.end('here')) {
  const seen = { connections: 0, requests: 0 };
  const server = createServer((_request, response) => {
    seen.requests += 1;
    answer(response);
  });
  server.on('connection', () => {
    seen.connections += 1;
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return { seen, url: new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`) };
}

/** The status of an exchange, when all of it is there. */
const exchanged = (http: GuardedClient, url: URL, request: Pick<ExchangeRequest, 'mayStart' | 'signal'> = {}) =>
  new Promise<number>((resolve, reject) => {
    const timeouts = { connect, headers: connect, idle: connect, total: connect };
    let status = 0;
    const sink = {
      head(given: number) {
        status = given;
      },
      data() {},
      end: () => resolve(status),
      fail: reject,
    };
    http.exchange(url, { headers: {}, policy, timeouts, ...request }, sink);
  });

/** A client whose connections come about only once their names are resolved, each when the test says so. */
function held() {
  const requested: PromiseWithResolvers<string[]>[] = [];
  const resolve = () => {
    const name = Promise.withResolvers<string[]>();
    requested.push(name);
    return name.promise;
  };
  /** Resolves when so many names have been looked up. */
  const begun = (count: number) => vi.waitFor(() => expect(requested).toHaveLength(count), { timeout: 30_000 });
  const connected = (at: number) => requested[at]?.resolve(['127.0.0.1']);
  return { http: client({ resolve }), requested, begun, connected };
}

const named = (url: URL) => new URL(`http://slow.test:${url.port}/`);

it('opens a connection without asking for anything, and the next request takes it', async () => {
  const { seen, url } = await counted();
  const http = client();
  await http.open(url, { policy, connect });
  await vi.waitFor(() => expect(seen).toEqual({ connections: 1, requests: 0 }), { timeout: 30_000 });
  const answer = await http.request(url, { policy });
  expect([await answer.text(), seen]).toEqual(['here', { connections: 1, requests: 1 }]);
});

it('sends no request that may not start any more, and keeps its connection', async () => {
  const { seen, url } = await counted();
  const http = client();
  const ask = (mayStart: () => boolean) => exchanged(http, url, { mayStart });
  await expect(ask(() => false)).rejects.toBeInstanceOf(NotSent);
  expect(seen).toEqual({ connections: 1, requests: 0 });
  expect(await ask(() => true)).toBe(200);
  expect(seen).toEqual({ connections: 1, requests: 1 });
});

it('says nothing of a connection that cannot be had', async () => {
  const { seen, url } = await counted();
  await client({ allowedCidrs: [] }).open(url, { policy, connect });
  await client({ allowedCidrs: [] }).open(new URL('ftp://127.0.0.1/'), { policy, connect });
  const resolve = async () => {
    throw new Error('no such name');
  };
  await client({ resolve }).open(new URL('http://none.test/'), { policy, connect });
  expect(seen).toEqual({ connections: 0, requests: 0 });
});

it('has a request wait for a connection that is being opened, and one alone', async () => {
  const { seen, url } = await counted();
  const { http, begun, connected } = held();
  const opened = http.open(named(url), { policy, connect });
  const answers = [exchanged(http, named(url)), exchanged(http, named(url))];
  await begun(2);
  connected(0);
  connected(1);
  expect(await Promise.all(answers)).toEqual([200, 200]);
  await opened;
  expect(seen).toEqual({ connections: 2, requests: 2 });
});

it('fails a request with the reason for which its connection could not be opened', async () => {
  const { seen, url } = await counted();
  const { http, requested, begun } = held();
  const opened = http.open(named(url), { policy, connect });
  const outcome = failure(exchanged(http, named(url)));
  await begun(1);
  requested[0]?.reject(new Error('no such name'));
  expect((await outcome).details).toMatchObject({ reason: 'dns' });
  await opened;
  expect([requested.length, seen.connections]).toEqual([1, 0]);
});

it('leaves a connection that is opened for a request that was given up to the next', async () => {
  const { seen, url } = await counted();
  const { http, begun, connected } = held();
  const opened = http.open(named(url), { policy, connect });
  const given = new AbortController();
  const outcome = exchanged(http, named(url), { signal: given.signal });
  given.abort(new Error('given up'));
  await expect(outcome).rejects.toThrow('given up');
  await begun(1);
  connected(0);
  await opened;
  expect(await exchanged(http, named(url))).toBe(200);
  expect(seen).toEqual({ connections: 1, requests: 1 });
});

it('has no request wait while another connection is free', async () => {
  const waiting: ServerResponse[] = [];
  const { seen, url } = await counted((response) => {
    if (waiting.push(response) > 1) response.end('here');
  });
  const { http, begun, connected } = held();
  const first = exchanged(http, named(url));
  await begun(1);
  connected(0);
  await vi.waitFor(() => expect(waiting).toHaveLength(1), { timeout: 30_000 });
  const opened = http.open(named(url), { policy, connect });
  await begun(2);
  waiting[0]?.end('here');
  expect(await first).toBe(200);
  // A connection is free again a turn of the event loop after its answer.
  await nextTurn();
  expect(await exchanged(http, named(url))).toBe(200);
  expect(seen).toEqual({ connections: 1, requests: 2 });
  connected(1);
  await opened;
});
