import { chownSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { GitProcesses } from '../../../src/engines/git/git-process.ts';
import type { ImportProgress, UpstreamAuth } from '../../../src/ports/git-transfer.ts';
import { gitOverHttp, signIn } from '../../support/git-http.ts';
import { fsck, git, save, temporaryDirectory, testStore } from '../../support/git-store.ts';

/** A repository with branches `trunk` (default), `other` and `deep/er`, and two tags. */
function source(format = 'sha1'): string {
  const path = temporaryDirectory();
  git(path, ['init', '-q', `--object-format=${format}`, '--initial-branch=trunk', '.']);
  mkdirSync(join(path, 'content'));
  writeFileSync(join(path, 'content/a.md'), 'one');
  git(path, ['add', '.']);
  git(path, ['commit', '-qm', 'first']);
  git(path, ['branch', 'other']);
  git(path, ['tag', 'light']);
  git(path, ['tag', '-a', 'v1', '-m', 'annotated']);
  git(path, ['commit', '-q', '--allow-empty', '-m', 'second']);
  git(path, ['branch', 'deep/er']);
  return path;
}

/** Commits one tree given as mktree input on trunk. */
function commitTree(path: string, tree: string): void {
  git(path, ['update-ref', 'refs/heads/trunk', git(path, ['commit-tree', tree, '-p', 'trunk', '-m', 'by hand'])]);
}

/** A commit of the empty tree. */
const commitText = (path: string) => {
  const tree = git(path, ['hash-object', '-t', 'tree', '-w', '--stdin'], '');
  const person = 'Stock <stock@example.org> 1700000000 +0000';
  return `tree ${tree}\nauthor ${person}\ncommitter ${person}\n\nleft\n`;
};

const refsOf = (path: string) =>
  git(path, ['for-each-ref', '--format=%(refname) %(objectname)', 'refs/heads', 'refs/tags']);

describe('import from a path', () => {
  it('leaves a branch that was written meanwhile as it is, with the default branch', async () => {
    const from = source();
    git(from, ['branch', 'main']);
    const written = git(from, ['rev-parse', 'v1^{commit}']);
    const { store, path } = testStore();
    await store.create('site', 'main');
    const importing = store.importFrom('site', {
      url: from,
      kind: 'path',
      onProgress({ phase }) {
        if (phase === 'finishing') git(path('site'), ['update-ref', 'refs/heads/main', written]);
      },
    });
    await expect(importing).rejects.toMatchObject({ code: 'already_exists', message: 'The repository is not empty' });
    expect(refsOf(path('site'))).toBe(`refs/heads/main ${written}`);
    expect(await store.open('site').defaultBranch()).toBe('main');
  });

  it('has all of it though its refs cannot be packed', async () => {
    const from = source();
    const logged: unknown[] = [];
    const log = { info() {}, error() {}, warn: (...parts: unknown[]) => void logged.push(parts.at(-1)) };
    const { store, path } = testStore({ log });
    const { output } = GitProcesses.prototype;
    const packing = vi.spyOn(GitProcesses.prototype, 'output').mockImplementation(function (
      this: GitProcesses,
      ...given
    ) {
      return given[0][0] === 'pack-refs' ? Promise.reject(new Error('slow')) : output.apply(this, given);
    });
    onTestFinished(() => packing.mockRestore());
    expect(await store.importFrom('site', { url: from, kind: 'path' })).toMatchObject({ branches: 3 });
    expect(refsOf(path('site'))).toBe(refsOf(from));
    expect(logged).toEqual(['the refs of an import were not packed']);
    const [, options] = packing.mock.calls.find(([args]) => args[0] === 'pack-refs') ?? [];
    expect(options?.timeout).toBeGreaterThan(30_000);
  });

  it.each(['sha1', 'sha256'])('takes all branches and tags and the default branch, %s', async (format) => {
    const from = source(format);
    const { store, path } = testStore();
    const seen: ImportProgress[] = [];
    const answer = await store.importFrom('site', {
      url: from,
      kind: 'path',
      onProgress: (progress) => seen.push(progress),
    });
    expect(answer).toMatchObject({ default_branch: 'trunk', branches: 3 });
    expect(refsOf(path('site'))).toBe(refsOf(from));
    expect(git(path('site'), ['for-each-ref', 'refs/portico'])).toBe('');
    expect(seen.map(({ phase }) => phase)).toEqual(
      expect.arrayContaining(['connecting', 'receiving', 'checking', 'finishing']),
    );
    const repository = store.open('site');
    expect(await repository.defaultBranch()).toBe('trunk');
    expect(await repository.objectFormat()).toBe(format);
    expect((await save(repository, { 'content/b.md': 'two' }, { branch: 'trunk' })).commit).not.toBeNull();
    fsck(path('site'));
    expect(readdirSync(join(path('site'), '..')).sort()).toEqual(['.home', 'site.git']);
  });

  it.each([
    [['other', 'trunk', 'other'], 'trunk'],
    [['other', 'deep/er'], 'other'],
    [['deep/er'], 'deep/er'],
  ])('takes only the branches %j', async (branches, default_branch) => {
    const from = source();
    const { store, path } = testStore();
    // What an earlier attempt has left aside.
    await store.create('site', 'main');
    const left = git(path('site'), ['hash-object', '-t', 'commit', '-w', '--stdin'], commitText(path('site')));
    for (const name of ['heads/late', 'tags/heads/other'])
      git(path('site'), ['update-ref', `refs/portico/import/${name}`, left]);
    const wanted = [...new Set(branches)].sort();
    const answer = await store.importFrom('site', { url: from, kind: 'path', branches });
    expect(answer).toMatchObject({ default_branch, branches: wanted.length });
    const refs = git(path('site'), ['for-each-ref', '--format=%(refname)']).split('\n');
    expect(refs).toEqual(wanted.map((branch) => `refs/heads/${branch}`));
    expect(await store.open('site').defaultBranch()).toBe(default_branch);
    fsck(path('site'));
  });

  it('fails for a branch that is not there, and takes nothing', async () => {
    const { store, path } = testStore();
    const requested = store.importFrom('site', { url: source(), kind: 'path', branches: ['trunk', 'light'] });
    await expect(requested).rejects.toMatchObject({
      code: 'not_found',
      message: 'branches: the source has no branch light',
    });
    const { default_branch } = await store.importFrom('site', { url: source(), kind: 'path', branches: ['trunk'] });
    expect(default_branch).toBe('trunk');
    expect(git(path('site'), ['for-each-ref', 'refs/portico'])).toBe('');
  });

  it('takes a bare repository that belongs to another user', async () => {
    const bare = join(temporaryDirectory(), 'bare.git');
    git('/', ['clone', '-q', '--bare', source(), bare]);
    // Only root can give files away; for everybody else the test still covers bare repositories.
    if (process.getuid?.() === 0)
      for (const entry of ['', ...readdirSync(bare)]) chownSync(join(bare, entry), 12345, 12345);
    const { store } = testStore();
    expect(await store.importFrom('site', { url: bare, kind: 'path' })).toMatchObject({ default_branch: 'trunk' });
  });

  it('fills a repository that was created empty, even of another format', async () => {
    const { store, path } = testStore();
    const repository = await store.create('site', 'main');
    expect(await repository.branches()).toEqual([]);
    const from = source('sha256');
    await store.importFrom('site', { url: from, kind: 'path' });
    expect(await repository.defaultBranch()).toBe('trunk');
    expect(await repository.objectFormat()).toBe('sha256');
    expect(refsOf(path('site'))).toBe(refsOf(from));
  });

  it('names a branch that holds no commit', async () => {
    const from = source();
    writeFileSync(join(from, '.git/refs/heads/odd'), `${git(from, ['rev-parse', 'HEAD^{tree}'])}\n`);
    const { store } = testStore();
    await expect(store.importFrom('site', { url: from, kind: 'path' })).rejects.toMatchObject({
      code: 'validation_failed',
      message: 'The branch odd of the source holds no commit',
    });
    expect(await store.open('site').branches()).toEqual([]);
  });

  it('is read and written by a process that had the empty repository of another format open', async () => {
    const { store, dataDir } = testStore();
    const there = testStore({ dataDir }).store;
    const repository = await there.create('site', 'main');
    expect(await repository.objectFormat()).toBe('sha1');
    const unknown = '1'.repeat(40);
    await expect(repository.createBranch('other', unknown)).rejects.toMatchObject({ code: 'not_found' });
    await repository.updateRefs([{ name: 'refs/portico/x', to: null, from: unknown }]).catch(() => {});
    await store.importFrom('site', { url: source('sha256'), kind: 'path' });
    const head = await repository.head('trunk');
    expect(await repository.isReachable(head ?? '')).toBe(true);
    const [file] = await (await repository.snapshot(head)).files();
    expect(file).toMatchObject({ path: 'content/a.md' });
    expect((await save(repository, { b: '1' }, { branch: 'trunk' })).commit?.sha).toHaveLength(64);
    await repository.createBranch('new', head ?? '');
    expect(await store.open('site').head('new')).toBe(head);
  });

  it('starts over on what an interrupted one left', async () => {
    const { store, path } = testStore();
    const from = source();
    await store.create('site', 'main');
    git(path('site'), ['fetch', '-q', '--no-tags', from, '+refs/heads/*:refs/portico/import/heads/*']);
    git(path('site'), ['update-ref', 'refs/portico/import/heads/gone', git(from, ['rev-parse', 'trunk'])]);
    expect(await store.importFrom('site', { url: from, kind: 'path' })).toMatchObject({
      default_branch: 'trunk',
      branches: 3,
    });
    expect(git(path('site'), ['for-each-ref', 'refs/portico'])).toBe('');
  });

  it('leaves out what cannot have its name here, and nothing of it stays', async () => {
    const from = source();
    const head = git(from, ['rev-parse', 'trunk']);
    const odd = ['heads/-x', 'heads/@', 'heads/HEAD', 'heads/a\u0085b', 'heads/refs/heads/x', 'tags/-t', 'tags/\u200b'];
    for (const ref of odd) git(from, ['update-ref', `refs/${ref}`, head]);
    git(from, ['symbolic-ref', 'HEAD', 'refs/heads/-x']);
    // A name that is no UTF-8.
    writeFileSync(Buffer.concat([Buffer.from(`${from}/.git/refs/heads/`), Buffer.from([0xff])]), `${head}\n`);
    const { store, path } = testStore();
    const answer = await store.importFrom('site', { url: from, kind: 'path' });
    expect(answer).toMatchObject({ default_branch: 'deep/er', branches: 3 });
    expect(answer.left_out).toEqual(expect.arrayContaining([...odd.map((ref) => `refs/${ref}`), 'refs/heads/\uFFFD']));
    expect(answer.left_out).toHaveLength(odd.length + 1);
    expect(git(path('site'), ['for-each-ref', '--format=%(refname)']).split('\n')).toEqual([
      'refs/heads/deep/er',
      'refs/heads/other',
      'refs/heads/trunk',
      'refs/tags/light',
      'refs/tags/v1',
    ]);
    fsck(path('site'));
  });

  it('takes a source without any commit', async () => {
    const from = temporaryDirectory();
    git(from, ['init', '-q', '--bare', '.']);
    const { store } = testStore();
    expect(await store.importFrom('site', { url: from, kind: 'path' })).toMatchObject({ branches: 0 });
    expect(
      (await save(store.open('site'), { a: '1' }, { branch: await store.open('site').defaultBranch() })).commit,
    ).not.toBeNull();
  });

  it('leaves a repository with commits alone', async () => {
    const { store } = testStore();
    await save(await store.create('site', 'main'), { a: '1' });
    await expect(store.importFrom('site', { url: source(), kind: 'path' })).rejects.toMatchObject({
      code: 'already_exists',
    });
  });

  it.each([
    '/none/such',
    'relative/path',
    '/etc/passwd',
    '/tmp',
    '--upload-pack=/bin/true',
    'ext::sh -c x',
    '/a\n[core]',
  ])('refuses %j', async (url) => {
    const { store } = testStore();
    await expect(store.importFrom('site', { url, kind: 'path' })).rejects.toMatchObject({ code: 'invalid_request' });
    expect(await store.exists('site')).toBe(false);
  });

  it('refuses objects that are unsafe, and takes harmless old faults', async () => {
    const from = source();
    const blob = git(from, ['hash-object', '-w', '--stdin'], 'x');
    const { store } = testStore();
    const raw = `tree ${git(from, ['rev-parse', 'trunk^{tree}'])}\nauthor A <a@b> 1 +051800\ncommitter A <a@b> 1 +0000\n\nold\n`;
    const old = git(from, ['hash-object', '-t', 'commit', '-w', '--literally', '--stdin'], raw);
    git(from, ['update-ref', 'refs/heads/old', old]);
    expect(await store.importFrom('good', { url: from, kind: 'path' })).toMatchObject({ branches: 4 });
    commitTree(from, git(from, ['mktree'], `100644 blob ${blob}\t.GIT\n`));
    await expect(store.importFrom('site', { url: from, kind: 'path' })).rejects.toMatchObject({
      code: 'validation_failed',
    });
    expect(await store.open('site').branches()).toEqual([]);
  });

  it('refuses trees that are too deep or too wide', async () => {
    const deep = source();
    const blob = git(deep, ['hash-object', '-w', '--stdin'], 'x');
    let tree = git(deep, ['mktree'], `100644 blob ${blob}\ta\n`);
    for (let level = 0; level < 64; level += 1) tree = git(deep, ['mktree'], `040000 tree ${tree}\td\n`);
    commitTree(deep, tree);
    const wide = source();
    git(wide, ['hash-object', '-w', '--stdin'], 'x');
    tree = git(wide, ['mktree'], `100644 blob ${blob}\ta\n`);
    for (let level = 0; level < 6; level += 1) {
      tree = git(wide, ['mktree'], Array.from({ length: 8 }, (_, at) => `040000 tree ${tree}\t${at}\n`).join(''));
    }
    commitTree(wide, tree);
    const { store } = testStore();
    for (const url of [deep, wide]) {
      await expect(store.importFrom('site', { url, kind: 'path' })).rejects.toMatchObject({ code: 'too_large' });
      expect(await store.open('site').branches()).toEqual([]);
    }
  });
});

/** Cuts the history of a source off below a commit, as `git clone --depth` does. */
const cutOff = (path: string, commit: string) => writeFileSync(join(path, '.git/shallow'), `${commit}\n`);

const incomplete = {
  code: 'validation_failed',
  message: 'The source lacks a part of its history, as a shallow clone does; complete it there: git fetch --unshallow',
};

describe('import from a shallow clone', () => {
  it('brings nothing, and says so however many branches are whole', async () => {
    const from = source();
    const [second, first] = git(from, ['rev-list', 'trunk']).split('\n') as [string, string];
    const many = Array.from({ length: 300 }, (_, at) => `create refs/heads/${'a'.repeat(200)}${at} ${first}\n`);
    git(from, ['update-ref', '--stdin'], many.join(''));
    cutOff(from, second);
    const { store, path } = testStore();
    await expect(store.importFrom('site', { url: from, kind: 'path' })).rejects.toMatchObject(incomplete);
    expect(refsOf(path('site'))).toBe('');
    expect(await store.importFrom('site', { url: from, kind: 'path', branches: ['other'] })).toMatchObject({
      branches: 1,
    });
    fsck(path('site'));
  });

  it('goes on where that brought nothing, once it is complete', async () => {
    const from = source();
    cutOff(from, git(from, ['rev-parse', 'trunk']));
    const { store, path } = testStore();
    await expect(store.importFrom('site', { url: from, kind: 'path' })).rejects.toMatchObject(incomplete);
    rmSync(join(from, '.git/shallow'));
    expect(await store.importFrom('site', { url: from, kind: 'path' })).toMatchObject({ branches: 3 });
    expect(refsOf(path('site'))).toBe(refsOf(from));
    fsck(path('site'));
  });
});

describe('import over http', () => {
  const resolveUpstream = async () => ({ addresses: ['127.0.0.1'] });

  async function origin() {
    const { store } = testStore();
    await store.importFrom('origin', { url: source(), kind: 'path' });
    return gitOverHttp(store);
  }

  it.each([2, 0])('brings nothing from a shallow clone, protocol version %i', async (version) => {
    const there = testStore();
    await there.store.importFrom('origin', { url: source(), kind: 'path' });
    const trunk = git(there.path('origin'), ['rev-parse', 'trunk']);
    writeFileSync(join(there.path('origin'), 'shallow'), `${trunk}\n`);
    const http = await gitOverHttp(there.store, {
      guard(request) {
        if (version === 0) delete request.headers['git-protocol'];
        return false;
      },
    });
    const { store, path } = testStore({ allowHttp: true, resolveUpstream });
    const from = { url: http.url('origin'), kind: 'https', branches: ['trunk'] } as const;
    await expect(store.importFrom('site', from)).rejects.toMatchObject(incomplete);
    expect(refsOf(path('site'))).toBe('');
  });

  it('brings at most so many branches and tags, or those that are named', async () => {
    const there = testStore();
    const from = source();
    await there.store.importFrom('origin', { url: from, kind: 'path' });
    let lists = 0;
    const http = await gitOverHttp(there.store, {
      guard({ url = '' }) {
        if (url.includes('/info/refs')) lists += 1;
        return false;
      },
    });
    const [url, kind] = [http.url('origin'), 'https' as const];
    const { store, path } = testStore({ allowHttp: true, resolveUpstream, fetchRefs: 4 });
    await expect(store.importFrom('site', { url, kind })).rejects.toMatchObject({
      code: 'too_large',
      message:
        'The source has more than 4 branches and tags to import; delete some there, or name the branches to import',
    });
    expect(lists).toBe(1);
    expect(await store.importFrom('site', { url, kind, branches: ['trunk', 'other'] })).toMatchObject({ branches: 2 });
    expect(git(path('site'), ['for-each-ref', 'refs/portico'])).toBe('');
    expect(await store.importFrom('own', { url: from, kind: 'path' })).toMatchObject({ branches: 3 });
    const { store: larger } = testStore({ allowHttp: true, resolveUpstream, fetchRefs: 5 });
    expect(await larger.importFrom('site', { url, kind })).toMatchObject({ branches: 3 });
  });

  it('brings no more than that from a source that lists fewer than it sends', async () => {
    const there = testStore();
    await there.store.importFrom('origin', { url: source(), kind: 'path' });
    let lists = 0;
    const http = await gitOverHttp(there.store, {
      guard({ url = '' }) {
        if (url.includes('/info/refs') && ++lists === 2) git(there.path('origin'), ['branch', 'late', 'trunk']);
        return false;
      },
    });
    const { store, path } = testStore({ allowHttp: true, resolveUpstream, fetchRefs: 5 });
    const importing = store.importFrom('site', { url: http.url('origin'), kind: 'https' });
    await expect(importing).rejects.toMatchObject({ code: 'too_large' });
    expect(git(path('site'), ['for-each-ref'])).toBe('');
  });

  it('asks the pinned address and no other', async () => {
    const http = await origin();
    const requested: string[] = [];
    const { store, path } = testStore({
      allowHttp: true,
      resolveUpstream: async (url) => {
        requested.push(url.hostname);
        return { addresses: ['127.0.0.1'] };
      },
    });
    const url = `http://upstream.invalid:${http.port}/origin.git`;
    expect(await store.importFrom('site', { url, kind: 'https' })).toMatchObject({
      default_branch: 'trunk',
      branches: 3,
    });
    expect(requested).toEqual(['upstream.invalid']);
    fsck(path('site'));
  });

  it('reaches a host of so many addresses that git could not be started with all', async () => {
    const http = await origin();
    const others = Array.from({ length: 20_000 }, (_, at) => `127.1.${at >> 8}.${at & 255}`);
    const { store } = testStore({
      allowHttp: true,
      resolveUpstream: async () => ({ addresses: ['127.0.0.1', ...others] }),
    });
    const url = `http://upstream.invalid:${http.port}/origin.git`;
    expect(await store.importFrom('site', { url, kind: 'https' })).toMatchObject({ branches: 3 });
  });

  it('leaves imports from other hosts room while one host keeps all of its own waiting', async () => {
    const http = await origin();
    let requests = 0;
    const silent = createServer(() => (requests += 1));
    await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve));
    const { port } = silent.address() as AddressInfo;
    const { store } = testStore({ allowHttp: true, resolveUpstream });
    const end = new AbortController();
    const { signal } = end;
    const kept = Array.from({ length: 9 }, (_, at) =>
      store.importFrom(`kept${at}`, { url: `http://127.0.0.1:${port}/x.git`, kind: 'https', signal }).catch(() => null),
    );
    try {
      await expect.poll(() => requests).toBe(2);
      expect(await store.importFrom('site', { url: http.url('origin'), kind: 'https' })).toMatchObject({ branches: 3 });
      expect(requests).toBe(2);
    } finally {
      end.abort();
      await Promise.all(kept);
      silent.closeAllConnections();
      silent.close();
    }
  });

  it('refuses what the guard refuses, plain http, other protocols and credentials', async () => {
    const { store } = testStore({ resolveUpstream });
    const { store: guarded } = testStore({
      resolveUpstream: async () => {
        throw new Error('not there');
      },
    });
    await expect(guarded.importFrom('site', { url: 'https://example.org/a', kind: 'https' })).rejects.toThrow(
      'not there',
    );
    for (const url of [
      'http://a.test/x',
      'ext::sh',
      'file:///tmp',
      'ssh://a/b',
      '/tmp',
      '--x',
      'https://user:pass@a.test/x',
    ]) {
      await expect(store.importFrom('site', { url, kind: 'https' })).rejects.toMatchObject({ code: 'invalid_request' });
    }
  });

  it.each<[UpstreamAuth, string]>([
    [{ kind: 'token', token: 'right' }, 'x-access-token:right'],
    [{ kind: 'basic', username: 'ada', password: 'right' }, 'ada:right'],
  ])('signs in with $kind, and reports when that is not accepted', async (auth, pair) => {
    const { store: there } = testStore();
    await there.importFrom('origin', { url: source(), kind: 'path' });
    const url = (await gitOverHttp(there, { guard: signIn(pair) })).url('origin');
    const { store, path } = testStore({ allowHttp: true, resolveUpstream });
    for (const wrong of [undefined, { kind: 'token' as const, token: 'wrong' }]) {
      const attempt = store.importFrom('site', { url, kind: 'https', ...(wrong && { auth: wrong }) });
      await expect(attempt).rejects.toMatchObject({
        code: 'upstream_unavailable',
        details: { reason: 'auth_failed' },
      });
    }
    expect(await store.importFrom('site', { url, kind: 'https', auth })).toMatchObject({ branches: 3 });
    expect(readFileSync(join(path('site'), 'config'), 'utf8')).not.toMatch(/right|http:/);
    fsck(path('site'));
  });

  it('takes no key for https and nothing else for ssh', async () => {
    const { store } = testStore({ resolveUpstream });
    const key: UpstreamAuth = { kind: 'ssh_key', private_key: 'x' };
    for (const from of [
      { url: 'https://a.test/x', kind: 'https' as const, auth: key },
      { url: 'ssh://git@a.test/x', kind: 'ssh' as const },
      { url: 'ssh://git@a.test/x', kind: 'https' as const },
      { url: 'https://a.test/x', kind: 'ssh' as const, auth: key },
    ])
      await expect(store.importFrom('site', from)).rejects.toMatchObject({ code: 'invalid_request' });
  });

  it('follows no redirect', async () => {
    const http = await origin();
    const redirecting = createServer((request, response) => {
      response.writeHead(302, { location: `http://127.0.0.1:${http.port}${request.url}` }).end();
    });
    await new Promise<void>((resolve) => redirecting.listen(0, '127.0.0.1', resolve));
    onTestFinished(() => void redirecting.close());
    const { store } = testStore({ allowHttp: true, resolveUpstream });
    const url = `http://127.0.0.1:${(redirecting.address() as AddressInfo).port}/origin.git`;
    await expect(store.importFrom('site', { url, kind: 'https' })).rejects.toMatchObject({
      code: 'upstream_unavailable',
    });
  });

  it('reads no more branches than memory is meant for', async () => {
    const line = (at: number) => `0049${'1'.repeat(40)} refs/heads/b${String(at).padStart(15, '0')}\n`;
    const endless = createServer((_, response) => {
      response.writeHead(200, { 'content-type': 'application/x-git-upload-pack-advertisement' });
      const all = Array.from({ length: 350_000 }, (_, at) => line(at)).join('');
      response.end(`001e# service=git-upload-pack\n0000${all}0000`);
    });
    await new Promise<void>((resolve) => endless.listen(0, '127.0.0.1', resolve));
    onTestFinished(() => void endless.close());
    const { store } = testStore({ allowHttp: true, resolveUpstream });
    const url = `http://127.0.0.1:${(endless.address() as AddressInfo).port}/x.git`;
    const importing = store.importFrom('site', { url, kind: 'https' });
    await expect(importing).rejects.toMatchObject({ code: 'too_large' });
  });

  it('stops on abort, and says when no server answers', async () => {
    const stop = new AbortController();
    const silent = createServer(() => stop.abort(new Error('stopped')));
    await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve));
    const { port } = silent.address() as AddressInfo;
    const { store } = testStore({ allowHttp: true, resolveUpstream });
    const from = { url: `http://127.0.0.1:${port}/x.git`, kind: 'https' as const };
    await expect(store.importFrom('site', { ...from, signal: stop.signal })).rejects.toThrow('stopped');
    silent.closeAllConnections();
    await new Promise((resolve) => silent.close(resolve));
    await expect(store.importFrom('site', from)).rejects.toMatchObject({ code: 'upstream_unavailable' });
    await store.close();
  });
});
