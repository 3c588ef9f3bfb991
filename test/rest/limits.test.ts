import { createServer, type RequestListener, type Server } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import express from 'express';
import { describe, expect, it } from 'vitest';
import { generateToken } from '../../src/domain/identity/token-text.ts';
import { addressBlock } from '../../src/domain/users/throttle.ts';
import { createHttpServer } from '../../src/server/http/http-server.ts';
import { limitBodyTime } from '../../src/server/http/request-limits.ts';
import { acme, shared, startTestApp, type TestApp } from '../support/app.ts';
import { askRaw, overSocket } from '../support/raw-http.ts';
import { expectRefusal } from '../support/refusal.ts';

const git = '/git/acme/site.git/info/refs?service=git-upload-pack';

describe('429 after too many failed authentications', () => {
  const app = shared(() => startTestApp({ PORTICO_AUTH_FAILURE_LIMIT: '5', PORTICO_TRUSTED_PROXIES: '127.0.0.0/8' }));

  const ask = (address: string, token: string | null, path = acme) =>
    askRaw(app, 'GET', path, { token, headers: { 'x-forwarded-for': address } });
  const fail = async (address: string, times = 5) => {
    for (let at = 0; at < times; at++) expect((await ask(address, generateToken())).status).toBe(401);
  };

  it('says when to come back', async () => {
    app.clock.now = new Date('2026-05-01T00:00:00Z');
    await fail('198.51.100.1');
    app.clock.now = new Date('2026-05-01T00:00:20Z');
    const answer = await ask('198.51.100.1', generateToken());
    expectRefusal(answer, 429, 'rate_limited', 'Too many failed authentications; try again in 40 s');
    expect(answer.headers.get('retry-after')).toBe('40');
    expect(answer.headers.get('ratelimit-policy')).toBe('"failures";q=5;w=60');
    expect(answer.headers.get('ratelimit')).toBe('"failures";r=0;t=40');
    app.clock.now = new Date('2026-05-01T00:01:00Z');
    expect((await ask('198.51.100.1', generateToken())).status).toBe(401);
    app.clock.now = null;
  });

  it('counts the whole block of an address, and no other', async () => {
    await fail('198.51.101.1', 3);
    await fail('198.51.101.200', 2);
    expect((await ask('198.51.101.77', generateToken())).status).toBe(429);
    expect((await ask('198.51.102.1', generateToken())).status).toBe(401);
  });

  it('holds for every protocol together', async () => {
    await fail('198.51.103.1', 3);
    expect((await ask('198.51.103.1', generateToken(), git)).status).toBe(401);
    const graphql = () =>
      askRaw(app, 'POST', '/graphql', {
        token: generateToken(),
        body: '{"query":"{ __typename }"}',
        headers: { 'x-forwarded-for': '198.51.103.1' },
      });
    expect((await graphql()).status).toBe(401);
    expectRefusal(await graphql(), 429, 'rate_limited', /^Too many failed/);
    const said = await ask('198.51.103.1', generateToken(), git);
    expect({ status: said.status, body: said.body }).toEqual({
      status: 429,
      body: expect.stringMatching(/^Too many failed.*\n$/),
    });
    expect(said.headers.get('content-type')).toMatch(/^text\/plain/);
  });

  it('does not count callers without a credential: git begins every fetch like that', async () => {
    for (let at = 0; at < 8; at++) expect((await ask('198.51.104.1', null, git)).status).toBe(401);
    expect((await ask('198.51.104.1', app.token)).status).toBe(200);
  });

  it('lets a token that was good before go on working beside a neighbour who guesses', async () => {
    expect((await ask('198.51.105.1', app.token)).status).toBe(200);
    await fail('198.51.105.2');
    expect((await ask('198.51.105.1', app.token)).status).toBe(200);
    expect((await ask('198.51.105.1', generateToken())).status).toBe(429);
    const unseen = await app.makeToken(['browse_organization']);
    expect((await ask('198.51.105.1', unseen)).status).toBe(429);
    expect((await ask('198.51.106.1', unseen)).status).toBe(200);
  });

  it('counts a token from when it was revoked', async () => {
    const { body } = await app.ask('POST', `${acme}/tokens`, {
      body: { name: 'T', permissions: ['browse_organization'] },
    });
    expect((await ask('198.51.107.1', body.token)).status).toBe(200);
    await app.ask('DELETE', `${acme}/tokens/${body.id}`);
    for (let at = 0; at < 5; at++) expect((await ask('198.51.107.1', body.token)).status).toBe(401);
    expect((await ask('198.51.107.1', body.token)).status).toBe(429);
  });

  it('lets no more through when many ask at once', async () => {
    const answers = await Promise.all(Array.from({ length: 20 }, () => ask('198.51.108.1', generateToken())));
    expect(answers.filter(({ status }) => status === 401)).toHaveLength(5);
  });

  it('gives no credit for a bad token shown where none is needed', async () => {
    const token = generateToken();
    for (let at = 0; at < 5; at++) await ask('198.51.109.1', token, '/api/v2/openapi.json');
    expect((await ask('198.51.109.1', token)).status).toBe(429);
  });
});

describe('429 after too many requests of one credential', () => {
  const app = shared(() => startTestApp({ PORTICO_RATE_LIMIT: '30' }));

  it('lets a sixth of the limit burst, then one every two seconds', async () => {
    app.clock.now = new Date('2026-05-01T00:00:00Z');
    const ask = async (token = app.token) => askRaw(app, 'GET', acme, { token });
    for (let at = 0; at < 5; at++) expect((await ask()).status).toBe(200);
    const answer = await ask();
    expectRefusal(answer, 429, 'rate_limited', 'Too many requests; try again in 2 s');
    expect(answer.headers.get('retry-after')).toBe('2');
    expect(answer.headers.get('ratelimit-policy')).toBe('"credential";q=30;w=60');
    expect(answer.headers.get('ratelimit')).toBe('"credential";r=0;t=2');
    const basic = { authorization: `Basic ${Buffer.from(`x:${app.token}`).toString('base64')}` };
    expect((await askRaw(app, 'GET', git, { headers: basic })).status).toBe(429);
    expect((await ask(await app.makeToken(['browse_organization']))).status).toBe(200);
    expect((await app.ask('GET', '/healthz')).status).toBe(200);
    app.clock.now = new Date('2026-05-01T00:00:02Z');
    expect([(await ask()).status, (await ask()).status]).toEqual([200, 429]);
    app.clock.now = new Date('2026-05-01T01:00:00Z');
    const after = [];
    for (let at = 0; at < 6; at++) after.push((await ask()).status);
    expect(after).toEqual([200, 200, 200, 200, 200, 429]);
  });
});

describe('the block of an address', () => {
  it.each([
    ['192.0.2.1', '192.0.2.254', true],
    ['192.0.2.1', '192.0.3.1', false],
    ['192.0.2.1', '::ffff:192.0.2.9', true],
    ['2001:db8:1:2::1', '2001:db8:1:2:ffff::9', true],
    ['2001:db8:1:2::1', '2001:db8:1:3::1', false],
  ])('%s and %s: %s', (a, b, same) => {
    expect(addressBlock(a) === addressBlock(b)).toBe(same);
  });

  it('is known of anything', () => {
    for (const text of [undefined, '', 'unix', '300.1.1.1', '<script>']) expect(addressBlock(text)).toBe('unknown');
  });
});

describe('a server with the limits of a public one', () => {
  const app = shared(startTestApp);
  let server: Server;
  const listen = async (made: Server) => {
    server = made;
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` } as TestApp;
  };
  const close = () => {
    server.closeAllConnections();
    server.close();
  };

  it('414 for a URL over 16 KiB, and not for one of 16 KiB', async () => {
    const path = (bytes: number) => `${acme}?x=`.padEnd(bytes, 'x');
    expect((await askRaw(app, 'GET', path(16_384))).status).toBe(200);
    expectRefusal(await askRaw(app, 'GET', path(16_385)), 414, 'uri_too_long', 'The URL is longer than 16384 bytes');
  });

  it('431 for headers over 32 KiB', async () => {
    const at = await listen(createHttpServer(express()));
    const text = await overSocket(at, `GET / HTTP/1.1\r\nHost: x\r\nX-Long: ${'x'.repeat(33 * 1024)}\r\n\r\n`);
    expect(text).toMatch(/^HTTP\/1\.1 431 /);
    close();
  });

  it.each([
    ['an upload that stops coming', 'POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n12'],
    ['an answer that is not read', 'GET / HTTP/1.1\r\nHost: x\r\n\r\n'],
  ])('gives up %s', async (_what, head) => {
    const over = Promise.withResolvers<boolean>();
    const app: RequestListener = (request, response) => {
      response.once('close', () => over.resolve(request.complete && response.writableFinished));
      request.resume();
      // More than the kernel keeps of a connection.
      if (request.method === 'GET') response.end(Buffer.alloc(64 * 1024 * 1024));
    };
    const { url } = await listen(createHttpServer(app, { stalled: 50 }));
    const client = connect(Number(new URL(url).port), '127.0.0.1').pause();
    client.on('error', () => {}).write(head);
    expect(await over.promise).toBe(false);
    client.destroy();
    close();
  });

  it('408 for a body that does not come', async () => {
    const slow = express();
    slow.use(limitBodyTime(30), express.json(), (_request, response) => void response.json({}));
    slow.use(((_error, _request, response, _next) => void response.destroy()) satisfies express.ErrorRequestHandler);
    const at = await listen(createServer(slow));
    const text = await overSocket(
      at,
      'POST / HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n{"a"',
    );
    expect(text).toMatch(/^HTTP\/1\.1 408 /);
    expect(text).toContain('"code":"request_timeout"');
    expect(text).toMatch(/^Connection: close/im);
    close();
  });

  it('408 never comes for a body that is there, however long the answer takes', async () => {
    const slow = express();
    slow.use(limitBodyTime(700), express.json(), async (_request, response) => {
      await new Promise((resolve) => setTimeout(resolve, 1_000));
      response.json({ done: true });
    });
    const at = await listen(createServer(slow));
    expect((await askRaw(at, 'POST', '/', { token: null, body: '{}' })).body).toEqual({ done: true });
    close();
  });

  it('cuts off who goes on sending after the answer', async () => {
    const slow = express();
    slow.use(limitBodyTime(30), (_request, response) => void response.status(401).end());
    const at = await listen(createServer(slow));
    const text = await overSocket(at, 'POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n{');
    expect(text).toMatch(/^HTTP\/1\.1 401 /);
    close();
  });
});
