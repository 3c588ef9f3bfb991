import { execFileSync } from 'node:child_process';
import { access, mkdtemp, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { fsck, git, save, testStore, writerOne } from '../../support/git-store.ts';

async function fresh() {
  const made = testStore();
  const repository = await made.store.create('site', 'main');
  return { ...made, repository, gitDir: made.path('site') };
}

/** A commit whose tree is given as `git mktree` input, made behind the store's back. */
function commitTree(gitDir: string, lines: string, branch = 'main'): string {
  const tree = git(gitDir, ['mktree', '--missing'], lines);
  const commit = git(gitDir, ['commit-tree', tree, '-m', 'by hand']);
  git(gitDir, ['update-ref', `refs/heads/${branch}`, commit]);
  return commit;
}

describe('a store', () => {
  it('reports its version of git', async () => {
    expect((await testStore().store.check()).version).toMatch(/^\d+\.\d+/);
  });

  it('removes keys that a killed process has left', async () => {
    const left = await mkdtemp(join(tmpdir(), 'portico-reach-'));
    await writeFile(join(left, 'key'), 'secret');
    const longAgo = new Date(Date.now() - 3600_000);
    await utimes(left, longAgo, longAgo);
    await testStore().store.check();
    await expect(access(left)).rejects.toMatchObject({ code: 'ENOENT' });
  });

  it('says so when there is no git', async () => {
    const { PATH } = process.env;
    onTestFinished(() => {
      process.env.PATH = PATH;
    });
    process.env.PATH = '/nowhere';
    await expect(testStore().store.check()).rejects.toMatchObject({
      code: 'unavailable',
      message: 'git could not be started',
    });
  });

  it('creates, finds and removes repositories', async () => {
    const { store, repository, gitDir } = await fresh();
    expect(await store.exists('site')).toBe(true);
    expect(await repository.defaultBranch()).toBe('main');
    expect(git(gitDir, ['config', 'core.bare'])).toBe('true');
    await expect(store.create('site', 'main')).rejects.toMatchObject({ code: 'already_exists' });
    await store.remove('site');
    expect(await store.exists('site')).toBe(false);
    await expect(store.open('site').branches()).rejects.toMatchObject({ code: 'repository_unavailable' });
    expect(() => store.open('../etc')).toThrow();
  });

  it('ends its processes when it closes', async () => {
    const { store, repository, gitDir } = await fresh();
    const { commit, snapshot } = await save(repository, { 'a.md': 'a' });
    const { entry } = await snapshot.lookup('a.md');
    await (await repository.snapshot(commit?.sha ?? null)).blob(entry?.oid ?? '');
    expect(processesOf(gitDir).length).toBe(2);
    await store.close();
    expect(processesOf(gitDir)).toEqual([]);
    await expect(save(repository, { 'a.md': 'b' })).rejects.toMatchObject({ code: 'unavailable' });
  });
});

describe('an empty repository', () => {
  it('has no branch, no file and an empty snapshot', async () => {
    const { repository } = await fresh();
    expect(await repository.branches()).toEqual([]);
    expect(await repository.head('main')).toBeNull();
    const snapshot = await repository.snapshot(null);
    expect(await snapshot.files()).toEqual([]);
    expect(await snapshot.directory('')).toEqual([]);
    expect(await snapshot.lookup('a/b')).toEqual({ entry: null, blocked: null });
  });

  it('gets its first commit on the default branch only', async () => {
    const { repository, gitDir } = await fresh();
    await expect(save(repository, { a: '1' }, { branch: 'other' })).rejects.toMatchObject({ code: 'not_found' });
    const { commit } = await save(repository, { a: '1' });
    expect(commit?.parents).toEqual([]);
    await expect(save(repository, { a: '1' }, { branch: 'other' })).rejects.toMatchObject({ code: 'not_found' });
    fsck(gitDir);
  });
});

describe('write', () => {
  it('makes commits git agrees with', async () => {
    const { repository, gitDir } = await fresh();
    await save(repository, { 'a/b/c.md': 'one', 'a.md': 'two' });
    const { commit, snapshot } = await save(repository, { 'a/d.md': 'three' }, { message: 'Add d\n\nbecause' });
    expect(git(gitDir, ['log', '-1', '--format=%H|%an|%ae|%cn|%B', 'main'])).toBe(
      `${commit?.sha}|Ada|ada@example.org|Portico|Add d\n\nbecause\n`,
    );
    expect(git(gitDir, ['ls-tree', '-r', '--name-only', 'main'])).toBe('a.md\na/b/c.md\na/d.md');
    expect((await snapshot.files()).map(({ path }) => path)).toEqual(['a.md', 'a/b/c.md', 'a/d.md']);
    expect((await snapshot.files('a')).map(({ path }) => path)).toEqual(['b/c.md', 'd.md']);
    expect(await repository.commit(commit?.sha ?? '')).toEqual(commit);
    fsck(gitDir);
  });

  it('removes directories with their last file, and writes an empty tree when none is left', async () => {
    const { repository, gitDir } = await fresh();
    await save(repository, { 'a/b/c.md': '1', 'd.md': '2' });
    const { snapshot } = await save(repository, { 'a/b/c.md': null });
    expect((await snapshot.directory('')).map(({ name }) => name)).toEqual(['d.md']);
    const last = await save(repository, { 'd.md': null });
    expect(await last.snapshot.files()).toEqual([]);
    expect(last.commit).not.toBeNull();
    await save(repository, { 'e.md': '3' });
    fsck(gitDir);
  });

  it('makes no commit when no byte changes', async () => {
    const { repository } = await fresh();
    const first = await save(repository, { a: '1' });
    for (const files of [{}, { a: '1' }, { b: null }, { 'c/d': null }, { 'a/b': null }]) {
      const again = await save(repository, files);
      expect(again.commit).toBeNull();
      expect(again.snapshot.commit).toBe(first.commit?.sha);
    }
  });

  it('stores nothing of a writer that is refused', async () => {
    const { repository, gitDir } = await fresh();
    await save(repository, { a: '1' });
    const answers = await Promise.allSettled([
      save(repository, { b: '2' }),
      save(repository, { c: 'refused', 'a/x': 'refused too' }),
      save(repository, { a: '1' }),
    ]);
    expect(answers.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
    expect(git(gitDir, ['fsck', '--unreachable', '--no-dangling'])).toBe('');
  });

  it('keeps the mode a file has and takes one that is given', async () => {
    const { repository } = await fresh();
    const run = (content: string, mode?: string) =>
      repository.write({
        branch: 'main',
        author: writerOne,
        plan: async () => ({
          changes: [{ path: 'run.sh', content: Buffer.from(content), ...(mode === undefined ? {} : { mode }) }],
          message: 'm',
          result: null,
        }),
      });
    await run('1', '100755');
    const { snapshot } = await run('2');
    expect((await snapshot.lookup('run.sh')).entry?.mode).toBe('100755');
  });

  it('turns a file into a directory and back within one commit', async () => {
    const { repository, gitDir } = await fresh();
    await save(repository, { a: '1', z: '1' });
    const there = await save(repository, { a: null, 'a/b': '2' });
    expect((await there.snapshot.files()).map(({ path }) => path)).toEqual(['a/b', 'z']);
    const back = await save(repository, { 'a/b': null, a: '3' });
    expect((await back.snapshot.files()).map(({ path }) => path)).toEqual(['a', 'z']);
    await expect(save(repository, { 'a/c': '1' })).rejects.toMatchObject({ code: 'name_collision' });
    await expect(save(repository, { 'q/r': '1', q: '2' })).rejects.toMatchObject({ code: 'name_collision' });
    fsck(gitDir);
  });

  it('never writes through or onto symlinks and submodules', async () => {
    const { repository, gitDir } = await fresh();
    const blob = git(gitDir, ['hash-object', '-w', '--stdin'], '/etc');
    const commit = commitTree(gitDir, `120000 blob ${blob}\tlink\n160000 commit ${'1'.repeat(40)}\tsub\n`);
    for (const path of ['link/passwd', 'sub/a', 'link', 'sub']) {
      await expect(save(repository, { [path]: 'x' })).rejects.toMatchObject({ code: 'not_editable' });
    }
    const snapshot = await repository.snapshot(commit);
    expect(await snapshot.lookup('link/passwd')).toEqual({ entry: null, blocked: 'link' });
    expect((await snapshot.lookup('link')).entry?.mode).toBe('120000');
    const { snapshot: after } = await save(repository, { link: null });
    expect((await after.directory('')).map(({ name }) => name)).toEqual(['sub']);
  });

  it.each(['', '/a', 'a//b', '../a', '.git/config', 'a/.GIT/x', 'a\0b', 'a/gitmod~1/b'])(
    'refuses the path %j',
    async (path) => {
      const { repository } = await fresh();
      await expect(save(repository, { [path]: 'x' })).rejects.toMatchObject({ code: 'invalid_path' });
    },
  );

  it('shows a plan the branch, with its own copy of nothing', async () => {
    const { repository } = await fresh();
    const first = await save(repository, { a: '1' });
    const seen = await repository.write({
      branch: 'main',
      author: writerOne,
      plan: async (head) => {
        const { entry } = await head.lookup('a');
        return { changes: [], message: '', result: [head.commit, (await head.blob(entry?.oid ?? '')).toString()] };
      },
    });
    expect(seen.result).toEqual([first.commit?.sha, '1']);
  });

  it('works in SHA-256 repositories', async () => {
    const { store, path } = testStore();
    await store.create('other', 'main');
    git(path('other'), ['init', '-q', '--bare', '--object-format=sha256', '--initial-branch=main', path('new')]);
    const repository = store.open('new');
    expect(await repository.objectFormat()).toBe('sha256');
    const { commit } = await save(repository, { 'a/b': '1' });
    expect(commit?.sha).toHaveLength(64);
    await save(repository, { 'a/c': '2' });
    expect((await (await repository.snapshot(await repository.head('main'))).files()).length).toBe(2);
    fsck(path('new'));
  });
});

describe('reads', () => {
  it('find refs loose, packed, and moved from one to the other', async () => {
    const { repository, gitDir } = await fresh();
    const { commit } = await save(repository, { a: '1' });
    const sha = commit?.sha ?? '';
    await repository.createBranch('team/one', sha);
    git(gitDir, ['pack-refs', '--all']);
    expect(await repository.head('team/one')).toBe(sha);
    const next = await save(repository, { a: '2' });
    expect(await repository.head('main')).toBe(next.commit?.sha);
    expect(await repository.head('team')).toBeNull();
    expect(await repository.head('team/one/two')).toBeNull();
    expect((await repository.branches()).map(({ name }) => name)).toEqual(['refs/heads/main', 'refs/heads/team/one']);
    git(gitDir, ['update-ref', '-d', 'refs/heads/team/one']);
    expect(await repository.head('team/one')).toBeNull();
  });

  it('list what git lists, whatever is known already', async () => {
    const { repository, gitDir } = await fresh();
    const files: Record<string, string> = {};
    for (let at = 0; at < 200; at += 1) files[`d${at % 20}/e${at % 3}/f${at}.md`] = `${at}`;
    await save(repository, { ...files, 'd1.md': 'x' });
    const expected = () => git(gitDir, ['ls-tree', '-r', '--name-only', 'main']).split('\n');
    const listed = async (store = repository) =>
      (await (await store.snapshot(await store.head('main'))).files()).map(({ path }) => path);
    expect(await listed()).toEqual(expected());
    await save(repository, { 'd3/e0/new.md': 'n', 'd4/e1/f4.md': null });
    expect(await listed()).toEqual(expected());
    const cold = testStore({ dataDir: join(gitDir, '../..') }).store.open('site');
    expect(await listed(cold)).toEqual(expected());
    const part = (await (await cold.snapshot(await cold.head('main'))).files('d3')).map(({ path }) => `d3/${path}`);
    expect(part).toEqual(expected().filter((path) => path.startsWith('d3/')));
  });

  it('refuse to unfold a tree that has no end', async () => {
    const { repository, gitDir } = await fresh();
    const blob = git(gitDir, ['hash-object', '-w', '--stdin'], 'x');
    let tree = git(gitDir, ['mktree'], `100644 blob ${blob}\ta\n`);
    for (let level = 0; level < 10; level += 1) {
      tree = git(gitDir, ['mktree'], Array.from({ length: 8 }, (_, at) => `040000 tree ${tree}\t${at}\n`).join(''));
    }
    const wide = git(
      gitDir,
      ['mktree'],
      Array.from({ length: 20 }, (_, at) => `040000 tree ${tree}\t${at}\n`).join(''),
    );
    for (const root of [tree, wide]) {
      const commit = git(gitDir, ['commit-tree', root, '-m', 'bomb']);
      await expect((await repository.snapshot(commit)).files()).rejects.toMatchObject({ code: 'too_large' });
    }
    // Twice 200,000 names are read until the limit is found.
  });

  it('stream blobs in the requested order, across a process that dies', async () => {
    const { repository, gitDir } = await fresh();
    const files = Object.fromEntries(
      Array.from({ length: 700 }, (_, at) => [`f${at}`, `${at}:`.repeat(1 + (at % 97) * 20)]),
    );
    const { snapshot } = await save(repository, files);
    git(gitDir, ['repack', '-adq']);
    const listed = await snapshot.files();
    const oids = [...listed, ...listed].map(({ oid }) => oid);
    let at = 0;
    for await (const { oid, content } of repository.blobs(oids)) {
      expect(oid).toBe(oids[at]);
      expect(content.toString()).toBe(files[listed[at % listed.length]?.path ?? '']);
      if (at === 10) killReaders(gitDir);
      at += 1;
    }
    expect(at).toBe(oids.length);
    for await (const _ of repository.blobs(oids)) break;
    expect(await repository.sizes([oids[0] ?? '', '0'.repeat(40)])).toEqual([2, null]);
    killReaders(gitDir);
    expect((await snapshot.blob(oids[0] ?? '')).length).toBe(2);
    await expect(snapshot.blob('1'.repeat(40))).rejects.toMatchObject({ code: 'repository_unavailable' });
    await expect(snapshot.blob('--batch-all-objects\n')).rejects.toMatchObject({ code: 'not_found' });
  });

  it('survive a repack', async () => {
    const { repository, gitDir } = await fresh();
    const { commit, snapshot } = await save(repository, { a: '1', b: '2' });
    const { oid = '' } = (await snapshot.lookup('a')).entry ?? {};
    expect((await snapshot.blob(oid)).toString()).toBe('1');
    git(gitDir, ['gc', '-q']);
    expect((await snapshot.blob(oid)).toString()).toBe('1');
    await save(repository, { a: '3' });
    git(gitDir, ['gc', '-q']);
    expect((await (await repository.snapshot(commit?.sha ?? null)).blob(oid)).toString()).toBe('1');
    fsck(gitDir);
  });
});

/** Lines `<pid> <arguments>` of the git processes of one repository: its path, of this test alone, is among their arguments. */
function processesOf(gitDir: string): string[] {
  const lines = execFileSync('ps', ['-eo', 'pid=,args='], { encoding: 'utf8' }).split('\n');
  return lines.map((line) => line.trim()).filter((line) => line.includes(`--git-dir=${gitDir} `));
}

function killReaders(gitDir: string): void {
  for (const line of processesOf(gitDir)) {
    if (line.includes(' cat-file ')) process.kill(Number(line.split(' ')[0]), 'SIGKILL');
  }
}

describe('history', () => {
  it('is filtered, counted and paged', async () => {
    let clock = 0;
    const { store, path } = testStore({ now: () => new Date(Date.UTC(2026, 0, 1, 0, 0, clock++)) });
    const repository = await store.create('site', 'main');
    for (let at = 0; at < 6; at += 1) {
      const author = at % 2 === 0 ? writerOne : { name: 'Bob *', email: 'bob@example.org' };
      await save(repository, { [`${at % 3}.md`]: `${at}` }, { author, message: `Change ${at}` });
    }
    const from = (await repository.head('main')) ?? '';
    const messages = async (query: object) =>
      (await repository.log({ from, skip: 0, limit: 10, ...query })).map(({ message }) => message);
    expect(await messages({ skip: 1, limit: 2 })).toEqual(['Change 4', 'Change 3']);
    expect(await messages({ paths: ['0.md'] })).toEqual(['Change 3', 'Change 0']);
    expect(await messages({ paths: ['*.md'] })).toEqual([]);
    expect(await messages({ paths: ['--all', '-h'] })).toEqual([]);
    expect(await messages({ author: 'bob *' })).toEqual(['Change 5', 'Change 3', 'Change 1']);
    expect(await messages({ author: '.*' })).toEqual([]);
    expect(await messages({ since: '2026-01-01T00:00:04Z' })).toEqual(['Change 5', 'Change 4']);
    expect(await messages({ until: '2026-01-01T00:00:01Z' })).toEqual(['Change 1', 'Change 0']);
    expect(await repository.countCommits({ from, limit: 4 })).toBe(4);
    expect(await repository.countCommits({ from, limit: 100, paths: ['1.md'] })).toBe(2);
    await expect(messages({ since: 'yesterday' })).rejects.toMatchObject({ code: 'invalid_filter' });
    await expect(messages({ from: '--all' })).rejects.toMatchObject({ code: 'not_found' });

    const last = await repository.lastCommits(from, ['0.md', '2.md', 'none']);
    expect([...last].map(([name, { message }]) => [name, message])).toEqual([
      ['2.md', 'Change 5'],
      ['0.md', 'Change 3'],
    ]);
    const many = Array.from({ length: 300 }, (_, at) => `${at}.md`);
    const all = await repository.lastCommits(from, many);
    expect([...all].map(([name, { message }]) => [name, message])).toEqual([
      ['2.md', 'Change 5'],
      ['1.md', 'Change 4'],
      ['0.md', 'Change 3'],
    ]);
    const base = (await repository.log({ from, skip: 2, limit: 1 }))[0]?.sha ?? '';
    expect(await repository.aheadBehind(from, base)).toEqual({ ahead_by: 2, behind_by: 0 });
    expect(await repository.diskSize()).toBeGreaterThan(1000);
    fsck(path('site'));
  });
});
