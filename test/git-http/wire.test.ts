import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest';
import { permissionNames } from '../../src/kernel/actor.ts';
import { DomainError } from '../../src/kernel/errors.ts';
import { type Answer, seed, shared, startTestApp, studio } from '../support/app.ts';
import { client } from '../support/git-client.ts';
import { askRaw } from '../support/raw-http.ts';

const app = shared(startTestApp);
beforeAll(() => seed(app, { 'a.md': '---\ntitle: A\n---\n' }));

const repository = '/git/acme/site.git';
const advertise = `${repository}/info/refs?service=git-upload-pack`;
const basic = (text: string) => ({ authorization: `Basic ${Buffer.from(text).toString('base64')}` });
const expectText = ({ status, headers, body }: Answer, wanted: number, text: RegExp) => {
  expect({ status, body }).toEqual({ status: wanted, body: expect.stringMatching(text) });
  expect(headers.get('content-type')).toMatch(/^text\/plain/);
  expect(headers.get('x-request-id')).toBeTruthy();
};
const packet = (text: string) => (text.length + 4).toString(16).padStart(4, '0') + text;

describe('200', () => {
  it.each<[string, () => Record<string, string>]>([
    ['Basic with any user name', () => basic(`anybody:${app.token}`)],
    ['Basic without a user name', () => basic(`:${app.token}`)],
    ['Bearer', () => ({ authorization: `Bearer ${app.token}` })],
    ['basic in lower case', () => ({ authorization: basic(`x:${app.token}`).authorization.replace('Basic', 'basic') })],
  ])('advertises to %s', async (_what, headers) => {
    const answer = await askRaw(app, 'GET', advertise, { token: null, headers: headers() });
    expect(answer.status).toBe(200);
    expect(answer.headers.get('content-type')).toBe('application/x-git-upload-pack-advertisement');
    expect(answer.headers.get('cache-control')).toContain('no-cache');
    expect(answer.body).toMatch(/^001e# service=git-upload-pack\n0000/);
  });

  it('reads a compressed request', async () => {
    const sha = (await app.ask('GET', `${studio}/commits`)).body[0].sha;
    const body = gzipSync(`${packet(`want ${sha} no-progress\n`)}0000${packet('done\n')}`);
    const headers = { 'content-type': 'application/x-git-upload-pack-request', 'content-encoding': 'gzip' };
    const answer = await askRaw(app, 'POST', `${repository}/git-upload-pack`, { body, headers });
    expect(answer.status).toBe(200);
    expect(answer.body).toContain('PACK');
  });

  it('never shows hidden refs', async () => {
    const git = await app.repository();
    const { body } = await askRaw(app, 'GET', advertise);
    expect(body).toContain('refs/heads/main');
    expect(body).not.toMatch(/refs\/(portico|remotes)/);
    expect(await git.defaultBranch()).toBe('main');
  });
});

describe('400', () => {
  it.each(['/git/a%/b.git/info/refs', '/git/%ff/b.git/info/refs'])('an address that is no UTF-8: %s', async (path) => {
    expectText(await askRaw(app, 'GET', path), 400, /percent-encoded/);
  });

  it('an impossible name of an organisation', async () => {
    expectText(
      await askRaw(app, 'GET', '/git/%2e%2e/site.git/info/refs?service=git-upload-pack'),
      400,
      /^organization: /,
    );
  });

  it('a body that is not what its encoding says', async () => {
    const headers = { 'content-type': 'application/x-git-upload-pack-request', 'content-encoding': 'gzip' };
    const answer = await askRaw(app, 'POST', `${repository}/git-upload-pack`, { body: 'nope', headers });
    expectText(answer, 400, /gzip/);
  });
});

describe('401', () => {
  it.each<[string, Record<string, string>]>([
    ['nothing', {}],
    ['a wrong token', basic('x:ptc_abcdefghijklmnopqrstuvwxyz01233PHGXn')],
    ['an empty password', basic('x:')],
    ['no colon', basic('x')],
    ['what is no Base64', { authorization: 'Basic ***' }],
    ['another scheme', { authorization: 'Digest x' }],
  ])('asks for Basic when given %s', async (_what, headers) => {
    for (const path of [advertise, advertise.replace('upload', 'receive')]) {
      const answer = await askRaw(app, 'GET', path, { token: null, headers });
      expectText(answer, 401, /^Unauthenticated\n$/);
      expect(answer.headers.get('www-authenticate')).toBe('Basic realm="Portico"');
    }
  });
});

describe('403', () => {
  it.each([
    '/info/refs',
    '/info/refs?service=git-archive',
    '/HEAD',
    '/objects/info/packs',
    '/objects/aa/bb',
    '/info/refs?service=',
  ])('the dumb protocol: %s', async (path) => {
    expectText(await askRaw(app, 'GET', repository + path), 403, /smart HTTP/);
  });

  it.each([
    ['browse_studio', 'git-upload-pack'],
    ['edit_studio', 'git-receive-pack'],
  ])('everything but %s for %s', async (needed, service) => {
    const path = `${repository}/info/refs?service=${service}`;
    const others = await app.makeToken(permissionNames.filter((name) => name !== needed));
    expectText(await askRaw(app, 'GET', path, { token: others }), 403, new RegExp(needed));
    const only = await app.makeToken(permissionNames.filter((name) => name === needed));
    expect((await askRaw(app, 'GET', path, { token: only })).status).toBe(200);
  });
});

describe('404', () => {
  it.each([
    '/git/acme/nothing.git/info/refs?service=git-upload-pack',
    '/git/nobody/site.git/info/refs?service=git-upload-pack',
    '/git/acme/site/info/refs?service=git-upload-pack',
    '/git/acme/site.git',
    '/git/acme/site.git/git-upload-archive',
    '/git/acme/site.git/config',
    '/git/',
  ])('%s', async (path) => {
    expectText(await askRaw(app, 'GET', path), 404, /./);
  });
});

describe('408', () => {
  it('a client that fell silent, and the end of its connection', async () => {
    const serve = vi.spyOn(app.services.git, 'serve');
    onTestFinished(() => serve.mockRestore());
    serve.mockRejectedValue(new DomainError('request_timeout', 'The connection was silent for too long'));
    const socket = connect(Number(new URL(app.url).port), '127.0.0.1');
    const received: Buffer[] = [];
    socket.on('data', (bytes) => received.push(bytes));
    const ended = once(socket, 'end');
    const head = `POST ${repository}/git-upload-pack HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${app.token}\r\n`;
    const type = 'Content-Type: application/x-git-upload-pack-request\r\nContent-Length: 1000000\r\n\r\n';
    socket.write(`${head}${type}0000`);
    await ended;
    expect(Buffer.concat(received).toString()).toMatch(
      /^HTTP\/1.1 408 [\s\S]*\r\nConnection: close\r\n[\s\S]*silent for too long/,
    );
  });
});

describe('415', () => {
  it.each(['application/json', 'application/x-git-receive-pack-request'])('%s for a fetch', async (type) => {
    const answer = await askRaw(app, 'POST', `${repository}/git-upload-pack`, {
      body: '0000',
      headers: { 'content-type': type },
    });
    expectText(answer, 415, /^Content-Type: /);
  });

  it('an unknown encoding', async () => {
    const headers = { 'content-type': 'application/x-git-upload-pack-request', 'content-encoding': 'br' };
    const answer = await askRaw(app, 'POST', `${repository}/git-upload-pack`, { body: '0000', headers });
    expectText(answer, 415, /^Content-Encoding: /);
  });
});

describe('a push that is cut off', () => {
  it('leaves refs and objects as they were, and the next one works', async () => {
    const git = await app.repository();
    const [before, size] = [await git.head('main'), await git.diskSize()];
    const zero = '0'.repeat(40);
    const head = `POST ${repository}/git-receive-pack HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${app.token}\r\n`;
    const type = 'Content-Type: application/x-git-receive-pack-request\r\nContent-Length: 1000000\r\n\r\n';
    const command = packet(`${zero} ${before} refs/heads/cut\0 report-status\n`);
    const socket = connect(Number(new URL(app.url).port), '127.0.0.1');
    await new Promise<void>((resolve) => socket.write(`${head}${type}${command}0000PACK`, () => resolve()));
    socket.destroy();
    await expect
      .poll(() => app.log.some((line) => line.includes('git-receive-pack') && line.includes('"aborted":true')))
      .toBe(true);
    expect(await git.head('cut')).toBeNull();
    expect(await git.head('main')).toBe(before);
    expect(await git.diskSize()).toBeLessThanOrEqual(size + 4096);
    expect((await askRaw(app, 'GET', advertise.replace('upload', 'receive'))).status).toBe(200);
  });
});

describe('a client that goes away', () => {
  it('stops the work as one that fell silent does, which is no fault in the log', async () => {
    const serve = vi.spyOn(app.services.git, 'serve');
    onTestFinished(() => serve.mockRestore());
    const begun = Promise.withResolvers<AbortSignal>();
    serve.mockImplementation((_id, { signal }) => {
      begun.resolve(signal);
      return new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
    });
    const observe = vi.spyOn(app.services.metrics, 'operation');
    onTestFinished(() => observe.mockRestore());
    const socket = connect(Number(new URL(app.url).port), '127.0.0.1').on('error', () => {});
    const head = `POST ${repository}/git-receive-pack HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${app.token}\r\n`;
    socket.write(`${head}Content-Type: application/x-git-receive-pack-request\r\nContent-Length: 1000000\r\n\r\n0000`);
    const signal = await begun.promise;
    socket.destroy();
    const ended = () => observe.mock.calls.find(([name]) => name === 'studio.pushRepository');
    await expect.poll(ended).toMatchObject(['studio.pushRepository', 'request_timeout', expect.any(Number)]);
    expect(signal.reason).toMatchObject({ code: 'request_timeout', message: 'The client went away' });
    expect(app.log.filter((line) => line.includes('git request failed'))).toEqual([]);
  });
});

describe('the Git LFS API', () => {
  const address = '/git/acme/site.git/info/lfs';

  it.each([
    ['POST', `${address}/objects/batch`],
    ['POST', `${address}/locks`],
    ['GET', `${address}/locks`],
    ['POST', `${address}/locks/verify`],
    ['POST', `${address}/locks/1/unlock`],
  ])('answers %s %s with a sentence, after the sign-in', async (method, path) => {
    const headers = { 'content-type': 'application/vnd.git-lfs+json', accept: 'application/vnd.git-lfs+json' };
    const ask = (authorization?: string) =>
      fetch(`${app.url}${path}`, {
        method,
        headers: { ...headers, ...(authorization !== undefined && { authorization }) },
        ...(method === 'POST' && { body: '{}' }),
      });
    const signedIn = await ask(`Bearer ${app.token}`);
    expect(signedIn.status).toBe(501);
    expect(signedIn.headers.get('content-type')).toMatch('application/vnd.git-lfs+json');
    expect(await signedIn.json()).toEqual({ message: expect.stringMatching(/^Git LFS is not stored here/) });
    const stranger = await ask();
    expect(stranger.status).toBe(401);
    expect(stranger.headers.get('www-authenticate')).toBe('Basic realm="Portico"');
    expect(await stranger.json()).toEqual({ message: 'Unauthenticated' });
  });
});

describe('push options', () => {
  it('are accepted and ignored, up to 1,000', async () => {
    const home = mkdtempSync(join(tmpdir(), 'portico-options-'));
    onTestFinished(() => rmSync(home, { recursive: true, force: true }));
    const url = `${app.url.replace('//', `//x:${app.token}@`)}/git/acme/site.git`;
    await client(home, 'clone', '-q', url, 'clone');
    await client(join(home, 'clone'), 'push', '-q', '-o', 'ci.skip', '-o', 'a=b', 'origin', 'HEAD:refs/heads/options');
    expect(await (await app.repository()).head('options')).not.toBeNull();
    const many = Array.from({ length: 1_001 }, (_, at) => ['-o', `${at}`]).flat();
    const refused = client(join(home, 'clone'), 'push', '-q', ...many, 'origin', 'HEAD:refs/heads/many');
    expect(await refused.catch(({ stderr }) => stderr)).toContain('unpack failed: one push may have 1000 options');
    expect(await (await app.repository()).head('many')).toBeNull();
  });
});
