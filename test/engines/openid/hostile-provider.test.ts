import { createHmac, generateKeyPairSync, type KeyObject, sign } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { createGuardedHttp } from '../../../src/engines/http/guarded-http.ts';
import { createOpenId } from '../../../src/engines/openid/openid-provider.ts';

const key = generateKeyPairSync('rsa', { modulusLength: 2048 });
const stranger = generateKeyPairSync('rsa', { modulusLength: 2048 });
const clientId = 'portico';
const clientSecret = 'the secret of the client';
const callback = 'http://portico.test/auth/oidc/callback';

const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');

/** A JWT (RFC 7515) in which the signature may be anything. */
function jwt(head: object, claims: object, signed: (text: string) => Buffer): string {
  const text = `${part(head)}.${part(claims)}`;
  return `${text}.${signed(text).toString('base64url')}`;
}
const rs256 = (by: KeyObject) => (text: string) => sign('sha256', Buffer.from(text), by);
const hs256 = (secret: string) => (text: string) => createHmac('sha256', secret).update(text).digest();

type Answers = Partial<Record<string, (request: IncomingMessage, response: ServerResponse) => void>>;
interface Claims {
  iss: string;
  aud: string;
  sub: string;
  nonce: string;
  iat: number;
  exp: number;
}

/** A provider on loopback that answers as a test sets, the requests it got, and a client of it. */
async function hostile(
  token: (claims: Claims) => string = (claims) => jwt({ alg: 'RS256', kid: 'a' }, claims, rs256(key.privateKey)),
) {
  const requested: string[] = [];
  const answers: Answers = {};
  const metadata: Record<string, unknown> = {};
  let nonce = '';
  const json = (response: ServerResponse, value: object) =>
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(value));
  const server = createServer((request, response) => {
    const path = request.url ?? '';
    requested.push(path);
    const own = answers[path];
    if (own) return own(request, response);
    request.resume();
    if (path === '/.well-known/openid-configuration') json(response, metadata);
    else if (path === '/jwks')
      json(response, { keys: [{ ...key.publicKey.export({ format: 'jwk' }), kid: 'a', alg: 'RS256', use: 'sig' }] });
    else if (path === '/token') {
      const now = Math.floor(Date.now() / 1000);
      const claims = { iss: issuer, aud: clientId, sub: 'ada', nonce, iat: now, exp: now + 60 };
      json(response, { access_token: 'x', token_type: 'bearer', id_token: token(claims) });
    } else response.writeHead(404).end();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  Object.assign(metadata, {
    issuer,
    authorization_endpoint: `${issuer}/auth`,
    token_endpoint: `${issuer}/token`,
    jwks_uri: `${issuer}/jwks`,
    response_types_supported: ['code'],
    subject_types_supported: ['public'],
    id_token_signing_alg_values_supported: ['RS256'],
  });
  const http = createGuardedHttp({ allowedCidrs: [] });
  onTestFinished(async () => {
    server.closeAllConnections();
    server.close();
    await http.close();
  });
  const openid = createOpenId({ http, issuer, clientId, clientSecret });
  /** Comes back from the provider with a code. */
  const signIn = async () => {
    const { checks } = await openid.begin(callback);
    nonce = checks.nonce;
    return openid.finish(`${callback}?code=c&state=${checks.state}`, checks);
  };
  return { issuer, requested, answers, metadata, openid, signIn };
}

describe('an ID token', () => {
  it('that the provider has signed names the account', async () => {
    const { signIn, issuer } = await hostile();
    expect(await signIn()).toEqual({ issuer, subject: 'ada' });
  });

  const pem = key.publicKey.export({ format: 'pem', type: 'spki' }).toString();
  const good = { alg: 'RS256', kid: 'a' };
  it.each<[string, (claims: Claims) => string]>([
    ['that is not signed', (claims) => jwt({ alg: 'none' }, claims, () => Buffer.alloc(0))],
    ['signed by another key', (claims) => jwt(good, claims, rs256(stranger.privateKey))],
    [
      'signed by another key that it brings along',
      (claims) =>
        jwt({ ...good, jwk: stranger.publicKey.export({ format: 'jwk' }) }, claims, rs256(stranger.privateKey)),
    ],
    ['signed with the public key as a secret', (claims) => jwt({ alg: 'HS256', kid: 'a' }, claims, hs256(pem))],
    ["signed with the client's secret", (claims) => jwt({ alg: 'HS256' }, claims, hs256(clientSecret))],
    ['with its signature cut off', (claims) => jwt(good, claims, () => Buffer.alloc(0))],
    ['of another issuer', (claims) => jwt(good, { ...claims, iss: 'https://other.example' }, rs256(key.privateKey))],
    ['for another client', (claims) => jwt(good, { ...claims, aud: 'other' }, rs256(key.privateKey))],
    ['of another sign-in', (claims) => jwt(good, { ...claims, nonce: 'other' }, rs256(key.privateKey))],
    ['that has expired', (claims) => jwt(good, { ...claims, exp: claims.iat - 3600 }, rs256(key.privateKey))],
    ['without an account', ({ sub: _, ...claims }) => jwt(good, claims, rs256(key.privateKey))],
    ['that is no JWT', () => 'x.y'],
    ['of an account without a name', (claims) => jwt(good, { ...claims, sub: '' }, rs256(key.privateKey))],
    ['of one with NUL', (claims) => jwt(good, { ...claims, sub: 'ada\u0000' }, rs256(key.privateKey))],
    [
      'of one with half a surrogate pair',
      (claims) => jwt(good, { ...claims, sub: 'ada\ud800' }, rs256(key.privateKey)),
    ],
    ['of one too long', (claims) => jwt(good, { ...claims, sub: 'a'.repeat(256) }, rs256(key.privateKey))],
  ])('%s signs no one in', async (_what, token) => {
    const { signIn } = await hostile(token);
    await expect(signIn()).rejects.toMatchObject({ code: 'forbidden' });
  });
});

/** Sends zeros for as long as they are taken. @returns how many bytes so far */
function endless(answers: Answers, path: string, head: Record<string, string> = {}) {
  const sent = { bytes: 0, isOver: false };
  answers[path] = (_request, response) => {
    response.writeHead(200, { 'content-type': 'application/json', ...head });
    const piece = Buffer.alloc(64 * 1024, ' ');
    const more = () => {
      // Bounded by itself, if the client is not.
      while (!response.destroyed && sent.bytes < 256 * 1024 * 1024) {
        sent.bytes += piece.length;
        if (!response.write(piece)) return void response.once('drain', more);
      }
      response.end();
    };
    response.once('close', () => (sent.isOver = true));
    more();
  };
  return sent;
}

describe('a hostile provider', () => {
  it.each(['/.well-known/openid-configuration', '/jwks', '/token'])(
    'whose answer at %s never ends is left after a mebibyte',
    async (path) => {
      const { answers, signIn } = await hostile();
      const sent = endless(answers, path);
      await expect(signIn()).rejects.toMatchObject({ code: 'unavailable' });
      expect(sent.bytes).toBeLessThan(16 * 1024 * 1024);
      await vi.waitFor(() => expect(sent.isOver).toBe(true));
    },
  );

  it.each<[string, object, string?]>([
    ['another issuer', { issuer: 'https://other.example' }],
    ['no issuer', { issuer: undefined }],
    ['no key set', { jwks_uri: undefined }, 'forbidden'],
  ])('whose metadata names %s signs no one in', async (_what, changed, code = 'unavailable') => {
    const { metadata, signIn } = await hostile();
    Object.assign(metadata, changed);
    await expect(signIn()).rejects.toMatchObject({ code });
  });

  it.each(['token_endpoint', 'jwks_uri'])(
    'that names an inner address as its %s is not followed there',
    async (name) => {
      const inner = await hostile();
      const { metadata, signIn } = await hostile();
      metadata[name] = `${inner.issuer}/${name === 'jwks_uri' ? 'jwks' : 'token'}`;
      await expect(signIn()).rejects.toMatchObject({ code: 'unavailable' });
      expect(inner.requested).toEqual([]);
    },
  );

  it.each(['/.well-known/openid-configuration', '/jwks', '/token'])(
    'that redirects from %s to an inner address is not followed there',
    async (path) => {
      const inner = await hostile();
      const { answers, signIn } = await hostile();
      answers[path] = (_request, response) => response.writeHead(307, { location: `${inner.issuer}${path}` }).end();
      await expect(signIn()).rejects.toThrow();
      expect(inner.requested).toEqual([]);
    },
  );

  it.each([404, 500])(
    'whose place for codes answers %i, as JSON or not, is read anew with the next sign-in',
    async (status) => {
      const { answers, requested, signIn } = await hostile();
      for (const body of ['{"error":"server_error"}', 'gone']) {
        answers['/token'] = (_request, response) =>
          response.writeHead(status, { 'content-type': body === 'gone' ? 'text/plain' : 'application/json' }).end(body);
        await expect(signIn()).rejects.toMatchObject({ code: 'unavailable' });
        delete answers['/token'];
        expect(await signIn()).toMatchObject({ subject: 'ada' });
      }
      expect(requested.filter((path) => path.startsWith('/.well-known'))).toHaveLength(3);
    },
  );

  it('that refuses a code is read no second time for it', async () => {
    const { answers, requested, signIn } = await hostile();
    answers['/token'] = (_request, response) =>
      response.writeHead(400, { 'content-type': 'application/json' }).end('{"error":"invalid_grant"}');
    for (let time = 0; time < 2; time += 1) await expect(signIn()).rejects.toMatchObject({ code: 'forbidden' });
    expect(requested.filter((path) => path.startsWith('/.well-known'))).toHaveLength(1);
  });

  it('gets nothing of a sign-in that was begun at another one', async () => {
    const [before, after] = [await hostile(), await hostile()];
    const { checks } = await before.openid.begin(callback);
    const url = `${callback}?code=c&state=${checks.state}`;
    await expect(after.openid.finish(url, checks)).rejects.toMatchObject({ code: 'forbidden' });
    expect(after.requested).toEqual([]);
  });

  it('is requested again after it has failed', async () => {
    const { answers, signIn } = await hostile();
    answers['/.well-known/openid-configuration'] = (_request, response) => response.writeHead(500).end();
    await expect(signIn()).rejects.toMatchObject({ code: 'unavailable' });
    delete answers['/.well-known/openid-configuration'];
    expect(await signIn()).toMatchObject({ subject: 'ada' });
  });
});

it.each(['javascript:alert(1)', 'file:///etc/passwd', undefined])(
  'a provider that names %s as its page for signing in is read again with the next sign-in',
  async (page) => {
    const { openid, metadata, signIn, issuer } = await hostile();
    const { authorization_endpoint } = metadata;
    metadata.authorization_endpoint = page;
    await expect(openid.begin(callback)).rejects.toMatchObject({ code: 'unavailable' });
    metadata.authorization_endpoint = authorization_endpoint;
    expect(await signIn()).toEqual({ issuer, subject: 'ada' });
  },
);
