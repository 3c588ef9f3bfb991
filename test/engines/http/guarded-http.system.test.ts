import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TLSSocket } from 'node:tls';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { signedBy } from '../../support/test-roots.ts';
import { client, failure } from './support.ts';

const folder = mkdtempSync(join(tmpdir(), 'portico-ca-'));
const file = (name: string) => join(folder, name);
let port = 0;
let close = (): void => {};

beforeAll(async () => {
  const { key, cert } = signedBy(folder, 'site.test');
  const server = createServer({ key, cert }, (request, response) => {
    response.end(
      JSON.stringify([request.headers.host, (request.socket as TLSSocket & { servername?: string }).servername]),
    );
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  port = (server.address() as AddressInfo).port;
  close = () => {
    server.closeAllConnections();
    server.close();
  };
});

afterAll(() => {
  close();
  rmSync(folder, { recursive: true });
});

const resolve = async () => ['127.0.0.1'];

describe('https', () => {
  it('accepts a site signed by the extra roots, with the name in SNI and Host', async () => {
    const http = client({ caFile: file('ca.pem'), resolve });
    const answer = await http.request(`https://site.test:${port}/`, { policy: {} });
    expect(JSON.parse(await answer.text())).toEqual([`site.test:${port}`, 'site.test']);
  });

  it('refuses it without the roots, even when the environment waives certificates', async () => {
    process.env.NODE_TLS_REJECT_UNAUTHORIZED = '0';
    try {
      const error = await failure(client({ resolve }).request(`https://site.test:${port}/`, { policy: {} }));
      expect([error.code, error.details?.reason]).toEqual(['upstream_unavailable', 'tls']);
    } finally {
      delete process.env.NODE_TLS_REJECT_UNAUTHORIZED;
    }
  });

  it('refuses another name, and the bare address', async () => {
    const http = client({ caFile: file('ca.pem'), resolve });
    for (const host of ['other.test', '127.0.0.1']) {
      const error = await failure(http.request(`https://${host}:${port}/`, { policy: {} }));
      expect(error.details).toEqual({ reason: 'tls', system: 'ERR_TLS_CERT_ALTNAME_INVALID' });
    }
  });

  it('refuses before the handshake', async () => {
    const http = client({ caFile: file('ca.pem'), allowedCidrs: [], resolve });
    const error = await failure(http.request(`https://site.test:${port}/`, { policy: {} }));
    expect(error.details?.reason).toBe('blocked_address');
  });

  it('names the file of roots that cannot be read', () => {
    expect(() => client({ caFile: file('missing.pem') })).toThrow('missing.pem');
  });
});
