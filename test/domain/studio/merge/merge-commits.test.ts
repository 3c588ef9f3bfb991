import { describe, expect, it, vi } from 'vitest';
import { PlannedContents } from '../../../../src/domain/studio/changes/staged-content.ts';
import { ContentIndex } from '../../../../src/domain/studio/content/content-index.ts';
import { withoutFollowing } from '../../../../src/domain/studio/merge/followed-renames.ts';
import type { Resolution } from '../../../../src/domain/studio/merge/merge.schema.ts';
import { conflictsBetween, mergeCommits } from '../../../../src/domain/studio/merge/merge-commits.ts';
import { ConflictRoom, openSides } from '../../../../src/domain/studio/merge/merge-sides.ts';
import type { StudioRuntime } from '../../../../src/domain/studio/studio.ts';
import { Pace } from '../../../../src/lib/concurrency.ts';
import { Activity } from '../../../../src/lib/timing.ts';
import { post } from '../../../support/conflict-site.ts';
import { blobOf, commitFiles, lines, setRef } from '../../../support/git-history.ts';
import { fsck, git, inMemory, testStore } from '../../../support/git-store.ts';
import { noContentCache, silentLog } from '../../../support/no-content-cache.ts';
import fc from '../../../support/properties.ts';

type Files = Parameters<typeof commitFiles>[2];
const a = 'content/posts/a.md';
const fields = { title: 'A', description: 'Text', draft: false, tags: ['one'] };

/** Two branches of one history in a real repository, and their merge written to a tree. */
async function forked(base: Files, current: Files, incoming: Files) {
  const made = testStore();
  const repository = await made.store.create('site', 'main');
  const gitDir = made.path('site');
  const root = commitFiles(gitDir, null, { 'content/posts/other.md': post({ title: 'Other' }), ...base });
  const ours = setRef(gitDir, 'refs/heads/main', commitFiles(gitDir, root, current));
  const theirs = setRef(gitDir, 'refs/heads/topic', commitFiles(gitDir, root, incoming));
  const content = new ContentIndex({ cache: noContentCache, activity: new Activity(), log: silentLog });
  const context = { git: repository, studio: { content } as StudioRuntime };
  const pair = { current: ours, incoming: theirs };
  const merge = (resolutions: Resolution[] = [], pinned = true) =>
    mergeCommits(context, pair, resolutions, { pinned, require: () => {} });
  return {
    context,
    pair,
    gitDir,
    repository,
    merge,
    at: (treeish: string, path: string) =>
      git(gitDir, ['ls-tree', '--format=%(objectname)', treeish, '--', path]).trim() || null,
    stages: (path: string, old = path) => ({
      base: blobOf(gitDir, root, old),
      current: blobOf(gitDir, ours, path),
      incoming: blobOf(gitDir, theirs, path),
    }),
    /** Commits the merge and gives a file of it; null when it is not there. */
    async result(path: string, resolutions: Resolution[] = []) {
      const { tree, changes, conflicts } = await merge(resolutions);
      expect(conflicts).toEqual([]);
      const plan = async () => ({ tree, changes, message: 'Merge', result: null, parents: [theirs] });
      const author = { name: 'Ada', email: 'ada@example.org' };
      const { commit, snapshot } = await repository.write({ branch: 'main', author, stored_head: true, plan });
      expect(commit?.parents).toEqual([ours, theirs]);
      fsck(gitDir);
      const { entry } = await snapshot.lookup(path);
      return entry && (await snapshot.blob(entry.oid)).toString();
    },
  };
}

describe('what is kept of a merge', () => {
  const long = 'word '.repeat(300_000);
  const paths = ['b', 'c', 'd'].map((name) => `content/posts/${name}.md`);
  const all = (own: object) =>
    Object.fromEntries([a, ...paths].map((path) => [path, post({ ...fields, ...own }, long)]));
  const longEntries = () => forked(all({}), all({ title: 'New' }), all({ description: 'Other' }));

  it('is no long text: it is stored ahead', async () => {
    const { merge, result } = await longEntries();
    const { changes, conflicts } = await merge();
    expect([changes.length, conflicts.length]).toEqual([4, 0]);
    expect(inMemory(changes)).toBe(0);
    expect(await result(a)).toBe(post({ ...fields, title: 'New', description: 'Other' }, long));
  });

  it('are short texts, up to 64 MiB in all', async () => {
    let stored = 0;
    const contents = new PlannedContents({
      async storeBlob(content) {
        for await (const piece of 'read' in content ? content.read() : content) stored += piece.length;
        return { oid: 'f'.repeat(40), size: 0, head: Buffer.alloc(0) };
      },
    });
    const mebibyte = Buffer.alloc(1024 * 1024);
    const kept = [];
    for (let at = 0; at < 70; at += 1) kept.push(await contents.keep(mebibyte));
    expect(kept.map((content) => Buffer.isBuffer(content)).lastIndexOf(true)).toBe(63);
    expect(stored).toBe(6 * mebibyte.length);
  });

  it('is no text where only names are wanted, and nothing is stored then', async () => {
    const { context, pair, merge, gitDir } = await longEntries();
    const tried = await mergeCommits(context, pair, [], { pinned: true, namesOnly: true });
    expect(tried).toMatchObject({ changes: [], conflicts: [], resolved: expect.objectContaining({ length: 4 }) });
    const count = () => git(gitDir, ['count-objects']);
    const before = count();
    await mergeCommits(context, pair, [], { pinned: true, namesOnly: true });
    expect(count()).toBe(before);
    await merge();
    expect(count()).not.toBe(before);
  });

  it('is each name that git’s tree lacks', async () => {
    const { context, pair } = await forked(
      { [a]: post(fields), 'x.css': 'a {}\n' },
      { [a]: null, 'x.css': 'b {}\n' },
      { [a]: post({ ...fields, title: 'New' }), 'x.css': 'c {}\n' },
    );
    const resolutions = [
      { path: a, delete: true as const },
      { path: 'x.css', raw: 'd {}\n' },
    ];
    const { changes, conflicts } = await mergeCommits(context, pair, resolutions, {
      pinned: true,
      require: () => {},
      namesOnly: true,
    });
    expect(conflicts).toEqual([]);
    expect(changes).toEqual([
      expect.objectContaining({ path: a, content: null }),
      expect.objectContaining({ path: 'x.css', content: Buffer.from('d {}\n') }),
    ]);
  });
});

describe('what merges by itself', () => {
  it('takes neighbouring keys that git calls a conflict', async () => {
    const { merge, result } = await forked(
      { [a]: post(fields) },
      { [a]: post({ ...fields, title: 'New' }) },
      { [a]: post({ ...fields, description: 'Other', tags: ['one', 'two'] }) },
    );
    expect(await merge()).toMatchObject({
      conflicts: [],
      resolved: [{ path: a, collection: 'posts', slug: 'a', fields: ['/title', '/description', '/tags'] }],
    });
    expect(await result(a)).toBe(post({ ...fields, title: 'New', description: 'Other', tags: ['one', 'two'] }));
  });

  it('repairs what git merged by lines into a broken document', async () => {
    // Both add the same key at different places: git keeps both lines, and a key twice is no YAML.
    const far = (top: string, end: string) => `---\n${top}a: 1\nb: 2\nc: 3\nd: 4\ne: 5\n${end}---\n\nBody\n`;
    const { result, gitDir, merge } = await forked(
      { [a]: far('', '') },
      { [a]: far('weight: 7\n', '') },
      { [a]: far('', 'weight: 7\n') },
    );
    const { tree } = await merge();
    expect(git(gitDir, ['show', `${tree.oid}:${a}`]).match(/weight/g)).toHaveLength(2);
    expect((await result(a))?.match(/weight/g)).toHaveLength(1);
  });

  it('reports such a file when the values differ, although git saw no conflict', async () => {
    const far = (top: string, end: string) => `---\n${top}a: 1\nb: 2\nc: 3\nd: 4\ne: 5\n${end}---\n\nBody\n`;
    const { merge, result } = await forked(
      { [a]: far('', '') },
      { [a]: far('weight: 7\n', '') },
      { [a]: far('', 'weight: 8\n') },
    );
    const { conflicts } = await merge();
    expect(conflicts).toMatchObject([
      { path: a, type: 'field', fields: [{ field: '/weight', current: 7, incoming: 8 }] },
    ]);
    const settled = await result(a, [{ path: a, fields: { '/weight': { take: 'incoming' } } }]);
    expect(settled?.match(/weight: ./g)).toEqual(['weight: 8']);
  });

  it('keeps git’s result for files that are no entries', async () => {
    const { merge, result } = await forked(
      { 'x.css': lines(9) },
      { 'x.css': lines(9, { 1: 'one' }) },
      { 'x.css': lines(9, { 9: 'nine' }) },
    );
    expect(await merge()).toMatchObject({ changes: [], conflicts: [], resolved: [] });
    expect(await result('x.css')).toBe(lines(9, { 1: 'one', 9: 'nine' }));
  });

  it('merges an entry that one side renamed', async () => {
    const moved = 'content/posts/moved.md';
    const long = lines(30);
    const { merge, result } = await forked(
      { [a]: post(fields, long) },
      { [a]: null, [moved]: post({ ...fields, title: 'New' }, long) },
      { [a]: post({ ...fields, description: 'Other' }, long) },
    );
    expect(await merge()).toMatchObject({ conflicts: [], resolved: [{ path: moved }] });
    expect(await result(moved)).toBe(post({ ...fields, title: 'New', description: 'Other' }, long));
  });
});

describe('what would be larger than an entry may be', () => {
  const most = 5 * 1024 * 1024;
  const entry = (own: Record<number, string> = {}) => post(fields, lines(40, own));
  const filler = (bytes: number) => `${'x'.repeat(79)}\n`.repeat(bytes / 80).slice(0, -1);

  it('is merged up to that size, and settled whole beyond', async () => {
    const ours = entry({ 10: filler(most / 2) });
    const left = most - ours.length;
    const theirs = (more: number) => entry({ 30: `${filler(1600)}${'y'.repeat(left - 1597 + more)}` });
    const within = await forked({ [a]: entry() }, { [a]: ours }, { [a]: theirs(0) });
    expect(await within.result(a)).toHaveLength(most);
    const { merge, stages, result } = await forked({ [a]: entry() }, { [a]: ours }, { [a]: theirs(1) });
    const whole = { path: a, type: 'binary', reason: 'too large to be merged', hunks: [], stages: stages(a) };
    expect((await merge()).conflicts).toMatchObject([whole]);
    expect(await result(a, [{ path: a, take: 'incoming' }])).toBe(theirs(1));
  });

  it('is settled whole where fields clash as lines of neighbours, or their ancestor was as large', async () => {
    const neighbours = (own: object, at: number) => post({ ...fields, ...own }, lines(40, { [at]: filler(3_200_000) }));
    const pairs = [
      [entry(), neighbours({ title: 'New' }, 10), neighbours({ description: 'Other' }, 30)],
      [entry({ 20: filler(6_400_000) }), entry({ 10: filler(3_200_000) }), entry({ 30: filler(3_200_000) })],
    ];
    for (const [base = '', ours = '', theirs = ''] of pairs) {
      const { merge } = await forked({ [a]: base }, { [a]: ours }, { [a]: theirs });
      expect((await merge()).conflicts).toMatchObject([{ path: a, type: 'binary' }]);
    }
  });

  it('is merged by lines where one side is as large already', async () => {
    const large = entry({ 10: filler(6_400_000) });
    const { result } = await forked({ [a]: large }, { [a]: `${large}more\n` }, { [a]: large.replace('\n1\n', '\n') });
    expect(await result(a)).toBe(`${large}more\n`.replace('\n1\n', '\n'));
  });
});

describe('conflicts', () => {
  it('name the fields and hunks that clash, with their stages', async () => {
    const { merge, stages } = await forked(
      { [a]: post(fields) },
      { [a]: post({ ...fields, title: 'Ours', draft: true }, 'Ours.\n') },
      { [a]: post({ ...fields, title: 'Theirs' }, 'Theirs.\n') },
    );
    const { conflicts } = await merge();
    expect(conflicts).toEqual([
      {
        path: a,
        collection: 'posts',
        slug: 'a',
        title: 'Ours',
        type: 'field',
        stages: stages(a),
        fields: [{ field: '/title', label: 'Title', base: 'A', current: 'Ours', incoming: 'Theirs' }],
        hunks: [
          {
            id: expect.any(String),
            base: expect.any(String),
            current: 'Ours.\n',
            incoming: 'Theirs.\n',
            line: expect.any(Number),
          },
        ],
        resolved: ['/draft'],
      },
    ]);
  });

  it('are settled piece by piece, and what is left is returned', async () => {
    const { merge, result } = await forked(
      { [a]: post(fields) },
      { [a]: post({ ...fields, title: 'Ours', description: 'Ours' }) },
      { [a]: post({ ...fields, title: 'Theirs', description: 'Theirs' }) },
    );
    const partial = { path: a, fields: { '/title': { take: 'incoming' as const } } };
    expect((await merge([partial])).conflicts).toMatchObject([{ path: a, fields: [{ field: '/description' }] }]);
    const whole = { path: a, fields: { '/title': { take: 'incoming' as const }, '/description': { value: 'Both' } } };
    expect(await result(a, [whole])).toBe(post({ ...fields, title: 'Theirs', description: 'Both' }));
  });

  it('of a deleted file are settled whole', async () => {
    const sides = [{ [a]: post(fields) }, { [a]: null }, { [a]: post({ ...fields, title: 'Theirs' }) }] as const;
    const { merge } = await forked(...sides);
    expect((await merge()).conflicts).toMatchObject([
      { path: a, type: 'delete_modify', stages: { current: null, incoming: expect.any(String) } },
    ]);
    const kept = await forked(...sides);
    expect(await kept.result(a, [{ path: a, take: 'incoming' }])).toBe(post({ ...fields, title: 'Theirs' }));
    const gone = await forked(...sides);
    expect(await gone.result(a, [{ path: a, delete: true }])).toBeNull();
    const rewritten = await forked(...sides);
    expect(await rewritten.result(a, [{ path: a, raw: post({ title: 'New' }) }])).toBe(post({ title: 'New' }));
  });

  it('of a binary file, an added file and a symlink', async () => {
    const { merge } = await forked(
      { 'x.bin': 'a\0b' },
      { 'x.bin': 'a\0c', 'new.css': 'ours', link: { mode: '120000', text: 'a' } },
      { 'x.bin': 'a\0d', 'new.css': 'theirs', link: { mode: '120000', text: 'b' } },
    );
    const { conflicts } = await merge();
    expect(conflicts.map(({ path, type }) => [path, type])).toEqual([
      ['link', 'mode'],
      ['new.css', 'add_add'],
      ['x.bin', 'binary'],
    ]);
    const settled = await merge(conflicts.map(({ path }) => ({ path, take: 'incoming' })));
    expect(settled.conflicts).toEqual([]);
  });

  it('have former names that are found in one pass over each side', async () => {
    const { merge, repository } = await forked({}, { [a]: post({ title: 'A' }) }, { [a]: post({ title: 'B' }) });
    const passes = [vi.spyOn(repository, 'diff'), vi.spyOn(repository, 'renames')];
    const nowhere = { base: null, current: null, incoming: null };
    const resolutions = ['b', 'c'].map((name) => ({
      path: `public/${name}.txt`,
      stages: nowhere,
      take: 'current' as const,
    }));
    await expect(merge(resolutions)).rejects.toMatchObject({ code: 'validation_failed' });
    expect(passes.map((pass) => pass.mock.calls.length)).toEqual([0, 2]);
  });

  it('of two names for one file leave one, both or none of them', async () => {
    const long = lines(30);
    const [b, c] = ['content/posts/b.md', 'content/posts/c.md'];
    const sides = [
      { [a]: post(fields, long) },
      { [a]: null, [b]: post(fields, long) },
      { [a]: null, [c]: post(fields, long) },
    ] as const;
    const { merge } = await forked(...sides);
    const { conflicts } = await merge();
    expect(conflicts.map(({ path, type }) => [path, type])).toEqual([a, b, c].map((path) => [path, 'rename_rename']));
    const take = conflicts.map(({ path }) => ({ path, take: 'current' as const }));
    const one = await forked(...sides);
    expect(await one.result(b, take)).toBe(post(fields, long));
    const none = await forked(...sides);
    expect(await none.result(c, take)).toBeNull();
  });

  it('of a file where the other side has a directory', async () => {
    const { merge, result } = await forked({ x: '1' }, { f: 'file' }, { 'f/inside.md': 'text' });
    const { conflicts } = await merge();
    expect(conflicts).toHaveLength(1);
    const [conflict] = conflicts;
    expect(conflict).toMatchObject({ type: 'mode', reason: expect.stringContaining('directory') });
    expect(await result('f/inside.md', [{ path: conflict?.path ?? '', delete: true }])).toBe('text');
  });
});

describe('resolutions', () => {
  const clash = () =>
    forked(
      { [a]: post(fields) },
      { [a]: post({ ...fields, title: 'Ours' }) },
      { [a]: post({ ...fields, title: 'Theirs' }) },
    );

  it('hold for the stages they name', async () => {
    const { merge, stages } = await clash();
    const resolution = { path: a, stages: stages(a), take: 'incoming' as const };
    expect((await merge([resolution], false)).conflicts).toEqual([]);
    const other = { ...resolution, stages: { ...resolution.stages, incoming: '1'.repeat(40) } };
    await expect(merge([other], false)).rejects.toMatchObject({
      code: 'branch_moved',
      details: { conflicts: [{ path: a, fields: [{ field: '/title' }] }] },
    });
    await expect(merge([{ ...other, path: 'content/posts/other.md' }], false)).rejects.toMatchObject({
      code: 'branch_moved',
    });
  });

  it.each<[string, Resolution[], boolean]>([
    ['without stages, when the heads are not named', [{ path: a, take: 'incoming' }], false],
    ['of a file that is not in conflict', [{ path: 'content/posts/other.md', take: 'incoming' }], true],
    ['of a field that is not in conflict', [{ path: a, fields: { '/draft': { take: 'incoming' } } }], true],
    ['of a hunk that is not in conflict', [{ path: a, hunks: { nope: { take: 'incoming' } } }], true],
    [
      'twice',
      [
        { path: a, take: 'incoming' },
        { path: a, take: 'current' },
      ],
      true,
    ],
    ['that say nothing', [{ path: a }], true],
  ])('are refused %s', async (_what, resolutions, pinned) => {
    const { merge } = await clash();
    await expect(merge(resolutions, pinned)).rejects.toMatchObject({
      code: 'validation_failed',
      message: /^resolutions/,
    });
  });
});

describe('code in a merge', () => {
  const words = ['one', 'two', 'three'];
  const filler = 'The same line in all files.\n'.repeat(12);
  const text = (word: string) => `---\ntitle: ${word}\n---\n\n${word}\n${filler}${word} at the end\n`;
  const content = ['a', 'b', 'c'].map((name) => `content/posts/${name}.md`);
  const code = ['a', 'b', 'c'].map((name) => `src/${name}.js`);
  const file = fc.option(fc.constantFrom(...words.map(text)), { freq: 2 });
  const side = fc.record(Object.fromEntries([...content, ...code].map((path) => [path, file])));
  /** What a person without manage_studio could have brought about: of the sides the files of content alone. */
  const from = (base: Files, changed: Files) => ({
    ...changed,
    ...Object.fromEntries(code.map((path) => [path, base[path] ?? null])),
  });

  it('is what one side has changed it to at its path, whatever git takes for renamed', async () => {
    await fc.assert(
      fc.asyncProperty(side, side, side, fc.boolean(), async (base, all, changed, isCurrent) => {
        const sides = [all, from(base, changed)] as const;
        const [current, incoming] = isCurrent ? sides : sides.toReversed();
        const { merge, repository, at } = await forked(base, current ?? {}, incoming ?? {});
        const { tree, changes, conflicts } = await merge([], true);
        const merged = await repository.snapshotOfTree(tree);
        for (const path of code) {
          const change = changes.find((one) => one.path === path);
          const { oid = null } =
            ((change === undefined ? (await merged.lookup(path)).entry : change.content) as { oid?: string } | null) ??
            {};
          // Only one side has changed code, so there is nothing to merge.
          expect([at('main', path), at('topic', path)], path).toContain(oid);
        }
        for (const { path, stages } of conflicts.filter(({ path }) => code.includes(path)))
          expect([at('main', path), at('topic', path)]).toEqual([stages.current, stages.incoming]);
      }),
      { numRuns: 15 },
    );
  });

  it('is looked for among thousands of files in steps, between which others are served', async () => {
    const count = 1_000;
    const all = (word: string) => Object.fromEntries(Array.from({ length: count }, (_, at) => [`src/${at}.js`, word]));
    const { context, pair, repository } = await forked(all('base\n'), all('ours\n'), all('theirs\n'));
    const { tree, conflicts } = await repository.mergeTrees(pair.current, pair.incoming);
    const sides = await openSides(context, { ...pair, tree });
    vi.spyOn(Pace.prototype, 'isDue', 'get').mockReturnValue(true);
    const yields = vi.spyOn(Pace.prototype, 'yield').mockResolvedValue();
    expect(await withoutFollowing(sides, conflicts)).toBeNull();
    const { length } = yields.mock.calls;
    vi.restoreAllMocks();
    // Two comparisons, each of which is kept by path; then its conflict, whether it is code, and whether both sides differ in it.
    expect(length).toBeGreaterThanOrEqual(2 * (2 * count) + 3 * count);
  });
});

describe('what is shown of conflicts', () => {
  const posts = (count: number, body: string) =>
    Object.fromEntries(
      Array.from({ length: count }, (_, at) => [`content/posts/p${1000 + at}.md`, post(fields, body)]),
    );
  const clashing = (count: number, length = 1) => {
    const line = (end: string) => `${'x'.repeat(length)}${end}\n`;
    return forked(posts(count, line('base')), posts(count, line('ours')), posts(count, line('theirs')));
  };
  const mebibyte = 1024 * 1024;

  it('is no more of them than one request can settle, and says so', async () => {
    const { merge, repository, context, pair, stages } = await clashing(1_003);
    const merged = vi.spyOn(repository, 'sizes');
    const { conflicts, conflicts_truncated, changes } = await merge();
    expect(conflicts.map(({ path }) => path)).toEqual(Object.keys(posts(1_000, '')));
    expect(conflicts_truncated).toBe(true);
    expect(changes).toEqual([]);
    expect(merged).toHaveBeenCalledTimes(1_000);
    merged.mockClear();
    const conflictRoom = new ConflictRoom(1);
    expect((await conflictsBetween(context, pair, { conflictRoom })).conflicts).toHaveLength(1);
    expect(merged).toHaveBeenCalledTimes(1);
    const last = 'content/posts/p2002.md';
    const settled = await merge([{ path: last, stages: stages(last), take: 'incoming' }]);
    expect(settled).toMatchObject({ resolved: [{ path: last }], conflicts_truncated: true });
    expect(settled.conflicts).toHaveLength(1_000);
  });

  it('are their pieces, as far as there is room for all of a file', async () => {
    const { merge } = await clashing(6, 0.3 * mebibyte);
    const { conflicts, conflicts_truncated } = await merge();
    expect(conflicts_truncated).toBeUndefined();
    expect(conflicts.map(({ hunks }) => hunks.length)).toEqual([1, 1, 1, 1, 0, 0]);
    for (const { reason } of conflicts.slice(0, 4)) expect(reason).toBeUndefined();
    for (const conflict of conflicts.slice(4)) {
      expect(conflict).toMatchObject({ type: 'body', title: 'A', fields: [], resolved: [] });
      expect(conflict.reason).toBe('what clashes in it and in the files before it is too long to be shown together');
    }
    expect(JSON.stringify(conflicts).length).toBeLessThan(4 * mebibyte + 10_000);
  });

  it('is of a file that is too long only that it clashes, and leaves the room to others', async () => {
    const long = (end: string) => post(fields, `${'x'.repeat(4.5 * mebibyte)}${end}\n`);
    const { merge, stages, result } = await forked(
      { [a]: long('base'), ...posts(1, 'base\n') },
      { [a]: long('ours'), ...posts(1, 'ours\n') },
      { [a]: long('theirs'), ...posts(1, 'theirs\n') },
    );
    const { conflicts } = await merge();
    expect(conflicts).toMatchObject([
      { path: a, hunks: [], reason: 'what clashes in it is too long to be shown', stages: stages(a) },
      { hunks: [{ base: 'base\n', current: 'ours\n', incoming: 'theirs\n' }] },
    ]);
    const [other] = Object.keys(posts(1, ''));
    const taken = [a, other as string].map((path): Resolution => ({ path, take: 'incoming' }));
    expect(await result(a, taken)).toBe(long('theirs'));
  });

  it('waits for memory for as much as it may be before a file is merged', async () => {
    const { repository, context, pair } = await clashing(3, mebibyte);
    const sizes = vi.spyOn(repository, 'sizes');
    const noRoom = new Error('no room');
    const takeRoom = vi.fn().mockRejectedValue(noRoom);
    await expect(conflictsBetween(context, pair, { takeRoom })).rejects.toBe(noRoom);
    expect(takeRoom).toHaveBeenCalledWith(4 * mebibyte);
    expect(sizes).toHaveBeenCalledTimes(1);
  });

  it('is the first keys of a file that were merged without help, and the first such files', () => {
    const room = new ConflictRoom();
    const found = { path: a, fields: Array.from({ length: 1_200 }, (_, at) => `/${at}`) };
    expect(room.showResolved(found)?.fields).toEqual(found.fields.slice(0, 1_000));
    const long = { path: a, fields: [`/${'x'.repeat(60_000)}`] };
    const shown = Array.from({ length: 1_000 }, () => room.showResolved(long));
    expect(shown.at(0)?.fields).toHaveLength(1);
    expect(shown.at(-2)).toEqual({ path: a, fields: [] });
    expect(shown.at(-1)).toBeNull();
    expect(JSON.stringify(shown).length).toBeLessThan(4 * mebibyte + 100_000);
  });
});
