import { randomBytes } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { client } from '../../support/git-client.ts';
import { gitOverHttp } from '../../support/git-http.ts';
import { fsck, git, save, temporaryDirectory, testStore } from '../../support/git-store.ts';

async function served() {
  const made = testStore();
  const repository = await made.store.create('site', 'main');
  await save(repository, { 'a.md': 'one', 'big.bin': randomBytes(200_000).toString('hex') });
  const http = await gitOverHttp(made.store);
  const work = temporaryDirectory();
  return { ...made, repository, gitDir: made.path('site'), http, work, url: http.url('site') };
}

describe('serve', () => {
  it.each(['0', '1', '2'])('lets git clone, commit, push and fetch, protocol version %s', async (version) => {
    const { repository, gitDir, url, work } = await served();
    const speak = ['-c', `protocol.version=${version}`];
    await client(work, ...speak, 'clone', '-q', url, 'copy');
    const copy = join(work, 'copy');
    writeFileSync(join(copy, 'b.md'), 'two');
    await client(copy, 'add', '.');
    await client(copy, 'commit', '-qm', 'Add b');
    await client(copy, 'tag', 'v1');
    await client(copy, ...speak, 'push', '-q', 'origin', 'main', 'main:refs/heads/topic', 'v1');
    const pushed = git(copy, ['rev-parse', 'HEAD']);
    expect(await repository.head('main')).toBe(pushed);
    expect(await repository.head('topic')).toBe(pushed);
    const snapshot = await repository.snapshot(pushed);
    const { entry } = await snapshot.lookup('b.md');
    expect((await snapshot.blob(entry?.oid ?? '')).toString()).toBe('two');
    const { commit } = await save(repository, { 'c.md': 'three' });
    await client(copy, ...speak, 'pull', '-q', '--ff-only');
    expect(git(copy, ['rev-parse', 'HEAD'])).toBe(commit?.sha);
    fsck(gitDir);
  });

  it('serves shallow and partial clones and an empty repository', async () => {
    const { store, http, url, work } = await served();
    await client(work, 'clone', '-q', '--depth=1', url, 'shallow');
    await client(work, 'clone', '-q', '--filter=blob:none', url, 'partial');
    expect(git(join(work, 'partial'), ['show', 'HEAD:a.md'])).toBe('one');
    await store.create('empty', 'trunk');
    await client(work, 'clone', '-q', http.url('empty'), 'nothing');
    expect(git(join(work, 'nothing'), ['symbolic-ref', 'HEAD'])).toBe('refs/heads/trunk');
  });

  it('serves partial clones by the filters of git itself, and names those that it does not serve', async () => {
    const { url, work } = await served();
    const filtered = (filter: string, version = 2) =>
      client(work, '-c', `protocol.version=${version}`, 'clone', '-q', '--bare', `--filter=${filter}`, url, filter);
    for (const filter of ['blob:limit=1k', 'tree:0', 'tree:1']) {
      await filtered(filter);
      expect(await client(join(work, filter), 'show', 'HEAD:a.md')).toBe('one');
    }
    for (const version of [0, 2]) {
      await expect(filtered('tree:2', version)).rejects.toThrow('tree filter allows max depth 1');
      for (const [filter, kind] of [
        ['sparse:oid=main:a.md', 'sparse:oid'],
        ['combine:blob:none+tree:0', 'combine'],
        ['object:type=commit', 'object:type'],
      ] as const)
        await expect(filtered(filter, version)).rejects.toThrow(`filter '${kind}' not supported`);
    }
  });

  it('refuses rewrites, deletions and refs that are not branches or tags', async () => {
    const { repository, gitDir, url, work } = await served();
    await client(work, 'clone', '-q', url, 'copy');
    const copy = join(work, 'copy');
    await client(copy, 'commit', '-q', '--amend', '-m', 'other');
    await expect(client(copy, 'push', '--force', 'origin', 'main')).rejects.toThrow(/non-fast-forward/);
    await expect(client(copy, 'push', 'origin', ':main')).rejects.toThrow(/deletion|denied|prohibited/);
    for (const ref of ['refs/portico/rescue/x', 'refs/pull/1/head', 'refs/notes/x', 'refs/remotes/upstream/x']) {
      await expect(client(copy, 'push', 'origin', `HEAD:${ref}`)).rejects.toThrow(/deny updating a hidden ref/);
    }
    expect(git(gitDir, ['for-each-ref', '--format=%(refname)'])).toBe('refs/heads/main');
    expect(await repository.head('main')).not.toBe(git(copy, ['rev-parse', 'HEAD']));
  });

  it('hides internal refs and shows pull heads', async () => {
    const { repository, gitDir, url, work } = await served();
    const head = (await repository.head('main')) ?? '';
    for (const ref of ['refs/portico/rescue/x', 'refs/remotes/upstream/x', 'refs/pull/1/head'])
      git(gitDir, ['update-ref', ref, head]);
    for (const version of ['0', '2']) {
      const seen = await client(work, '-c', `protocol.version=${version}`, 'ls-remote', url);
      expect(seen.match(/refs\/\S+/g)).toEqual(['refs/heads/main', 'refs/pull/1/head']);
    }
  });

  it('refuses objects that git fsck calls unsafe', async () => {
    const { repository, url, work } = await served();
    const before = await repository.head('main');
    await client(work, 'clone', '-q', url, 'copy');
    const copy = join(work, 'copy');
    const blob = git(copy, ['hash-object', '-w', '--stdin'], 'x');
    const inner = git(copy, ['mktree'], `100644 blob ${blob}\tconfig\n`);
    const tree = git(copy, ['mktree'], `040000 tree ${inner}\t.git\n`);
    const commit = git(copy, ['commit-tree', tree, '-p', 'HEAD', '-m', 'bad']);
    await expect(client(copy, 'push', 'origin', `${commit}:refs/heads/main`)).rejects.toThrow(/hasDotgit/);
    expect(await repository.head('main')).toBe(before);
  });

  it('takes no step when the client goes away in the middle of a push', async () => {
    const { store, repository, gitDir, http } = await served();
    const before = await repository.head('main');
    const socket = connect(http.port, '127.0.0.1');
    const gone = new Promise((resolve) => socket.once('close', resolve));
    socket.on('error', () => {});
    const command = `${before} ${'1'.repeat(40)} refs/heads/main\0 report-status`;
    const line = `${(command.length + 4).toString(16).padStart(4, '0')}${command}0000PACK`;
    socket.write(`POST /site.git/git-receive-pack HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000\r\n\r\n${line}`, () =>
      socket.destroy(),
    );
    await gone;
    await store.close();
    expect(git(gitDir, ['rev-parse', 'main'])).toBe(before);
    fsck(gitDir);
  });

  it('turns requests away when too many wait, before a byte is written', async () => {
    const { store } = await served();
    const stop = new AbortController();
    const request = () => ({
      client: 'client',
      service: 'git-upload-pack' as const,
      advertise: false,
      protocol: null,
      // Never says anything, so its slot stays taken.
      input: new PassThrough(),
      output: new PassThrough(),
      signal: stop.signal,
    });
    const answers = Array.from({ length: 64 }, () => store.serve('site', request()).catch((error) => error));
    const refused = await Promise.race(answers);
    expect(refused).toMatchObject({ code: 'rate_limited' });
    stop.abort(new Error('enough'));
    const reasons = await Promise.all(answers);
    expect(reasons.filter(({ message }) => message === 'enough').length).toBeGreaterThan(16);
  });

  it('finds no missing repository', async () => {
    const { http, work } = await served();
    await expect(client(work, 'clone', '-q', http.url('other'), 'x')).rejects.toThrow(/500/);
    expect(http.refusals).toEqual(['repository_unavailable']);
  });
});
