import { describe, expect, it } from 'vitest';
import { gitOverHttp, signIn } from '../../support/git-http.ts';
import { fsck, save, temporaryDirectory, testStore } from '../../support/git-store.ts';
import { signedBy } from '../../support/test-roots.ts';

const host = 'git.example.test';

/** A repository served over https by a host that requires a sign-in, with a certificate of additional roots. */
async function httpsHost() {
  const { caFile, ...tls } = signedBy(temporaryDirectory(), host);
  const there = testStore();
  const { commit } = await save(await there.store.create('site', 'main'), { a: '1' });
  const { port } = await gitOverHttp(there.store, { tls, guard: signIn('x-access-token:secret') });
  const at = (name: string) => `https://${name}:${port}/site.git`;
  return { caFile, at, first: commit?.sha ?? '' };
}

const resolveUpstream = async () => ({ addresses: ['127.0.0.1'] });
const auth = { kind: 'token', token: 'secret' } as const;

describe('a private repository over https', () => {
  it('is imported and followed by the roots and the sign-in it is given', async () => {
    const { caFile, at, first } = await httpsHost();
    const { store, path } = testStore({ resolveUpstream, caFile });
    const url = at(host);
    expect(await store.importFrom('site', { url, kind: 'https', auth })).toMatchObject({
      default_branch: 'main',
      branches: 1,
    });
    expect(await store.open('site').head('main')).toBe(first);
    expect(await store.fetchUpstream('site', { url, auth })).toEqual([
      { name: 'refs/remotes/upstream/main', oid: first },
    ]);
    fsck(path('site'));
  });

  it('is not spoken to without the roots, or under another name', async () => {
    const { caFile, at } = await httpsHost();
    const strict = testStore({ resolveUpstream });
    const other = testStore({ resolveUpstream, caFile });
    const from = { kind: 'https', auth } as const;
    for (const attempt of [
      () => strict.store.importFrom('site', { ...from, url: at(host) }),
      () => other.store.importFrom('site', { ...from, url: at('other.example.test') }),
    ])
      await expect(attempt()).rejects.toMatchObject({ details: { reason: 'unreachable' } });
  });
});
