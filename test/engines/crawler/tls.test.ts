import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { selfSigned } from '../../support/certificate.ts';
import { fetching, raw } from './support.ts';

const resolve = async () => ['127.0.0.1'];
const refused = { ok: false, error: 'tls', isRetryable: false, retries: 0 };

/** A server for `localhost` whose own certificate is the root to trust. */
async function serveTls(ends?: string): Promise<{ port: number; caFile: string; requested(): number }> {
  const { key, cert } = selfSigned(ends);
  const directory = mkdtempSync(path.join(tmpdir(), 'portico-ca-'));
  const caFile = path.join(directory, 'ca.pem');
  writeFileSync(caFile, cert);
  let requested = 0;
  const server = createServer({ key, cert }, (_, response) => response.end(String(++requested)));
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
    rmSync(directory, { recursive: true });
  });
  return { port: (server.address() as AddressInfo).port, caFile, requested: () => requested };
}

it('reaches a site whose certificate is good, and no other name of it', async () => {
  const { port, caFile, requested } = await serveTls();
  const { answer, get } = await fetching({ caFile, resolve });
  expect((await answer(port, { url: `https://localhost:${port}/` })).status).toBe(200);
  expect(await get(port, { url: `https://other.test:${port}/` })).toMatchObject(refused);
  expect(requested()).toBe(1);
});

it('refuses a certificate without a trusted issuer', async () => {
  const { port, requested } = await serveTls();
  const { get } = await fetching({ resolve });
  expect(await get(port, { url: `https://localhost:${port}/` })).toMatchObject(refused);
  expect(requested()).toBe(0);
});

it('refuses a certificate that has ended', async () => {
  const { port, caFile, requested } = await serveTls('20200201000000Z');
  const { get } = await fetching({ caFile, resolve });
  const ended = await get(port, { url: `https://localhost:${port}/` });
  expect(ended).toMatchObject(refused);
  expect(ended).toMatchObject({ message: expect.stringContaining('CERT_HAS_EXPIRED') });
  expect(requested()).toBe(0);
});

it('reports a server without TLS as a TLS failure', async () => {
  const port = await raw(() => {});
  const plain = await raw((socket) => socket.end('HTTP/1.1 400 Bad Request\r\n\r\n'));
  const { get } = await fetching({ resolve });
  expect((await get(port, { url: `https://localhost:${port}/`, limits: { connect: 500 } })).ok).toBe(false);
  expect((await get(plain, { url: `https://localhost:${plain}/`, limits: { connect: 500 } })).ok).toBe(false);
});
