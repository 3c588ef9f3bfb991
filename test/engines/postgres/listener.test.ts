import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import pg from 'pg';
import { expect, inject, onTestFinished, test, vi } from 'vitest';
import { listen } from '../../../src/db/listener.ts';
import type { Log } from '../../../src/domain/ports/log.ts';

/** A line to the database of the test run that can be cut without a word to either side. */
async function line() {
  const { user, password, database, host, port } = new pg.Client({ connectionString: inject('databaseUrl') });
  const sockets: Socket[] = [];
  let isCut = false;
  const server = createServer({ allowHalfOpen: true }, (near) => {
    sockets.push(near);
    near.on('error', () => {});
    if (isCut) return void near.resume();
    const far = host.startsWith('/') ? connect(`${host}/.s.PGSQL.${port}`) : connect(port, host);
    sockets.push(far);
    far.on('error', () => {});
    near.on('data', (bytes) => isCut || far.write(bytes));
    far.on('data', (bytes) => isCut || near.write(bytes));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.close();
    for (const socket of sockets) socket.destroy();
  });
  const url = new URL('postgres://127.0.0.1');
  Object.assign(url, { port: (server.address() as AddressInfo).port, pathname: `/${database}` });
  Object.assign(url, { username: user ?? '', password: password ?? '' });
  return {
    url: url.href,
    sockets,
    cut() {
      isCut = true;
    },
  };
}

const log: Log = { debug() {}, info() {}, warn() {}, error() {}, child: () => log };
const listenOn = (url: string) => listen({ url, log, channels: {}, onState() {} });

test('ends while the database says nothing any longer', async () => {
  const { url, sockets, cut } = await line();
  const listener = listenOn(url);
  await listener.ready;
  cut();
  await listener.close();
  await vi.waitFor(() => expect(sockets[0]?.readableEnded || sockets[0]?.destroyed).toBe(true), { timeout: 30_000 });
});

test('ends while the database has not said anything yet', async () => {
  const { url, sockets, cut } = await line();
  cut();
  const listener = listenOn(url);
  await vi.waitFor(() => expect(sockets).toHaveLength(1), { timeout: 30_000 });
  await listener.close();
  await listener.ready;
});
