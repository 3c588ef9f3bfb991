import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Readable } from 'node:stream';
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest';
import { openAwsKms } from '../../../src/engines/kms/aws-kms.ts';
import { startAwsKms } from './aws-server.ts';
import { fault, kmsContract } from './kms-contract.ts';

beforeAll(() => {
  vi.stubEnv('AWS_ACCESS_KEY_ID', 'AKIDTEST');
  vi.stubEnv('AWS_SECRET_ACCESS_KEY', 'secret');
  vi.stubEnv('AWS_REGION', 'eu-central-1');
});
afterAll(() => vi.unstubAllEnvs());

async function open() {
  const server = await startAwsKms();
  const kms = openAwsKms({ key: 'alias/portico', url: server.url });
  onTestFinished(() => kms.close());
  return { ...server, server, kms };
}

kmsContract('AWS KMS', open);

describe('AWS KMS', () => {
  const key = Buffer.alloc(32, 7);

  it('goes on after throttling', async () => {
    const { kms, server } = await open();
    server.trouble({ type: 'ThrottlingException', status: 400, count: 3 });
    const { blob } = await kms.wrap(key, 'context');
    expect(server.requests).toHaveLength(4);
    expect(Buffer.from(await kms.unwrap(blob, 'context'))).toEqual(key);
  });

  it.each([
    ['an internal fault', 'KMSInternalException', 500],
    ['missing rights', 'AccessDeniedException', 400],
  ])('%s says nothing about the key', async (_what, type, status) => {
    const { kms, server } = await open();
    const { blob } = await kms.wrap(key, 'context');
    server.trouble({ type, status, count: 100 });
    expect(await fault(kms.unwrap(blob, 'context'))).toBe('unavailable');
    expect(await kms.health()).toMatchObject({ ok: false });
  });

  it('is unavailable while the service does not answer, and says so', async () => {
    const { kms, server } = await open();
    server.stop();
    expect(await fault(kms.wrap(key, 'context'))).toBe('unavailable');
    expect(await kms.health()).toMatchObject({ ok: false });
  });

  it.each([
    ['takes requests and answers none', () => {}],
    ['begins an answer and does not go on', (response: ServerResponse) => void response.writeHead(200).write('{')],
  ])('is unavailable when it %s', async (_what, answer) => {
    const silent = createServer((request, response) => {
      request.resume();
      answer(response);
    });
    await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve));
    const { port } = silent.address() as AddressInfo;
    const kms = openAwsKms({ key: 'alias/portico', url: `http://127.0.0.1:${port}`, patience: 50 });
    onTestFinished(() => {
      kms.close();
      silent.closeAllConnections();
      silent.close();
    });
    expect(await fault(kms.unwrap(key, 'context'))).toBe('unavailable');
  });

  it('is unavailable when it answers without end, of which little is read', async () => {
    const ended = Promise.withResolvers<boolean>();
    const endless = createServer((request, response) => {
      request.resume();
      const pieces = Array.from({ length: 256 }, () => Buffer.alloc(256 * 1024, ' '));
      Readable.from(pieces).pipe(response.writeHead(200, { 'Content-Type': 'application/x-amz-json-1.1' }));
      response.once('close', () => ended.resolve(response.writableFinished));
    });
    await new Promise<void>((resolve) => endless.listen(0, '127.0.0.1', resolve));
    const { port } = endless.address() as AddressInfo;
    const kms = openAwsKms({ key: 'alias/portico', url: `http://127.0.0.1:${port}` });
    onTestFinished(() => {
      kms.close();
      endless.closeAllConnections();
      endless.close();
    });
    expect(await fault(kms.unwrap(key, 'context'))).toBe('unavailable');
    expect(await ended.promise).toBe(false);
  });

  it('a disabled key makes it unhealthy', async () => {
    const { kms, server } = await open();
    const { kek_id } = await kms.wrap(key, 'context');
    await server.disable(kek_id);
    expect(await kms.health()).toEqual({ ok: false, problem: `the key ${kek_id} is disabled` });
    expect((await kms.describe()).keys.map(({ state }) => state)).toEqual(['disabled']);
  });
});
