import { execFileSync, spawn } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { type AddressInfo, connect, createServer } from 'node:net';
import { userInfo } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { commitFiles, setRef } from '../../support/git-history.ts';
import { fsck, git, temporaryDirectory, testStore } from '../../support/git-store.ts';

const loopback = async () => ({ addresses: ['127.0.0.1'] });

/** The path of sshd, which wants to be started by it. */
function sshd(): string {
  const found = [...(process.env.PATH ?? '').split(':'), '/usr/sbin', '/usr/local/sbin']
    .map((directory) => join(directory, 'sshd'))
    .find((path) => existsSync(path));
  if (found === undefined) throw new Error('this test needs sshd (package openssh-server)');
  return found;
}

const keygen = 'ssh-keygen';

function newKey(path: string): string {
  execFileSync(keygen, ['-q', '-t', 'ed25519', '-N', '', '-C', 'test', '-f', path]);
  return readFileSync(path, 'utf8');
}

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

async function answers(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    socket.once('data', () => resolve(socket.destroy() && true));
    socket.once('error', () => resolve(false));
  });
}

/** A real sshd on loopback that lets one key in and runs git for it, and a repository there. */
async function sshHost() {
  const directory = temporaryDirectory();
  const at = (name: string) => join(directory, name);
  newKey(at('host'));
  const key = newKey(at('user'));
  writeFileSync(at('authorized_keys'), readFileSync(at('user.pub')), { mode: 0o600 });
  const repository = at('site.git');
  git(directory, ['init', '-q', '--bare', '--initial-branch=main', repository]);
  const first = setRef(repository, 'refs/heads/main', commitFiles(repository, null, { a: '1' }));
  const port = await freePort();
  writeFileSync(
    at('config'),
    [
      `Port ${port}`,
      'ListenAddress 127.0.0.1',
      `HostKey ${at('host')}`,
      `AuthorizedKeysFile ${at('authorized_keys')}`,
      'PasswordAuthentication no',
      'KbdInteractiveAuthentication no',
      'StrictModes no',
      'UsePAM no',
      'PidFile none',
      '',
    ].join('\n'),
  );
  // sshd started by root wants this directory.
  if (process.getuid?.() === 0) mkdirSync('/run/sshd', { recursive: true, mode: 0o755 });
  const server = spawn(sshd(), ['-D', '-e', '-f', at('config')], { stdio: ['ignore', 'ignore', 'pipe'] });
  let said = '';
  server.stderr.on('data', (text) => (said += text));
  onTestFinished(() => void server.kill());
  while (!(await answers(port))) {
    if (server.exitCode !== null) throw new Error(`sshd ended: ${said}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  // Names as OpenSSH writes them for a port that is not 22.
  const knownHosts = at('known hosts');
  writeFileSync(knownHosts, `[git.example.test]:${port} ${readFileSync(at('host.pub'), 'utf8')}`);
  const url = `ssh://${userInfo().username}@git.example.test:${port}${repository}`;
  return { at, key, url, knownHosts, repository, first, port };
}

describe('an upstream over ssh', () => {
  it('is fetched from and pushed to with the key it is given', async () => {
    const { key, url, knownHosts, repository, first } = await sshHost();
    const { store, path } = testStore({ resolveUpstream: loopback, sshKnownHosts: knownHosts });
    await store.create('mirror', 'main');
    // As it comes out of a form: without the last newline, with the line ends of Windows.
    const upstream = { url, auth: { kind: 'ssh_key' as const, private_key: key.trimEnd().replaceAll('\n', '\r\n') } };
    expect(await store.lsRemote(upstream)).toEqual({
      default_branch: 'main',
      branches: [{ name: 'refs/heads/main', oid: first }],
    });
    expect(await store.fetchUpstream('mirror', upstream)).toEqual([{ name: 'refs/remotes/upstream/main', oid: first }]);
    const next = commitFiles(path('mirror'), first, { b: '1' });
    expect(await store.pushUpstream('mirror', upstream, { oid: next, branch: 'main' })).toEqual({ outcome: 'ok' });
    expect(git(repository, ['rev-parse', 'main'])).toBe(next);
    const other = commitFiles(path('mirror'), first, { c: '1' });
    expect(await store.pushUpstream('mirror', upstream, { oid: other, branch: 'main' })).toEqual({
      outcome: 'non_fast_forward',
    });
    fsck(repository);
  });

  it('is imported from with the key it is given', async () => {
    const { at, key, url, knownHosts, first } = await sshHost();
    const { store, path } = testStore({ resolveUpstream: loopback, sshKnownHosts: knownHosts });
    const from = { url, kind: 'ssh' as const };
    const stranger = { kind: 'ssh_key' as const, private_key: newKey(at('stranger')) };
    await expect(store.importFrom('site', { ...from, auth: stranger })).rejects.toMatchObject({
      details: { reason: 'auth_failed' },
    });
    const auth = { kind: 'ssh_key' as const, private_key: key };
    expect(await store.importFrom('site', { ...from, auth })).toEqual({ default_branch: 'main', branches: 1 });
    expect(await store.open('site').head('main')).toBe(first);
    fsck(path('site'));
  });

  it('lets no other key in, and none is offered a host that is not known', async () => {
    const { at, key, url, knownHosts, port } = await sshHost();
    const { store } = testStore({ resolveUpstream: loopback, sshKnownHosts: knownHosts });
    const stranger = newKey(at('stranger'));
    await expect(store.lsRemote({ url, auth: { kind: 'ssh_key', private_key: stranger } })).rejects.toMatchObject({
      details: { reason: 'auth_failed' },
    });
    await expect(store.lsRemote({ url, auth: { kind: 'ssh_key', private_key: 'not a key' } })).rejects.toMatchObject({
      details: { reason: 'auth_failed' },
    });
    newKey(at('impostor'));
    writeFileSync(knownHosts, `[git.example.test]:${port} ${readFileSync(at('impostor.pub'), 'utf8')}`);
    await expect(store.lsRemote({ url, auth: { kind: 'ssh_key', private_key: key } })).rejects.toMatchObject({
      details: { reason: 'unreachable' },
    });
  });
});
