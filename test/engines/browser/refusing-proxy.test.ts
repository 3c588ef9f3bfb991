import { createServer, request } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { afterEach, expect, it } from 'vitest';
import { openRefusingProxy, type RefusingProxy } from '../../../src/engines/browser/chromium-browser.ts';

let proxy: RefusingProxy | undefined;
afterEach(() => proxy?.close());

const said = (port: number, text: string) =>
  new Promise<string>((resolve, reject) => {
    let answer = '';
    const socket = connect(port, '127.0.0.1', () => socket.write(text));
    socket.on('data', (chunk) => {
      answer += chunk.toString();
    });
    socket.on('end', () => resolve(answer));
    socket.on('error', reject);
  });

it('lets nothing through, neither requests nor tunnels', async () => {
  let connections = 0;
  const inner = createServer((_request, response) => response.end('inner')).on('connection', () => {
    connections += 1;
  });
  await new Promise<void>((resolve) => inner.listen(0, '127.0.0.1', resolve));
  const { port } = inner.address() as AddressInfo;
  proxy = await openRefusingProxy();
  const at = Number(new URL(proxy.url).port);
  const status = await new Promise((resolve) =>
    request({ host: '127.0.0.1', port: at, path: `http://127.0.0.1:${port}/`, agent: false }, (response) =>
      resolve(response.statusCode),
    ).end(),
  );
  expect(status).toBe(403);
  expect(await said(at, `CONNECT 127.0.0.1:${port} HTTP/1.1\r\n\r\n`)).toMatch(/^HTTP\/1\.1 403 /);
  expect(await said(at, 'anything else\r\n')).toMatch(/^HTTP\/1\.1 403 /);
  expect(proxy.refused).toEqual([
    `GET http://127.0.0.1:${port}/ HTTP/1.1`,
    `CONNECT 127.0.0.1:${port} HTTP/1.1`,
    'anything else',
  ]);
  expect(connections).toBe(0);
  inner.close();
});

it('closes though a client is still connected', async () => {
  proxy = await openRefusingProxy();
  const socket = connect(Number(new URL(proxy.url).port), '127.0.0.1');
  await new Promise((resolve) => socket.once('connect', resolve));
  const closed = new Promise((resolve) => socket.once('close', resolve));
  socket.on('error', () => {});
  await proxy.close();
  await closed;
});
