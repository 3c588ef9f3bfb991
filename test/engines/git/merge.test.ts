import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { newCollision } from '../../../src/engines/git/history/new-collision.ts';
import { Tree } from '../../../src/engines/git/objects/tree-codec.ts';
import { Pace } from '../../../src/lib/concurrency.ts';
import { blobOf, commitFiles, lines } from '../../support/git-history.ts';
import { fsck, git, replaceGit, testStore } from '../../support/git-store.ts';

async function fresh() {
  const made = testStore();
  const repository = await made.store.create('site', 'main');
  return { ...made, repository, gitDir: made.path('site') };
}

type Files = Parameters<typeof commitFiles>[2];

/** Two commits with a common ancestor. */
async function forked(base: Files, current: Files, incoming: Files) {
  const made = await fresh();
  const root = commitFiles(made.gitDir, null, base);
  const sides = {
    root,
    current: commitFiles(made.gitDir, root, current),
    incoming: commitFiles(made.gitDir, root, incoming),
  };
  return { ...made, ...sides, merge: () => made.repository.mergeTrees(sides.current, sides.incoming) };
}

describe('mergeBases', () => {
  it('are all the best common ancestors of branches that were merged into each other', async () => {
    const { repository, gitDir, root, current, incoming } = await forked({ a: '1' }, { a: '2' }, { b: '3' });
    const merged = (...parents: string[]) =>
      git(gitDir, ['commit-tree', `${root}^{tree}`, '-m', 'Merge', ...parents.flatMap((parent) => ['-p', parent])]);
    const found = await repository.mergeBases(merged(current, incoming), merged(incoming, current));
    expect(found.sort()).toEqual([current, incoming].sort());
    expect(await repository.mergeBases(current, incoming)).toEqual([root]);
    expect(await repository.mergeBases(current, commitFiles(gitDir, null, { z: '1' }))).toEqual([]);
  });
});

describe('mergeBase', () => {
  it('is the common ancestor, or null', async () => {
    const { repository, gitDir, root, current, incoming } = await forked({ a: '1' }, { a: '2' }, { b: '3' });
    expect(await repository.mergeBase(current, incoming)).toBe(root);
    expect(await repository.mergeBase(root, incoming)).toBe(root);
    const other = commitFiles(gitDir, null, { z: '1' });
    expect(await repository.mergeBase(current, other)).toBeNull();
    expect(await repository.isAncestor(root, current)).toBe(true);
    expect(await repository.isAncestor(current, current)).toBe(true);
    expect(await repository.isAncestor(current, incoming)).toBe(false);
    for (const bad of ['main', '--help', ''])
      await expect(repository.mergeBase(current, bad)).rejects.toMatchObject({ code: 'not_found' });
    await expect(repository.mergeBase(current, '1'.repeat(40))).rejects.toMatchObject({
      code: 'repository_unavailable',
    });
  });
});

describe('newCollision', () => {
  const found = async (base: Files, current: Files, incoming: Files) => {
    const { repository, merge, ...sides } = await forked(base, current, incoming);
    const trees = await Promise.all([sides.current, sides.incoming].map((commit) => repository.snapshot(commit)));
    const merged = await repository.snapshotOfTree((await merge()).tree);
    return merged.newCollision(trees.map(({ tree }) => tree));
  };

  it.each<[string, Files, Files, [string, string] | null]>([
    ['files', { 'p/Zed.md': '1' }, { 'p/zed.md': '2' }, ['p/zed.md', 'p/Zed.md']],
    ['directories', { 'p/dirz/x.md': '1' }, { 'p/DirZ/y.md': '2' }, ['p/DirZ', 'p/dirz']],
    ['a file and a directory', { 'p/d/x.md': '1' }, { 'p/D': '2' }, ['p/D', 'p/d']],
    ['forms of one letter', { 'p/\u00e9.md': '1' }, { 'p/e\u0301.md': '2' }, ['p/e\u0301.md', 'p/\u00e9.md']],
    ['deep below what both have made', { 'n/o/A': '1' }, { 'n/o/a': '2' }, ['n/o/a', 'n/o/A']],
    ['a name beside one that is gone', { 'p/old.md': null }, { 'p/OLD2.md': '2' }, null],
    ['names that only one side has', { 'p/Zed.md': '1', 'p/zed.md': '1' }, { 'p/other.md': '2' }, null],
    ['names that the other side has', { 'p/other.md': '2' }, { 'p/Zed.md': '1', 'p/zed.md': '1' }, null],
  ])('of two sides: %s', async (_what, current, incoming, expected) => {
    expect(await found({ 'p/a.md': 'a', 'p/old.md': 'old' }, current, incoming)).toEqual(expected);
  });

  it('is none that was there before, where both sides add more', async () => {
    const base = { 'p/Zed/a.md': 'a', 'p/zed/a.md': 'b' };
    expect(await found(base, { 'p/Zed/c.md': '1', 'q/c.md': '1' }, { 'p/zed/d.md': '2', 'q/d.md': '2' })).toBeNull();
  });

  it('reads only what both sides have changed', async () => {
    const names = (text: string) => Object.fromEntries(Array.from({ length: 50 }, (_, n) => [`d${n}/a.md`, text]));
    const { gitDir, ...sides } = await forked(
      { ...names('base'), 'p/a.md': 'a' },
      { ...names('ours'), 'ours/x/y.md': '1', 'p/b.md': 'b' },
      { 'theirs/x/y.md': '1', 'p/c.md': 'c' },
    );
    const trees: string[] = [];
    const read = async (oid: string | null) => {
      trees.push(oid ?? '');
      return Tree.parse(execFileSync('git', ['-C', gitDir, 'cat-file', 'tree', oid ?? '']), 20);
    };
    const treeOf = (commit: string) => git(gitDir, ['rev-parse', `${commit}^{tree}`]);
    const merged = git(gitDir, ['merge-tree', '--write-tree', sides.current, sides.incoming]);
    expect(await newCollision(read, merged, [treeOf(sides.current), treeOf(sides.incoming)])).toBeNull();
    // The roots, and `p` of the merge and of the first side.
    expect(new Set(trees).size).toBe(5);
  });

  it('looks once at each of the spellings of one name that a side has', async () => {
    const spellings = Array.from({ length: 1_024 }, (_, n) =>
      Array.from({ length: 10 }, (_letter, at) => (n & (1 << at) ? 'A' : 'a')).join(''),
    ).sort();
    const entry = (name: string) => Buffer.concat([Buffer.from(`100644 ${name}\0`), Buffer.alloc(20, 1)]);
    const trees = new Map([
      ['result', Tree.parse(Buffer.concat([...spellings, 'z'].map(entry)), 20)],
      ['ours', Tree.parse(entry('z'), 20)],
      ['theirs', Tree.parse(Buffer.concat(spellings.map(entry)), 20)],
    ]);
    let reads = 0;
    const read = async (oid: string | null) => {
      reads += 1;
      return trees.get(oid ?? '') as Tree;
    };
    expect(await newCollision(read, 'result', ['ours', 'theirs'])).toBeNull();
    expect(reads).toBeLessThan(3 * spellings.length);
  });
});

describe('newCollision of many trees', () => {
  const entry = (name: string, mode: string, at: number) =>
    [name, { name, mode, oid: `${at}`.padStart(40, '0') }] as const;
  /** Trees by what they are numbered with, and a reader that counts. */
  function forest() {
    const trees = new Map<string, Tree>();
    const made = { reads: 0 };
    const oid = (at: number) => `${at}`.padStart(40, '0');
    const add = (entries: (readonly [string, { name: string; mode: string; oid: string }])[]) => {
      trees.set(oid(trees.size + 1), Tree.empty(20).edit(new Map(entries)));
      return trees.size;
    };
    const read = async (tree: string | null) => {
      made.reads += 1;
      return trees.get(tree ?? '') ?? Tree.empty(20);
    };
    return { add, read, made, oid };
  }
  const spelling = (n: number) => Array.from({ length: 10 }, (_letter, at) => (n & (1 << at) ? 'A' : 'a')).join('');

  it('goes down each tree once for all spellings of one name, however deep that is', async () => {
    const [count, depth] = [200, 30];
    const { add, read, made, oid } = forest();
    const deep = (names: string[]) => {
      let at = add(names.map((name) => entry(name, '100644', 1)));
      for (let level = 0; level < depth; level += 1) at = add([entry('d', '40000', at)]);
      return oid(at);
    };
    const all = Array.from({ length: count }, (_, n) => spelling(n + 1));
    const sides = all.map((name) => deep([name]));
    const found = await newCollision(read, deep(all), sides);
    const path = (name: string | undefined) => `${'d/'.repeat(depth)}${name}`;
    expect(found?.[0]).not.toBe(found?.[1]);
    for (const one of found ?? []) expect(all.map(path)).toContain(one);
    expect(made.reads).toBeLessThan((count + 20) * (depth + 1));
    made.reads = 0;
    const holder = deep([...all, 'other']);
    expect(await newCollision(read, deep([...all, 'z']), [...sides, holder])).toBeNull();
    expect(made.reads).toBeLessThan((count + 20) * (depth + 1));
  });

  it('ends where more names would be looked up in the trees than it may', async () => {
    const { add, read, made, oid } = forest();
    const file = (name: string) => entry(name, '100644', 1);
    const rootOf = (below: number) => oid(add(Array.from({ length: 100 }, (_, n) => entry(`d${n}`, '40000', below))));
    const sides = Array.from({ length: 50 }, (_, n) => rootOf(add([file(`x${n}`)])));
    const result = rootOf(add([file('A'), file('a')]));
    const holder = rootOf(add([file('A'), file('a'), file('z')]));
    expect(await newCollision(read, result, [...sides, holder])).toBeNull();
    made.reads = 0;
    await expect(newCollision(read, result, [...sides, holder], 20_000)).rejects.toMatchObject({ code: 'too_large' });
    expect(made.reads).toBeLessThan(2_000);
  });

  it('ends where more sets of holders would be compared than it may', async () => {
    const { add, read, oid } = forest();
    const names = Array.from({ length: 1_000 }, (_, n) => spelling(n));
    const treeOf = (some: string[]) => oid(add(some.map((name) => entry(name, '100644', 1))));
    const bits = Array.from({ length: 10 }, (_, bit) => names.filter((_name, n) => n & (1 << bit)));
    const sides = [
      treeOf(['other']),
      ...bits.flatMap((some) => [some, names.filter((one) => !some.includes(one))]).map(treeOf),
    ];
    // Most are in some tree together, and no two in the same ones.
    expect(await newCollision(read, treeOf(names), sides)).not.toBeNull();
    await expect(newCollision(read, treeOf(names), sides, 21_000 + 22 * 16 + 10)).rejects.toMatchObject({
      code: 'too_large',
    });
  });
});

describe('mergeTrees', () => {
  it('merges what does not clash and names what git merged by lines', async () => {
    const { merge, gitDir, repository } = await forked(
      { 'both.md': lines(9), 'same.md': 'same', 'gone.md': 'x', 'käse/a b.md': lines(9) },
      { 'both.md': lines(9, { 1: 'one' }), 'new.md': 'n', 'käse/a b.md': lines(9, { 1: 'one' }) },
      { 'both.md': lines(9, { 9: 'nine' }), 'gone.md': null, 'käse/a b.md': lines(9, { 9: 'nine' }) },
    );
    const { tree: made, ...rest } = await merge();
    const tree = made.oid;
    expect(rest).toEqual({
      clean: true,
      may_follow_renames: true,
      conflicts: [],
      auto_merged: ['both.md', 'käse/a b.md'],
    });
    expect(git(gitDir, ['show', `${tree}:both.md`])).toBe(lines(9, { 1: 'one', 9: 'nine' }).trimEnd());
    expect(git(gitDir, ['ls-tree', '-r', '-z', '--name-only', tree]).split('\0').filter(Boolean)).toEqual([
      'both.md',
      'käse/a b.md',
      'new.md',
      'same.md',
    ]);
    const base = git(gitDir, ['rev-parse', `${tree}`]);
    expect(base).toBe(tree);
    const merged = await repository.snapshotOfTree(made);
    expect([merged.commit, merged.tree]).toEqual([null, tree]);
    const { entry } = await merged.lookup('both.md');
    expect((await merged.blob(entry?.oid ?? '')).toString()).toBe(lines(9, { 1: 'one', 9: 'nine' }));
    expect(await repository.branches()).toEqual([]);
    fsck(gitDir);
  });

  it('gives the stages of every conflicting file, and git’s reason', async () => {
    const { merge, gitDir, root, current, incoming } = await forked(
      { 'c.md': lines(5), 'del.md': lines(5), bin: 'a\0b', 'name\nline.md': lines(3) },
      {
        'c.md': lines(5, { 1: 'x' }),
        'del.md': null,
        bin: 'a\0c',
        'new.md': 'ours',
        f: 'file',
        'name\nline.md': 'x\n',
      },
      {
        'c.md': lines(5, { 1: 'y' }),
        'del.md': lines(5, { 2: 'z' }),
        bin: 'a\0d',
        'new.md': 'theirs',
        'f/in.md': 'deep',
        'name\nline.md': 'y\n',
      },
    );
    const { clean, conflicts, auto_merged } = await merge();
    expect(clean).toBe(false);
    expect(auto_merged).toEqual([]);
    const found = new Map(conflicts.map((conflict) => [conflict.path, conflict]));
    const blob = (commit: string, path: string) => ({ oid: blobOf(gitDir, commit, path), mode: '100644' });
    expect(found.get('c.md')).toEqual({
      path: 'c.md',
      kind: 'content',
      related: [],
      stages: { base: blob(root, 'c.md'), current: blob(current, 'c.md'), incoming: blob(incoming, 'c.md') },
    });
    expect(found.get('del.md')).toMatchObject({
      kind: 'delete_modify',
      stages: { base: blob(root, 'del.md'), current: null, incoming: blob(incoming, 'del.md') },
    });
    expect(found.get('bin')?.kind).toBe('binary');
    expect(found.get('new.md')).toMatchObject({ kind: 'add_add', stages: { base: null } });
    expect(found.get('name\nline.md')?.kind).toBe('content');
    expect([...found.values()].filter(({ kind }) => kind === 'file_directory').map(({ path }) => path)).toEqual([
      expect.stringMatching(/^f~/),
    ]);
    expect(found.size).toBe(6);
  });

  it('names all paths of a file renamed to two names, and one renamed and deleted', async () => {
    const { merge } = await forked(
      { 'old.md': lines(20), 'two.md': lines(30, { 1: 'second' }) },
      { 'old.md': null, 'mine.md': lines(20), 'two.md': null },
      { 'old.md': null, 'theirs.md': lines(20), 'two.md': null, 'moved.md': lines(30, { 1: 'second', 9: 'x' }) },
    );
    const { conflicts } = await merge();
    expect(
      conflicts.map(({ path, kind, related, stages }) => [path, kind, related, Object.values(stages).map(Boolean)]),
    ).toEqual([
      ['mine.md', 'rename_rename', ['old.md', 'theirs.md'], [false, true, false]],
      ['moved.md', 'rename_delete', ['two.md'], expect.anything()],
      ['old.md', 'rename_rename', ['mine.md', 'theirs.md'], [true, false, false]],
      ['theirs.md', 'rename_rename', ['old.md', 'mine.md'], [false, false, true]],
    ]);
  });

  it('distinguishes a conflict of types from a conflict of contents', async () => {
    const { merge } = await forked(
      { link: 'text' },
      { link: { mode: '120000', text: 'target' } },
      { link: 'other text' },
    );
    const { conflicts } = await merge();
    expect(conflicts.map(({ kind }) => kind)).toContain('mode');
  });

  it('follows a rename, and leaves files in the directory their author chose', async () => {
    const { merge, gitDir } = await forked(
      { 'posts/a.md': lines(9), 'posts/b.md': lines(9, { 1: 'b' }) },
      { 'posts/a.md': null, 'posts/b.md': null, 'blog/a.md': lines(9), 'blog/b.md': lines(9, { 1: 'b' }) },
      { 'posts/a.md': lines(9, { 5: 'five' }), 'posts/new.md': 'n' },
    );
    const { tree: made, clean } = await merge();
    const tree = made.oid;
    expect(clean).toBe(true);
    expect(git(gitDir, ['ls-tree', '-r', '--name-only', tree])).toBe('blog/a.md\nblog/b.md\nposts/new.md');
    expect(git(gitDir, ['show', `${tree}:blog/a.md`])).toBe(lines(9, { 5: 'five' }).trimEnd());
  });

  it.each([
    [1_000, true],
    [1_001, false],
  ])(
    'looks for what became of %i files that were renamed and changed: %s, and of any that was only renamed',
    async (count, looks) => {
      const all = (at: (n: number) => string, text: string | null) =>
        Object.fromEntries(Array.from({ length: count }, (_, n) => [at(n), text]));
      const [old, anew] = [(n: number) => `old/${n}`, (n: number) => `new/${count + n}`];
      const { merge, gitDir } = await forked(
        { ...all(old, lines(9)), 'kept.md': lines(20) },
        { ...all(old, lines(9, { 1: 'ours' })), 'kept.md': lines(20, { 1: 'ours' }) },
        { ...all(old, null), ...all(anew, lines(9, { 9: 'theirs' })), 'kept.md': null, 'moved.md': lines(20) },
      );
      const { tree, conflicts } = await merge();
      // Where all are alike git compares each new one with a few in the end, and follows those.
      expect(conflicts.length < count).toBe(looks);
      for (const { kind } of conflicts) expect(kind).toBe('delete_modify');
      expect(git(gitDir, ['show', `${tree.oid}:moved.md`])).toBe(lines(20, { 1: 'ours' }).trimEnd());
    },
  );

  it('ends with the signal', async () => {
    const { repository, current, incoming } = await forked({ a: '1' }, { a: '2' }, { a: '3' });
    const reason = new Error('enough');
    await expect(repository.mergeTrees(current, incoming, AbortSignal.abort(reason))).rejects.toBe(reason);
  });

  it('refuses histories without a common ancestor, and what is no commit', async () => {
    const { repository, gitDir, current } = await forked({ a: '1' }, { a: '2' }, { a: '3' });
    const other = commitFiles(gitDir, null, { a: '9' });
    await expect(repository.mergeTrees(current, other)).rejects.toMatchObject({ code: 'no_common_ancestor' });
    await expect(repository.mergeTrees(current, 'HEAD')).rejects.toMatchObject({ code: 'not_found' });
  });
});

describe('mergeability', () => {
  it('answers many pairs in order and stores nothing', async () => {
    const { repository, gitDir, root, current, incoming } = await forked(
      { a: lines(9), b: '1' },
      { a: lines(9, { 1: 'x' }) },
      { a: lines(9, { 9: 'y' }) },
    );
    const clash = commitFiles(gitDir, root, { a: lines(9, { 1: 'z' }), b: null });
    const other = commitFiles(gitDir, null, { a: '9' });
    const count = () => git(gitDir, ['count-objects']);
    const before = count();
    expect(
      await repository.mergeability([
        { current, incoming },
        { current, incoming: clash },
        { current, incoming: other },
        { current, incoming: '1'.repeat(40) },
        { current: incoming, incoming: root },
        { current: clash, incoming: current },
      ]),
    ).toEqual([
      { clean: true, conflicts: [], auto_merged: ['a'], may_follow_renames: true },
      { clean: false, conflicts: ['a'], auto_merged: [], may_follow_renames: true },
      null,
      null,
      { clean: true, conflicts: [], auto_merged: [], may_follow_renames: false },
      { clean: false, conflicts: ['a'], auto_merged: [], may_follow_renames: true },
    ]);
    expect(count()).toBe(before);
    expect(readdirSync(gitDir).filter((name) => name.startsWith('scratch'))).toEqual([]);
    expect(await repository.mergeability([])).toEqual([]);
  });
});

describe('mergeability of a merge at which git ends', () => {
  /** Three pairs, and a git that prints a part of its answer for the second, makes a file, and ends as it is written here. */
  async function endingAtSecond(end: string) {
    const made = await forked({ a: lines(9) }, { a: lines(9, { 1: 'x' }) }, { a: lines(9, { 9: 'y' }) });
    const { gitDir, root, current, incoming } = made;
    const [second = '', third = ''] = ['z', 'w'].map((text) => commitFiles(gitDir, root, { a: lines(9, { 8: text }) }));
    const here = replaceGit(`
      case "$*" in *--stdin*) ;; *) exec $git "$@" ;; esac
      while read -r pair; do
        case "$pair" in *${second}) printf '1\\0cut'; touch $here/reached; ${end} ;; esac
        printf '%s\\n' "$pair" | $git "$@"
      done`);
    const reached = join(here, 'reached');
    return { ...made, reached, pairs: [incoming, second, third].map((one) => ({ current, incoming: one })) };
  }
  const clean = { clean: true, conflicts: [], auto_merged: ['a'], may_follow_renames: true };
  const outOfMemory = 'echo "fatal: out of memory, malloc failed" >&2; exit 128';

  it('keeps what was found before when its time is over', async () => {
    const { repository, gitDir, pairs, reached } = await endingAtSecond('exec sleep 600');
    const until = new AbortController();
    const answers = repository.mergeability(pairs, until.signal);
    await vi.waitFor(() => expect(existsSync(reached)).toBe(true), { timeout: 60_000, interval: 20 });
    until.abort(new Error('over'));
    expect(await answers).toEqual([clean, undefined, undefined]);
    expect(readdirSync(gitDir).filter((name) => name.startsWith('scratch'))).toEqual([]);
  });

  const fullDisk = 'echo "error: unable to write file: No space left on device" >&2; exit 128';

  it.each([
    ['that is too much for git', outOfMemory],
    ['at which git fails, as on a full disk', fullDisk],
  ])('goes on behind one %s', async (_name, end) => {
    const { repository, pairs } = await endingAtSecond(end);
    expect(await repository.mergeability(pairs, new AbortController().signal)).toEqual([clean, undefined, clean]);
  });

  it.each([
    ['too_large', outOfMemory],
    ['repository_unavailable', fullDisk],
  ])('fails where every answer is needed: %s', async (code, end) => {
    const { repository, pairs } = await endingAtSecond(end);
    await expect(repository.mergeability(pairs)).rejects.toMatchObject({ code });
  });
});

describe('thousands of files in conflict', () => {
  const count = 2_000;
  const all = (text: string) => Object.fromEntries(Array.from({ length: count }, (_, at) => [`f${at}.txt`, text]));
  const clashing = () => forked(all('a\n'), all('b\n'), all('c\n'));
  /** Of a file three stages and two messages are read before it is described. */
  const steps = (3 + 2 + 1) * count;
  const countYields = () => {
    vi.spyOn(Pace.prototype, 'isDue', 'get').mockReturnValue(true);
    return vi.spyOn(Pace.prototype, 'yield').mockResolvedValue();
  };
  afterEach(() => vi.restoreAllMocks());

  it('are described one after the other, others being served between any two', async () => {
    const { merge } = await clashing();
    const yields = countYields();
    const { conflicts } = await merge();
    expect(conflicts).toHaveLength(count);
    expect(new Set(conflicts.map(({ kind }) => kind))).toEqual(new Set(['content']));
    expect(yields.mock.calls.length).toBeGreaterThanOrEqual(steps);
  });

  it('are found one after the other where only whether they merge is wanted', async () => {
    const { repository, current, incoming } = await clashing();
    const yields = countYields();
    const [outcome] = await repository.mergeability([{ current, incoming }]);
    expect(outcome?.conflicts).toHaveLength(count);
    expect(yields.mock.calls.length).toBeGreaterThanOrEqual(steps);
  });
});
