import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, it, onTestFinished } from 'vitest';
import { NotSent } from '../../../src/domain/ports/exchange.ts';
import { client } from './support.ts';

const policy = { pool: 'test' };
const connect = 10_000;

/** A server on loopback that counts its connections and requests. */
async function counted() {
  const seen = { connections: 0, requests: 0 };
  const server = createServer((_request, response) => {
    seen.requests += 1;
    response.end('here');
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

it('opens a connection without asking for anything, and the next request takes it', async () => {
  const { seen, url } = await counted();
  const http = client();
  await http.open(url, { policy, connect });
  expect(seen.requests).toBe(0);
  const answer = await http.request(url, { policy });
  expect([await answer.text(), seen]).toEqual(['here', { connections: 1, requests: 1 }]);
});

it('sends no request that may not start any more, and keeps its connection', async () => {
  const { seen, url } = await counted();
  const http = client();
  const timeouts = { connect, headers: connect, idle: connect, total: connect };
  const ask = (mayStart: () => boolean) =>
    new Promise((resolve, reject) => {
      const sink = { head: resolve, data() {}, end() {}, fail: reject };
      http.exchange(url, { headers: {}, policy, timeouts, mayStart }, sink);
    });
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
