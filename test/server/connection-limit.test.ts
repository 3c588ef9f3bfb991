import { once } from 'node:events';
import type { RequestListener, ServerResponse } from 'node:http';
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

describe('requests that are sent ahead', () => {
  /** A server whose answers end when a test wants it. */
  async function holding() {
    const begun: ServerResponse[] = [];
    const open = await serve((_request, response) => void begun.push(response));
    return { begun, open, end: (at: number) => begun[at]?.end(String(at)) };
  }

  it('are served one after the other, in their order', async () => {
    const { begun, open, end } = await holding();
    const socket = await open();
    let received = '';
    socket.on('data', (data) => (received += data));
    socket.write(request.repeat(3));
    for (let at = 0; at < 3; at += 1) {
      await expect.poll(() => begun.length).toBe(at + 1);
      end(at);
      await expect.poll(() => received.split('HTTP/1.1 200').length).toBe(at + 2);
    }
    expect([...received.matchAll(/\r\n\r\n(\d)/g)].map(([, body]) => body)).toEqual(['0', '1', '2']);
  });

  it('are at most 16', async () => {
    const { begun, open, end } = await holding();
    const [patient, hasty] = [await open(), await open()];
    patient.resume().write(request.repeat(17));
    hasty.write(request.repeat(18));
    await closed(hasty);
    for (let at = 0; begun.length < 18; at += 1) {
      await expect.poll(() => begun.length).toBeGreaterThan(at);
      end(at);
    }
    expect(patient.closed).toBe(false);
  });

  it('count as under way', async () => {
    const { begun, open, end } = await holding();
    const first = await open();
    first.resume().write(request.repeat(2));
    await expect.poll(() => begun.length).toBe(1);
    end(0);
    await expect.poll(() => begun.length).toBe(2);
    await open();
    const idle = await open();
    await open();
    expect(first.closed).toBe(false);
    expect(idle.closed).toBe(false);
  });

  it('are not served when the connection has ended', async () => {
    const { begun, open } = await holding();
    const socket = await open();
    socket.write(request.repeat(2));
    await expect.poll(() => begun.length).toBe(1);
    socket.destroy();
    await once(begun[0] as ServerResponse, 'close');
    await new Promise((resolve) => setImmediate(resolve));
    expect(begun.length).toBe(1);
  });
});
