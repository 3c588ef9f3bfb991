import { readFileSync, writeFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { commitFiles } from '../../support/git-history.ts';
import { fsck, git, testStore } from '../../support/git-store.ts';
import { newKey, sshHost } from '../../support/ssh-host.ts';

const loopback = async () => ({ addresses: ['127.0.0.1'] });

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
    expect(await store.importFrom('site', { ...from, auth })).toMatchObject({ default_branch: 'main', branches: 1 });
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
