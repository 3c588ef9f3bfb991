import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { DomainError } from '../../../src/kernel/errors.ts';
import type { GitServeRequest, Upstream, UpstreamAuth } from '../../../src/ports/git-transfer.ts';
import { commitFiles, setRef } from '../../support/git-history.ts';
import { gitOverHttp } from '../../support/git-http.ts';
import { fsck, git, save, testStore } from '../../support/git-store.ts';

const secret = 'hunter2-very-secret';
const loopback = async () => ({ addresses: ['127.0.0.1'] });

/** An upstream served over HTTP with one commit on main, and an empty repository of ours. */
async function mirrored(auth: UpstreamAuth = { kind: 'none' }, bounds: { fetchRefs?: number } = {}) {
  const there = testStore();
  const theirs = await there.store.create('site', 'main');
  const { commit } = await save(theirs, { a: '1' });
  const rules: {
    guard?: (request: IncomingMessage, response: ServerResponse) => boolean;
    authorize: NonNullable<GitServeRequest['authorizePush']>;
  } = { authorize: async () => ({ allow: true }) };
  const http = await gitOverHttp(there.store, {
    authorizePush: (...args) => rules.authorize(...args),
    guard: (...args) => rules.guard?.(...args) ?? false,
  });
  const logged: string[] = [];
  const note = (...parts: unknown[]) => void logged.push(JSON.stringify(parts));
  const log = { info: note, warn: note, error: note };
  const here = testStore({ allowHttp: true, resolveUpstream: loopback, log, ...bounds });
  const ours = await here.store.create('mirror', 'main');
  const upstream: Upstream = { url: http.url('site'), auth };
  return {
    ...here,
    ours,
    theirs,
    gitDir: here.path('mirror'),
    theirDir: there.path('site'),
    upstream,
    rules,
    logged,
    first: commit?.sha ?? '',
    fetch: () => here.store.fetchUpstream('mirror', upstream),
    push: (oid: string, branch = 'main') => here.store.pushUpstream('mirror', upstream, { oid, branch }),
  };
}

function commandLines(): string {
  if (!existsSync('/proc/self/cmdline')) return '';
  const processes = readdirSync('/proc').filter((name) => /^\d+$/.test(name));
  return processes
    .map((pid) => {
      try {
        return readFileSync(`/proc/${pid}/cmdline`, 'latin1');
      } catch {
        return '';
      }
    })
    .join('\n');
}

describe('fetchUpstream', () => {
  it('tracks the upstream’s branches and moves nothing else', async () => {
    const { ours, theirs, fetch, first, gitDir, store, upstream } = await mirrored();
    await theirs.createBranch('deep/er', first);
    expect(await store.lsRemote(upstream)).toEqual({
      default_branch: 'main',
      branches: [
        { name: 'refs/heads/deep/er', oid: first },
        { name: 'refs/heads/main', oid: first },
      ],
    });
    expect((await fetch()).map(({ name }) => name)).toEqual([
      'refs/remotes/upstream/deep/er',
      'refs/remotes/upstream/main',
    ]);
    expect(await ours.upstreamHead('main')).toBe(first);
    expect(await ours.branches()).toEqual([]);
    // Rewritten, and a branch where a directory was.
    await theirs.deleteBranch('deep/er', first);
    await theirs.createBranch('deep', first);
    await fetch();
    expect(await ours.upstreamHead('deep/er')).toBeNull();
    expect(await ours.upstreamHead('deep')).toBe(first);
    await ours.write({
      branch: 'main',
      author: { name: 'a', email: 'b' },
      plan: async () => ({ changes: [], message: '', result: null, fast_forward_to: first }),
    });
    expect(await ours.head('main')).toBe(first);
    expect(readFileSync(join(gitDir, 'config'), 'utf8')).not.toContain('http:');
    fsck(gitDir);
  });

  it('leaves out new branches whose names cannot be used here, and goes on with those that are here', async () => {
    const { fetch, theirDir, gitDir, ours, first } = await mirrored();
    for (const name of ['-x', 'HEAD', 'a\u202eb']) setRef(theirDir, `refs/heads/${name}`, first);
    expect((await fetch()).map(({ name }) => name)).toEqual(['refs/remotes/upstream/main']);
    setRef(gitDir, 'refs/heads/-x', first);
    const followed = ['refs/remotes/upstream/-x', 'refs/remotes/upstream/main'];
    expect((await fetch()).map(({ name }) => name)).toEqual(followed);
    git(gitDir, ['update-ref', '-d', 'refs/heads/-x']);
    expect((await fetch()).map(({ name }) => name)).toEqual(followed);
    git(theirDir, ['update-ref', '-d', 'refs/heads/-x']);
    await fetch();
    expect(await ours.upstreamHead('-x')).toBeNull();
  });

  it('brings nothing of an upstream with more branches than a mirror may have', async () => {
    const { fetch, theirs, theirDir, gitDir, first, rules } = await mirrored({ kind: 'none' }, { fetchRefs: 2 });
    const tracked = () => git(gitDir, ['for-each-ref', '--format=%(refname)', 'refs/remotes', 'refs/portico']);
    await theirs.createBranch('second', first);
    await fetch();
    const before = tracked();
    expect(before.split('\n')).toHaveLength(4);
    const refusal = {
      code: 'upstream_unavailable',
      message: 'The upstream has more than 2 branches, which is more than a mirror may have; delete some there',
      details: { reason: 'too_many_branches' },
    };
    await theirs.createBranch('third', first);
    let lists = 0;
    let onList = () => {};
    rules.guard = ({ url = '' }) => {
      if (!url.includes('/info/refs')) return false;
      lists += 1;
      onList();
      return false;
    };
    await expect(fetch()).rejects.toMatchObject(refusal);
    expect([lists, tracked()]).toEqual([1, before]);
    // An upstream that lists fewer than it sends.
    setRef(theirDir, 'refs/heads/main', commitFiles(theirDir, first, { b: '1' }));
    await theirs.deleteBranch('third', first);
    lists = 0;
    onList = () => {
      if (lists === 2) setRef(theirDir, 'refs/heads/late', first);
    };
    await expect(fetch()).rejects.toMatchObject(refusal);
    expect([lists, tracked()]).toEqual([2, before]);
  });

  it('takes one look at an upstream that has not moved', async () => {
    const { fetch, theirs, first, rules } = await mirrored();
    await fetch();
    let requests = 0;
    rules.guard = ({ url = '' }) => {
      if (url.includes('/info/refs')) requests += 1;
      return false;
    };
    await fetch();
    expect(requests).toBe(1);
    await theirs.createBranch('new', first);
    await fetch();
    expect(requests).toBe(3);
  });

  it('recognises an empty upstream', async () => {
    const { store, upstream, fetch, theirs, first, theirDir } = await mirrored();
    git(theirDir, ['update-ref', '-d', 'refs/heads/main', first]);
    expect(await store.lsRemote(upstream)).toEqual({ default_branch: null, branches: [] });
    expect(await fetch()).toEqual([]);
    expect(await theirs.branches()).toEqual([]);
  });

  it('takes no unsafe object', async () => {
    const { fetch, theirDir, ours } = await mirrored();
    const blob = git(theirDir, ['hash-object', '-w', '--stdin'], 'x');
    const inner = git(theirDir, ['mktree'], `100644 blob ${blob}\tconfig\n`);
    const tree = git(theirDir, ['mktree'], `040000 tree ${inner}\t.git\n`);
    setRef(theirDir, 'refs/heads/evil', git(theirDir, ['commit-tree', tree, '-m', 'bad']));
    await expect(fetch()).rejects.toMatchObject({ code: 'upstream_unavailable', details: { reason: 'damaged' } });
    expect(await ours.upstreamHead('evil')).toBeNull();
  });
});

describe('an upstream that is a shallow clone', () => {
  const incomplete = { code: 'upstream_unavailable', details: { reason: 'incomplete' } };
  /** Cuts the history of the upstream off below a commit, as `git clone --depth` does. */
  const cutOff = (theirDir: string, commit: string) => writeFileSync(join(theirDir, 'shallow'), `${commit}\n`);
  const branchesBelow = (gitDir: string, place: string) =>
    git(gitDir, ['for-each-ref', '--format=%(refname:lstrip=3) %(objectname)', place]).split('\n');

  it.each([2, 0])('is refused, and what it is known to have stays, protocol version %i', async (version) => {
    const { theirDir, gitDir, first, fetch, push, rules, ours } = await mirrored();
    rules.guard = (request) => {
      if (version === 0) delete request.headers['git-protocol'];
      return false;
    };
    await fetch();
    const pushed = setRef(gitDir, 'refs/heads/main', commitFiles(gitDir, first, { b: '1' }));
    expect(await push(pushed)).toEqual({ outcome: 'ok' });
    const hidden = commitFiles(theirDir, pushed, { c: '1' });
    const head = setRef(theirDir, 'refs/heads/main', commitFiles(theirDir, hidden, { c: '2' }));
    cutOff(theirDir, head);
    // Its history is whole, but what came with the other is not taken either.
    const next = setRef(theirDir, 'refs/heads/next', commitFiles(theirDir, pushed, { d: '1' }));
    for (const _ of [1, 2]) {
      await expect(fetch()).rejects.toMatchObject(incomplete);
      for (const place of ['refs/remotes/upstream', 'refs/portico/upstream'])
        expect(branchesBelow(gitDir, place)).toEqual([`main ${pushed}`]);
    }
    rmSync(join(theirDir, 'shallow'));
    await fetch();
    expect([await ours.upstreamHead('main'), await ours.upstreamHead('next')]).toEqual([head, next]);
    fsck(gitDir);
  });

  it('is followed while all that it lacks is here', async () => {
    const { theirDir, gitDir, first, fetch, theirs, ours } = await mirrored();
    await fetch();
    cutOff(theirDir, first);
    const head = setRef(theirDir, 'refs/heads/main', commitFiles(theirDir, first, { b: '1' }));
    await fetch();
    expect([await theirs.head('main'), await ours.upstreamHead('main')]).toEqual([head, head]);
    fsck(gitDir);
  });
});

describe('pushUpstream', () => {
  it('moves what the last fetch found with what is tracked', async () => {
    const { store, upstream, fetch, push, first, gitDir } = await mirrored();
    await fetch();
    const next = setRef(gitDir, 'refs/heads/main', commitFiles(gitDir, first, { b: '1' }));
    const found = () => git(gitDir, ['for-each-ref', '--format=%(refname) %(objectname)', 'refs/portico']).split('\n');
    expect(await push(next)).toEqual({ outcome: 'ok' });
    expect(await push(next, 'new')).toEqual({ outcome: 'ok' });
    expect(found()).toEqual([`refs/portico/upstream/main ${next}`, `refs/portico/upstream/new ${next}`]);
    const deletion = { branch: 'new', oid: null, expected: next };
    // Of a branch that was pushed before both were moved.
    git(gitDir, ['update-ref', '-d', 'refs/portico/upstream/new']);
    expect(await store.pushUpstream('mirror', upstream, deletion)).toEqual({ outcome: 'ok' });
    expect(found()).toEqual([`refs/portico/upstream/main ${next}`]);
  });

  it('pushes what descends from the upstream’s branch, and only that', async () => {
    const { ours, theirs, fetch, push, first, gitDir, theirDir } = await mirrored();
    await fetch();
    const next = setRef(gitDir, 'refs/heads/main', commitFiles(gitDir, first, { b: '1' }));
    expect(await push(next)).toEqual({ outcome: 'ok' });
    expect(await theirs.head('main')).toBe(next);
    expect(await ours.upstreamHead('main')).toBe(next);
    expect(await push(next)).toEqual({ outcome: 'ok' });
    expect(await push(next, 'new/branch')).toEqual({ outcome: 'ok' });
    // The upstream moved on: unknown here, and known here.
    await save(theirs, { c: '1' });
    const mine = commitFiles(gitDir, next, { d: '1' });
    expect(await push(mine)).toEqual({ outcome: 'non_fast_forward' });
    await fetch();
    expect(await push(mine)).toEqual({ outcome: 'non_fast_forward' });
    expect(await ours.upstreamHead('main')).toBe(await theirs.head('main'));
    fsck(theirDir);
    await expect(push('1'.repeat(40))).rejects.toMatchObject({ code: 'not_found' });
    await expect(push(next, '+main')).resolves.toEqual({ outcome: 'ok' });
    await expect(push(next, '--upload-pack=x')).resolves.toEqual({ outcome: 'ok' });
    expect(await theirs.head('--upload-pack=x')).toBe(next);
    await expect(push(next, 'a..b')).rejects.toMatchObject({ code: 'invalid_name' });
  });

  it('replaces what is there only while that is what is expected, and the upstream allows it', async () => {
    const { theirs, fetch, first, gitDir, theirDir, store, upstream, ours } = await mirrored();
    await fetch();
    const other = commitFiles(gitDir, null, { b: '1' });
    const replace = (expected: string) =>
      store.pushUpstream('mirror', upstream, { branch: 'main', oid: other, expected });
    expect(await replace(other)).toEqual({ outcome: 'non_fast_forward' });
    git(theirDir, ['config', 'receive.denyNonFastForwards', 'true']);
    expect(await replace(first)).toEqual({ outcome: 'declined', message: expect.stringContaining('non-fast-forward') });
    expect(await theirs.head('main')).toBe(first);
    git(theirDir, ['config', 'receive.denyNonFastForwards', 'false']);
    expect(await replace(first)).toEqual({ outcome: 'ok' });
    expect([await theirs.head('main'), await ours.upstreamHead('main')]).toEqual([other, other]);
  });

  it('distinguishes a refusal from a race', async () => {
    const { theirs, fetch, push, first, gitDir, rules } = await mirrored();
    await fetch();
    const next = commitFiles(gitDir, first, { b: '1' });
    rules.authorize = async () => ({ allow: false, message: 'closed on Sundays' });
    expect(await push(next)).toEqual({ outcome: 'declined', message: 'closed on Sundays' });
    rules.authorize = async () => {
      await save(theirs, { c: '1' });
      return { allow: true };
    };
    expect(await push(next)).toEqual({ outcome: 'non_fast_forward' });
  });
});

describe('credentials', () => {
  it.each<[UpstreamAuth, string]>([
    [{ kind: 'token', token: secret }, `x-access-token:${secret}`],
    [{ kind: 'basic', username: 'ada', password: secret }, `ada:${secret}`],
  ])('reach the upstream and nothing else: $kind', async (auth, pair) => {
    const { fetch, push, first, gitDir, rules, logged, upstream, store } = await mirrored(auth);
    const wanted = `Basic ${Buffer.from(pair).toString('base64')}`;
    let seen = '';
    rules.guard = (request, response) => {
      seen += commandLines();
      if (request.headers.authorization === wanted) return false;
      response.writeHead(401, { 'www-authenticate': 'Basic realm="x"' }).end();
      return true;
    };
    await fetch();
    const next = commitFiles(gitDir, first, { b: '1' });
    expect(await push(next)).toEqual({ outcome: 'ok' });
    for (const wrong of [{ kind: 'none' }, { kind: 'token', token: 'other' }] as UpstreamAuth[]) {
      const other = { ...upstream, auth: wrong };
      expect(await store.pushUpstream('mirror', other, { oid: next, branch: 'main' })).toEqual({
        outcome: 'auth_failed',
      });
      await expect(store.fetchUpstream('mirror', other)).rejects.toMatchObject({ details: { reason: 'auth_failed' } });
    }
    const encoded = Buffer.from(pair).toString('base64');
    for (const trace of [seen, logged.join('\n'), readFileSync(join(gitDir, 'config'), 'utf8')]) {
      expect(trace).not.toContain(secret);
      expect(trace).not.toContain(encoded);
    }
    expect(logged.length).toBeGreaterThan(0);
  });

  it('that are refused with 403 are refused, too', async () => {
    const { fetch, rules } = await mirrored({ kind: 'token', token: secret });
    rules.guard = (_, response) => {
      response.writeHead(403).end();
      return true;
    };
    await expect(fetch()).rejects.toMatchObject({ code: 'upstream_unavailable', details: { reason: 'auth_failed' } });
  });
});

describe('an upstream', () => {
  it('that is away, gone or silent is distinguished from one that refuses', async () => {
    const { store, upstream, push, first, fetch, rules } = await mirrored();
    await fetch();
    const at = (url: string) =>
      store.pushUpstream('mirror', { url, auth: { kind: 'none' } }, { oid: first, branch: 'x' });
    expect(await at('http://upstream.test:9/site.git')).toEqual({ outcome: 'unreachable' });
    expect(await at(upstream.url.replace('site', 'other'))).toEqual({ outcome: 'unreachable' });
    rules.guard = (_, response) => {
      response.writeHead(302, { location: 'http://127.0.0.1:1/elsewhere' }).end();
      return true;
    };
    expect(await push(first)).toEqual({ outcome: 'unreachable' });
    rules.guard = () => true;
    const stop = new AbortController();
    const silent = store.fetchUpstream('mirror', upstream, stop.signal);
    setTimeout(() => stop.abort(new Error('enough')), 200);
    await expect(silent).rejects.toThrow('enough');
  });

  it('has an address that may be used', async () => {
    const { store } = await mirrored();
    const ask = (url: string, auth: UpstreamAuth = { kind: 'none' }) => store.lsRemote({ url, auth });
    const key: UpstreamAuth = { kind: 'ssh_key', private_key: 'x' };
    for (const url of ['file:///etc', 'ext::sh -c x', '/etc', '--upload-pack=x', 'http://a:b@h/x', 'ssh://git@h/x'])
      await expect(ask(url)).rejects.toMatchObject({ code: 'invalid_request' });
    // Names that would not be pinned to the address that was checked (CURLOPT_RESOLVE).
    for (const url of ['http://-h.test/x', 'http://+h.test/x', 'http://*/x'])
      await expect(ask(url)).rejects.toMatchObject({
        message: 'url: the name of a host starts with a letter or digit',
      });
    for (const url of ['https://h/x', 'ssh://h/x', 'ssh://-oProxyCommand=x@h/x', 'ssh://a:b@h/x', 'ssh://git@/x'])
      await expect(ask(url, key)).rejects.toMatchObject({ code: 'invalid_request' });
    await expect(ask('ssh://git@h/x', key)).rejects.toMatchObject({ code: 'unavailable' });
    const blocked = testStore({
      allowHttp: true,
      resolveUpstream: () => Promise.reject(new DomainError('invalid_request', 'an inner address')),
    });
    await expect(blocked.store.lsRemote({ url: 'http://10.0.0.1/x', auth: { kind: 'none' } })).rejects.toMatchObject({
      message: 'an inner address',
    });
  });
});

describe('rescue', () => {
  it('keeps a commit whatever becomes of its branch', async () => {
    const { ours, gitDir } = await mirrored();
    const lost = commitFiles(gitDir, null, { a: 'mine' });
    const name = `refs/portico/rescue/feature/x/${lost}`;
    expect(await ours.rescue('feature/x', lost)).toBe(name);
    expect(await ours.rescue('feature/x', lost)).toBe(name);
    expect(await ours.refsBelow('refs/portico/rescue')).toEqual([{ name, oid: lost }]);
    await expect(ours.rescue('..', lost)).rejects.toMatchObject({ code: 'invalid_name' });
  });
});
