import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { seed, shared, startTestApp } from '../support/app.ts';
import { client } from '../support/git-client.ts';
import { git } from '../support/git-store.ts';
import { askRaw } from '../support/raw-http.ts';

const app = shared(startTestApp);
beforeAll(() => seed(app, { 'a.md': '---\ntitle: A\n---\n' }));

const repository = '/git/acme/site.git';
const lsRefs = '0014command=ls-refs\n';

/** A request whose body begins and does not end; closed after the test. */
async function begin(token: string, service: string, body: string) {
  const socket = connect(Number(new URL(app.url).port), '127.0.0.1').on('error', () => {});
  onTestFinished(() => void socket.destroy());
  await once(socket, 'connect');
  const head = [
    `POST ${repository}/${service} HTTP/1.1`,
    'Host: x',
    `Authorization: Bearer ${token}`,
    'Git-Protocol: version=2',
    `Content-Type: application/x-${service}-request`,
    'Content-Length: 50000',
  ];
  await new Promise((resolve) => socket.write(`${head.join('\r\n')}\r\n\r\n${body}`, resolve));
  return socket;
}

describe('connections of one token that send nothing further, or a byte now and then', () => {
  it('do not keep another token from listing, cloning and pushing', { timeout: 30_000 }, async () => {
    const idle = await app.makeToken(['browse_studio', 'edit_studio']);
    for (let at = 0; at < 8; at += 1) await begin(idle, 'git-upload-pack', lsRefs);
    for (let at = 0; at < 4; at += 1) await begin(idle, 'git-receive-pack', '00');
    const trickling = await Promise.all([0, 1, 2, 3].map(() => begin(idle, 'git-upload-pack', lsRefs)));
    const trickle = setInterval(() => {
      for (const socket of trickling) socket.write('0');
    }, 20);
    onTestFinished(() => clearInterval(trickle));

    const home = mkdtempSync(join(tmpdir(), 'portico-idle-'));
    onTestFinished(() => rmSync(home, { recursive: true, force: true }));
    const url = `${app.url.replace('//', `//x:${app.token}@`)}${repository}`;
    expect(await client(home, 'ls-remote', url)).toContain('refs/heads/main');
    await client(home, 'clone', '-q', url, 'clone');
    const clone = join(home, 'clone');
    writeFileSync(join(clone, 'b.md'), '---\ntitle: B\n---\n');
    await client(clone, 'add', '.');
    await client(clone, 'commit', '-qm', 'Add b');
    await client(clone, 'push', '-q', 'origin', 'HEAD:refs/heads/meanwhile');
    expect(await (await app.repository()).head('meanwhile')).toBe(git(clone, ['rev-parse', 'HEAD']));
  });

  it('are 429 for that token alone when they are too many', { timeout: 30_000 }, async () => {
    const idle = await app.makeToken(['browse_studio']);
    // One more than a token may have: whichever comes last is answered, and all others are held then.
    const sockets = await Promise.all(Array.from({ length: 21 }, () => begin(idle, 'git-upload-pack', lsRefs)));
    const answer = await Promise.race(sockets.map(async (socket) => String((await once(socket, 'data'))[0])));
    expect(answer).toMatch(/^HTTP\/1\.1 429 /);
    const path = `${repository}/info/refs?service=git-upload-pack`;
    expect((await askRaw(app, 'GET', path, { token: idle })).status).toBe(429);
    expect((await askRaw(app, 'GET', path)).status).toBe(200);
  });
});
