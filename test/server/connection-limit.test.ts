import { once } from 'node:events';
import type { RequestListener } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { ConnectionLimit, createHttpServer } from '../../src/server/http/http-server.ts';

let close = () => {};
afterEach(() => close());

/** A server that keeps three connections. */
async function serve(app: RequestListener) {
  const server = createHttpServer(app, { connections: new ConnectionLimit(3) });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const sockets: Socket[] = [];
  close = () => {
    for (const socket of sockets) socket.destroy();
    server.closeAllConnections();
    server.close();
  };
  return async (host = '127.0.0.1') => {
    const taken = once(server, 'connection');
    const socket = connect({ port, host: '127.0.0.1', localAddress: host }).on('error', () => {});
    sockets.push(socket);
    await taken;
    return socket;
  };
}

const request = 'GET / HTTP/1.1\r\nHost: x\r\n\r\n';
/** Sends a request. @returns the status of its answer; null when the connection is closed instead */
async function ask(socket: Socket): Promise<number | null> {
  const answer = Promise.race([once(socket, 'data'), once(socket, 'close').then(() => null)]);
  socket.write(request);
  const data = await answer;
  return data === null ? null : Number(String(data[0]).slice(9, 12));
}
const closed = (socket: Socket) => (socket.closed ? Promise.resolve() : once(socket.resume(), 'close'));

describe('connections beyond the limit', () => {
  it('take the place of the one that has been idle the longest', async () => {
    const open = await serve((_request, response) => void response.end('ok'));
    const [first, second, third] = [await open(), await open(), await open()];
    expect(await ask(first)).toBe(200);
    const fourth = await open();
    await closed(second);
    expect([await ask(fourth), await ask(third), await ask(first)]).toEqual([200, 200, 200]);
  });

  it('are closed while all others of their network have a request under way', async () => {
    const begun: (() => void)[] = [];
    const open = await serve(() => begun.shift()?.());
    const busy = [];
    for (let at = 0; at < 3; at += 1) {
      const under = new Promise<void>((resolve) => begun.push(resolve));
      const socket = await open();
      socket.write(request);
      await under;
      busy.push(socket);
    }
    const late = await open();
    await closed(late);
    expect(busy.map((socket) => socket.closed)).toEqual([false, false, false]);
  });

  it('take the place of one of the network that holds the most, also where a request is under way', async () => {
    const begun: (() => void)[] = [];
    const open = await serve((_request, response) => void (begun.shift() ?? (() => response.end('ok')))());
    const busy = [];
    for (let at = 0; at < 3; at += 1) {
      const under = new Promise<void>((resolve) => begun.push(resolve));
      const socket = await open('127.0.0.1');
      socket.write(request);
      await under;
      busy.push(socket);
    }
    const other = await open('127.0.1.1');
    await closed(busy[0] as Socket);
    expect(await ask(other)).toBe(200);
    expect(busy.slice(1).map((socket) => socket.closed)).toEqual([false, false]);
  });
});
