import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { defaultLimits, type TreeLimits } from '../../../src/engines/git/incoming/limits.ts';
import { Tree } from '../../../src/engines/git/objects/tree-codec.ts';
import { client } from '../../support/git-client.ts';
import { commitFiles, setRef } from '../../support/git-history.ts';
import { gitOverHttp } from '../../support/git-http.ts';
import { fsck, git, temporaryDirectory, testStore, writerOne } from '../../support/git-store.ts';

const limits: TreeLimits = {
  ...defaultLimits,
  files: 4,
  entries: 6,
  depth: 3,
  blobBytes: 10,
  pathBytes: 16,
  listBytes: 40,
};

/** A bare repository with one commit on main, made by stock git. */
function elsewhere() {
  const path = temporaryDirectory();
  git(path, ['init', '-q', '--bare', '--initial-branch=main', '.']);
  const first = setRef(path, 'refs/heads/main', commitFiles(path, null, { a: '1' }));
  const put = (files: Parameters<typeof commitFiles>[2], ref = 'refs/heads/main') =>
    setRef(path, ref, commitFiles(path, first, files));
  return { path, first, put };
}

const within: [string, Record<string, string>][] = [
  ['as many files as there may be', { b: '2', c: '3', 'd/e': '4' }],
  ['as many files and directories as there may be', { 'b/c': '2', 'c/d': '3', d: '4' }],
  ['as many names in a path as there may be', { 'b/c/d': '2' }],
  ['a file as large as it may be', { b: '0123456789' }],
  ['a path as long as it may be', { 'b/0123456789abcd': '2' }],
];
const beyond: [string, Record<string, string>, string][] = [
  [
    'one file more',
    { b: '2', c: '3', 'd/e': '4', 'd/f': '5' },
    'main holds more than 4 files; remove some of them first',
  ],
  [
    'one directory more',
    { 'b/c': '2', 'c/d': '3', 'd/e': '4' },
    'main holds more than 6 files and directories; remove some, or put more files into each directory',
  ],
  [
    'paths that are too long together with those of directories',
    { '012345678/01/a': '2', '012345678/01/b': '2' },
    'main has paths of more than 40 bytes together; remove files, or shorten the names of directories',
  ],
  ['one name more in a path', { 'b/c/d/e': '2' }, 'main has a path of more than 3 names'],
  ['one byte more in a path', { 'b/0123456789abcde': '2' }, 'main has a path of more than 16 bytes'],
  [
    'paths that are too long together',
    { 'b/0123456789abcd': '2', 'b/0123456789abce': '2', 'c/0123456789abcd': '2' },
    'main has paths of more than 40 bytes together; remove files, or shorten the names of directories',
  ],
  ['one byte more in a file', { 'b/big file': '0123456789a' }, 'b/big file is larger than 10 bytes'],
];

describe('a push', () => {
  async function pushable() {
    const made = testStore({ limits });
    const there = elsewhere();
    await made.store.importFrom('site', { url: there.path, kind: 'path' });
    const seen: string[] = [];
    const { url } = await gitOverHttp(made.store, {
      authorizePush: async (commands) => {
        seen.push(...commands.map(({ ref }) => ref));
        return { allow: true };
      },
    });
    const push = (...refs: string[]) => client(there.path, 'push', '-q', url('site'), ...refs);
    return { ...made, ...there, push, seen, repository: made.store.open('site'), gitDir: made.path('site') };
  }

  it.each(within)('brings %s', async (_, files) => {
    const { put, push, repository, gitDir, seen } = await pushable();
    const pushed = put(files);
    await push('main');
    expect(await repository.head('main')).toBe(pushed);
    expect(seen).toEqual(['refs/heads/main']);
    fsck(gitDir);
  });

  it('counts files below directories whose modes are written otherwise than git writes them', async () => {
    const { path, push, repository, first, seen } = await pushable();
    const put = (type: string, content: Buffer | string) =>
      git(path, ['hash-object', '-t', type, '-w', '--literally', '--stdin'], content);
    const tree = (entries: readonly [mode: string, name: string, oid: string][]) =>
      put(
        'tree',
        Buffer.concat(
          entries.flatMap(([mode, name, oid]) => [Buffer.from(`${mode} ${name}\0`), Buffer.from(oid, 'hex')]),
        ),
      );
    const below = tree(['a', 'b', 'c', 'd', 'e'].map((name) => ['100644', name, put('blob', name)]));
    const author = 'Stock <stock@example.org> 1700000000 +0000';
    const commit = put(
      'commit',
      `tree ${tree([['40755', 'b', below]])}\nparent ${first}\nauthor ${author}\ncommitter ${author}\n\nx\n`,
    );
    setRef(path, 'refs/heads/main', commit);
    await expect(push('main')).rejects.toThrow('remote: main holds more than 4 files');
    expect(await repository.head('main')).toBe(first);
    expect(seen).toEqual([]);
  });

  it.each(beyond)('with %s is refused before authorization, with the reason', async (_, files, reason) => {
    const { put, push, repository, gitDir, first, seen } = await pushable();
    const pushed = put(files);
    await expect(push('main')).rejects.toThrow(`remote: ${reason}`);
    expect(await repository.head('main')).toBe(first);
    expect(seen).toEqual([]);
    expect(() => git(gitDir, ['cat-file', '-e', pushed])).toThrow();
  });

  it('is held against the limits by what it takes back again, by its tags, and by each of its branches', async () => {
    const { path, put, push, first, repository } = await pushable();
    const large = put({ b: 'large, and gone' }, 'refs/heads/large');
    setRef(path, 'refs/heads/main', commitFiles(path, large, { b: null, c: '3' }));
    await expect(push('main')).rejects.toThrow('remote: b is larger than 10 bytes');
    const blob = git(path, ['hash-object', '-w', '--stdin'], 'large, and named by a tag alone');
    git(path, ['tag', '-a', '-m', 'a blob', 'blob', blob]);
    await expect(push('blob')).rejects.toThrow(`remote: ${blob} is larger than 10 bytes`);
    put({ 'b/c/d/e': '2' }, 'refs/tags/deep');
    await expect(push('deep')).rejects.toThrow('remote: deep has a path of more than 3 names');
    put({ b: '2' }, 'refs/heads/fine');
    await expect(push('fine', 'deep')).rejects.toThrow('remote: deep has a path of more than 3 names');
    expect(await repository.refsBelow('refs')).toEqual([{ name: 'refs/heads/main', oid: first }]);
    await push('fine');
    await push(':fine');
    expect(await repository.head('fine')).toBeNull();
  });

  it('of a directory with too many files is refused before an entry of it is decoded', async () => {
    const { put, push } = await pushable();
    put({ b: '2', c: '3', d: '4', e: '5' });
    const decoders = [vi.spyOn(Tree.prototype, 'entries'), vi.spyOn(Tree.prototype, 'directories')];
    try {
      await expect(push('main')).rejects.toThrow('remote: main holds more than 4 files');
      for (const decoder of decoders) expect(decoder).not.toHaveBeenCalled();
    } finally {
      for (const decoder of decoders) decoder.mockRestore();
    }
  });

  it('of more directories than files may be is refused, even when all are empty', async () => {
    const { path, push, first } = await pushable();
    const empty = git(path, ['mktree'], '');
    const many = ['a', 'b', 'c', 'd'].map((name) => `040000 tree ${empty}\t${name}\n`).join('');
    const within = git(path, ['mktree'], many);
    setRef(path, 'refs/heads/main', git(path, ['commit-tree', within, '-p', first, '-m', 'as many as may be']));
    await push('main');
    const nested = git(path, ['mktree'], `040000 tree ${within}\ta\n040000 tree ${empty}\tb\n`);
    setRef(path, 'refs/heads/more', git(path, ['commit-tree', nested, '-p', first, '-m', 'one more']));
    await expect(push('more')).rejects.toThrow('remote: more holds more than 4 files');
  });

  it('of a tree that unfolds without end is refused without unfolding it', async () => {
    const { path, push, first } = await pushable();
    const blob = git(path, ['hash-object', '-w', '--stdin'], 'x');
    let tree = git(path, ['mktree'], `100644 blob ${blob}\ta\n`);
    const doubled = () => git(path, ['mktree'], ['a', 'b'].map((name) => `040000 tree ${tree}\t${name}\n`).join(''));
    for (let level = 0; level < 30; level += 1) tree = doubled();
    setRef(path, 'refs/heads/main', git(path, ['commit-tree', tree, '-p', first, '-m', 'bomb']));
    await expect(push('main')).rejects.toThrow('remote: main has a path of more than 3 names');
  });
});

describe('a repository that holds more than it may', () => {
  /** What a server of other limits has taken in. */
  async function overfull() {
    const { path, put } = elsewhere();
    const full = put({ b: '2', c: '3', d: '4', e: '5' });
    const before = testStore();
    await before.store.importFrom('site', { url: path, kind: 'path' });
    const { store } = testStore({ limits, dataDir: before.dataDir });
    const repository = store.open('site');
    const { url } = await gitOverHttp(store, { authorizePush: async () => ({ allow: true }) });
    const putOnto = (files: Parameters<typeof commitFiles>[2], ref = 'refs/heads/main') =>
      setRef(path, ref, commitFiles(path, full, files));
    const push = (...refs: string[]) => client(path, 'push', '-q', url('site'), ...refs);
    const write = (files: Record<string, string | null>) => {
      const changes = Object.entries(files).map(([path, text]) => ({
        path,
        content: text === null ? null : Buffer.from(text),
      }));
      const plan = async () => ({ changes, message: 'Write', result: null });
      return repository.write({ branch: 'main', author: writerOne, plan });
    };
    return { repository, full, putOnto, push, write };
  }

  it('takes pushes that add nothing to it, also of branches that stand on it, and such as take away', async () => {
    const { repository, putOnto, push, full, write } = await overfull();
    putOnto({ b: 'other' }, 'refs/heads/topic');
    await push('topic');
    const more = putOnto({ f: '6' });
    await expect(push('main')).rejects.toThrow('remote: main holds more than 5 files; remove some of them first');
    await expect(push(`${more}:refs/heads/new`)).rejects.toThrow('remote: new holds more than 5 files');
    await expect(write({ f: '6' })).rejects.toMatchObject({ code: 'too_large' });
    expect(await repository.head('main')).toBe(full);
    const fewer = putOnto({ b: null });
    await push('main');
    expect(await repository.head('main')).toBe(fewer);
    putOnto({ c: '4' });
    await expect(push('-f', 'main')).rejects.toThrow('remote: main holds more than 4 files');
  });
});

describe('a commit made here', () => {
  async function writable() {
    const made = testStore({ limits });
    const { path } = elsewhere();
    await made.store.importFrom('site', { url: path, kind: 'path' });
    const repository = made.store.open('site');
    const requestOf = (files: Record<string, string | null>, more: object = {}) => {
      const changes = Object.entries(files).map(([path, text]) => ({
        path,
        content: text === null ? null : Buffer.from(text),
      }));
      const plan = async () => ({ changes, message: 'Write', result: null, ...more });
      return { branch: 'main', author: writerOne, stored_head: true, plan };
    };
    const write = (...given: Parameters<typeof requestOf>) => repository.write(requestOf(...given));
    const writeOnto = (parent: string, files: Record<string, string | null>) =>
      repository.writeOnto(parent, requestOf(files));
    const merge = async (topic: string) => {
      const { tree } = await repository.mergeTrees((await repository.head('main')) ?? '', topic);
      return write({}, { tree, parents: [topic] });
    };
    return { ...made, repository, gitDir: made.path('site'), write, writeOnto, merge };
  }

  it.each([
    ['files', { b: '2', c: '3', d: '4' }, { e: '5' }, 'main holds more than 4 files; remove some of them first'],
    [
      'directories',
      { 'b/c': '2', 'c/d': '3', d: '4' },
      { d: null, 'd/e': '4' },
      'main holds more than 6 files and directories',
    ],
    [
      'paths',
      { '0123456789/abcd': '2', c: '3' },
      { '0123456789/efgh': '4' },
      'main has paths of more than 40 bytes together',
    ],
  ])('may bring a branch as many %s as it may hold, and no more', async (_, within, beyond, message) => {
    const { write, writeOnto, repository, gitDir } = await writable();
    const { commit } = await write(within);
    await expect(write(beyond)).rejects.toMatchObject({ code: 'too_large', message: expect.stringContaining(message) });
    const unnamed = message.replace('main', 'The change');
    await expect(writeOnto(commit?.sha ?? '', beyond)).rejects.toThrow(unnamed);
    expect(await repository.head('main')).toBe(commit?.sha);
    await write({ d: null, a: 'changed' });
    fsck(gitDir);
  });

  describe('on a branch that this process has not measured', () => {
    const many = (name: string, count: number) =>
      Object.fromEntries(Array.from({ length: count }, (_, at) => [`${name}/${at}`, name]));
    async function unknown() {
      const made = testStore({ limits: { ...limits, files: 2_500, entries: 2_600, listBytes: 1_000_000 } });
      const { path } = elsewhere();
      await made.store.importFrom('site', { url: path, kind: 'path' });
      const [repository, gitDir] = [made.store.open('site'), made.path('site')];
      setRef(gitDir, 'refs/heads/main', commitFiles(gitDir, await repository.head('main'), many('b', 1_500)));
      const write = (files: Record<string, string>) => {
        const changes = Object.entries(files).map(([path, text]) => ({ path, content: Buffer.from(text) }));
        const plan = async () => ({ changes, message: 'Write', result: null });
        return repository.write({ branch: 'main', author: writerOne, stored_head: true, plan });
      };
      const measured = vi.spyOn(Tree.prototype, 'nameBytes');
      onTestFinished(() => measured.mockRestore());
      return { repository, gitDir, write, measured };
    }
    const tooMany = { code: 'too_large', message: 'main holds more than 2500 files; remove some of them first' };

    it('measures it first where it adds many files, and is refused', async () => {
      const { repository, write, measured } = await unknown();
      const head = await repository.head('main');
      await expect(write(many('c', 1_001))).rejects.toMatchObject(tooMany);
      expect(await repository.head('main')).toBe(head);
      expect(measured).toHaveBeenCalledTimes(2);
      // What was measured is known to all that follow.
      await write(many('c', 999));
      await expect(write({ d: '1' })).rejects.toMatchObject(tooMany);
      expect(measured).toHaveBeenCalledTimes(2);
    });

    it('measures nothing for a file, until many have been added', async () => {
      const { gitDir, repository, write, measured } = await unknown();
      await write({ c: '1' });
      await write({ c: '2' });
      await write(many('d', 600));
      expect(measured).not.toHaveBeenCalled();
      await expect(write(many('e', 600))).rejects.toMatchObject(tooMany);
      // Another process has written; of what it left, its own directories alone are measured.
      const before = measured.mock.calls.length;
      setRef(gitDir, 'refs/heads/main', commitFiles(gitDir, await repository.head('main'), many('f', 398)));
      await expect(write({ g: '1' })).rejects.toMatchObject(tooMany);
      expect(measured).toHaveBeenCalledTimes(before + 2);
    });
  });

  it('that merges two branches is held against the limits by what comes of both', async () => {
    const { write, merge, repository, gitDir } = await writable();
    const root = (await repository.head('main')) ?? '';
    const topic = setRef(gitDir, 'refs/heads/topic', commitFiles(gitDir, root, { b: '2', c: '3' }));
    const { commit } = await write({ d: '4', e: '5' });
    await expect(merge(topic)).rejects.toMatchObject({
      code: 'too_large',
      message: 'The merge holds more than 4 files; remove some of them first',
    });
    expect(await repository.head('main')).toBe(commit?.sha);
    await write({ e: null });
    const merged = await merge(topic);
    expect((await merged.snapshot.files()).map(({ path }) => path)).toEqual(['a', 'b', 'c', 'd']);
    fsck(gitDir);
  });

  it('is not merged by moving a branch to it either, where it was made by another process', async () => {
    const { dataDir, repository, gitDir } = await writable();
    const root = (await repository.head('main')) ?? '';
    const topic = commitFiles(gitDir, root, { b: '2', c: '3', d: '4', e: '5' });
    const { store } = testStore({ limits, dataDir });
    const move = (to: string) => {
      const plan = async () => ({ changes: [], message: '', result: null, fast_forward_to: to });
      return store.open('site').write({ branch: 'main', author: writerOne, stored_head: true, plan });
    };
    await expect(move(topic)).rejects.toMatchObject({ code: 'too_large' });
    const fewer = commitFiles(gitDir, topic, { e: null });
    await move(fewer);
    expect(await repository.head('main')).toBe(fewer);
  });

  it('that merges names that are no UTF-8 counts each of them, and their bytes as they are', async () => {
    const { merge, write, gitDir, repository } = await writable();
    const root = (await repository.head('main')) ?? '';
    const blob = git(gitDir, ['hash-object', '-w', '--stdin'], 'x');
    const names = [0x80, 0x81, 0x82].map((name) =>
      Buffer.concat([Buffer.from('100644 '), Buffer.of(name, 0), Buffer.from(blob, 'hex')]),
    );
    const topic = (name: string, count: number) => {
      const raw = Buffer.concat(names.slice(0, count));
      const below = git(gitDir, ['hash-object', '-t', 'tree', '-w', '--stdin'], raw);
      const tree = git(gitDir, ['mktree'], `${git(gitDir, ['ls-tree', root])}\n040000 tree ${below}\t${name}\n`);
      return git(gitDir, ['commit-tree', tree, '-p', root, '-m', name]);
    };
    await write({ a: 'changed' });
    await merge(topic('b', 2));
    await expect(merge(topic('c', 2))).rejects.toMatchObject({ message: expect.stringContaining('more than 4 files') });
    // `a`, `b`, `b/\x80` and `b/\x81` are 8 bytes, `01234567890123` and what is in it 30.
    await write({ '01234567890123/b': '2' });
  });

  it('that merges a branch measures what is not known, and after that reads no directory beside its changes', async () => {
    const { repository, gitDir, merge } = await writable();
    const root = (await repository.head('main')) ?? '';
    const unknown = commitFiles(gitDir, root, { 'd/e': '2', 'c/d/f': null, 'c/d/g': '3' });
    setRef(gitDir, 'refs/heads/main', unknown);
    const measured = vi.spyOn(Tree.prototype, 'nameBytes');
    onTestFinished(() => measured.mockRestore());
    const topic = (files: Parameters<typeof commitFiles>[2]) => commitFiles(gitDir, unknown, files);
    // Its root, and three directories.
    await merge(topic({ a: 'changed' }));
    expect(measured).toHaveBeenCalledTimes(4);
    await expect(merge(topic({ b: '4', 'd/f': '5' }))).rejects.toMatchObject({ code: 'too_large' });
    await merge(topic({ 'd/e': null, e: '4' }));
    await expect(merge(topic({ 'c/e/f': '4' }))).rejects.toMatchObject({
      message: expect.stringContaining('more than 6 files and directories'),
    });
    await merge(topic({ 'c/e': '4' }));
    expect(measured).toHaveBeenCalledTimes(4);
  });
});

describe('an import', () => {
  it.each(within)('brings %s', async (_, files) => {
    const { path, put } = elsewhere();
    const head = put(files);
    const { store } = testStore({ limits });
    await store.importFrom('site', { url: path, kind: 'path' });
    expect(await store.open('site').head('main')).toBe(head);
  });

  it.each(beyond)('of %s is refused', async (_, files, message) => {
    const { path, put } = elsewhere();
    put(files);
    const { store } = testStore({ limits });
    await expect(store.importFrom('site', { url: path, kind: 'path' })).rejects.toMatchObject({
      code: 'too_large',
      message,
    });
    expect(await store.open('site').branches()).toEqual([]);
  });

  it('looks at what is there today, not at what was there once', async () => {
    const { path, put } = elsewhere();
    const large = put({ b: 'large, and gone' });
    const head = setRef(path, 'refs/heads/main', commitFiles(path, large, { b: null }));
    const { store } = testStore({ limits });
    await store.importFrom('site', { url: path, kind: 'path' });
    expect(await store.open('site').head('main')).toBe(head);
  });
});

describe('a fetch from the upstream', () => {
  async function following() {
    const there = testStore();
    const { path, first, put } = elsewhere();
    await there.store.importFrom('site', { url: path, kind: 'path' });
    const { url } = await gitOverHttp(there.store);
    const here = testStore({ limits, allowHttp: true, resolveUpstream: async () => ({ addresses: ['127.0.0.1'] }) });
    const ours = await here.store.create('mirror', 'main');
    const fetch = () => here.store.fetchUpstream('mirror', { url: url('site'), auth: { kind: 'none' } });
    await fetch();
    const gitDir = here.path('mirror');
    const upstream = {
      dir: there.path('site'),
      move: (oid: string) => setRef(there.path('site'), 'refs/heads/main', oid),
    };
    const copy = (oid: string) => {
      git(upstream.dir, ['fetch', '-q', path, oid]);
      return upstream.move(oid);
    };
    return { ours, fetch, gitDir, first, put, copy };
  }

  it.each(within)('brings %s', async (_, files) => {
    const { ours, fetch, gitDir, put, copy } = await following();
    const head = copy(put(files));
    expect(await fetch()).toEqual([{ name: 'refs/remotes/upstream/main', oid: head }]);
    expect(await ours.upstreamHead('main')).toBe(head);
    fsck(gitDir);
  });

  it.each(beyond)('of %s fails, and what is known of the upstream stays', async (_, files, message) => {
    const { ours, fetch, gitDir, first, put, copy } = await following();
    copy(put(files));
    for (const _again of [1, 2]) {
      await expect(fetch()).rejects.toMatchObject({ code: 'too_large', message });
      expect(await ours.upstreamHead('main')).toBe(first);
    }
    expect(git(gitDir, ['for-each-ref', '--format=%(objectname)'])).toBe(`${first}\n${first}`);
    // Mended upstream: all is well again.
    expect(await copy(put({ b: '2' }))).toBe((await fetch())[0]?.oid);
  });
});
