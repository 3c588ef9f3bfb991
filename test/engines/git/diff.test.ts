import { describe, expect, it } from 'vitest';
import { blobOf, commitFiles, lines, setRef } from '../../support/git-history.ts';
import { git, testStore } from '../../support/git-store.ts';

async function fresh() {
  const made = testStore();
  const repository = await made.store.create('site', 'main');
  return { ...made, repository, gitDir: made.path('site') };
}

const all = { skip: 0, limit: 100 };

async function changed() {
  const made = await fresh();
  const { gitDir } = made;
  const base = commitFiles(gitDir, null, {
    'mod.md': lines(9),
    'old name.md': lines(40),
    'gone.md': lines(3),
    bin: 'a\0b',
    'run.sh': 'x\n',
    'tab\t': 'x\n',
    'new\nline': 'x\n',
  });
  const head = commitFiles(gitDir, base, {
    'mod.md': lines(9, { 1: 'one', 2: 'two' }),
    'old name.md': null,
    'sub/nëw.md': lines(40, { 3: 'three' }),
    'gone.md': null,
    bin: 'a\0c',
    'run.sh': { mode: '100755', text: 'x\n' },
    ':new.md': 'a\nb\n',
    'tab\t': 'y\n',
    'new\nline': 'y\n',
  });
  return { ...made, base, head };
}

describe('renames', () => {
  it('are former names by the new ones, whatever the names', async () => {
    const { repository, gitDir, base, head } = await changed();
    const back = commitFiles(gitDir, head, { 'sub/nëw.md': null, 'last\nname.md': lines(40, { 3: 'three' }) });
    expect([...(await repository.renames(base, head))]).toEqual([['sub/nëw.md', 'old name.md']]);
    expect([...(await repository.renames(head, back))]).toEqual([['last\nname.md', 'sub/nëw.md']]);
    expect([...(await repository.renames(head, head))]).toEqual([]);
  });

  it('end with their signal', async () => {
    const { repository, base, head } = await changed();
    await expect(repository.renames(base, head, AbortSignal.abort(new Error('late')))).rejects.toThrow('late');
  });
});

describe('diff', () => {
  it('lists every changed file with its sides and line counts', async () => {
    const { repository, gitDir, base, head } = await changed();
    const { files, total } = await repository.diff(base, head, all);
    expect(total).toBe(8);
    const by = new Map(files.map((file) => [file.path, file]));
    expect(files.map(({ path }) => path)).toEqual([
      ':new.md',
      'bin',
      'gone.md',
      'mod.md',
      'new\nline',
      'run.sh',
      'sub/nëw.md',
      'tab\t',
    ]);
    expect(by.get('mod.md')).toEqual({
      path: 'mod.md',
      previous_path: null,
      status: 'modified',
      base: { oid: blobOf(gitDir, base, 'mod.md'), mode: '100644' },
      head: { oid: blobOf(gitDir, head, 'mod.md'), mode: '100644' },
      additions: 2,
      deletions: 2,
      binary: false,
    });
    expect(by.get('sub/nëw.md')).toMatchObject({
      status: 'renamed',
      previous_path: 'old name.md',
      additions: 1,
      deletions: 1,
    });
    expect(by.get('gone.md')).toMatchObject({ status: 'removed', head: null, additions: 0, deletions: 3 });
    expect(by.get(':new.md')).toMatchObject({ status: 'added', base: null, additions: 2 });
    expect(by.get('bin')).toMatchObject({ status: 'modified', binary: true, additions: 0, deletions: 0 });
    expect(by.get('run.sh')).toMatchObject({ status: 'modified', head: { mode: '100755' }, additions: 0 });
    expect(by.get('tab\t')).toMatchObject({ status: 'modified', additions: 1, deletions: 1 });
    expect(await repository.diffTotals(base, head)).toEqual({ changed_files: 8, additions: 7, deletions: 8 });
  });

  it('gives the same files page by page', async () => {
    const { repository, base, head } = await changed();
    const whole = (await repository.diff(base, head, all)).files;
    for (const limit of [1, 3]) {
      const pages = [];
      for (let skip = 0; skip < whole.length; skip += limit)
        pages.push(await repository.diff(base, head, { skip, limit }));
      expect(pages.flatMap(({ files }) => files)).toEqual(whole);
      expect(pages.every(({ total }) => total === 8)).toBe(true);
    }
    expect(await repository.diff(base, head, { skip: 50, limit: 5 })).toEqual({ files: [], total: 8 });
    expect(await repository.diff(head, head, all)).toEqual({ files: [], total: 0 });
  });

  it('compares with nothing', async () => {
    const { repository, base } = await changed();
    const { files } = await repository.diff(null, base, all);
    expect(files.every(({ status }) => status === 'added')).toBe(true);
    await expect(repository.diff('--output=x', base, all)).rejects.toMatchObject({ code: 'not_found' });
  });
});

describe('patch', () => {
  it('is what git prints for the one file', async () => {
    const { repository, gitDir, base, head } = await changed();
    const { text, truncated } = await repository.patch(base, head, { path: 'mod.md', previous_path: null }, 10_000);
    expect(truncated).toBe(false);
    expect(text).toBe(`${git(gitDir, ['diff-tree', '-p', base, head, '--', 'mod.md'])}\n`);
    const renamed = await repository.patch(base, head, { path: 'sub/nëw.md', previous_path: 'old name.md' }, 10_000);
    expect(renamed.text).toContain('rename from old name.md\nrename to sub/nëw.md\n');
    expect(renamed.text).toContain('-3\n+three\n');
    const pathspec = await repository.patch(base, head, { path: ':new.md', previous_path: null }, 10_000);
    expect(pathspec.text).toContain('+++ b/:new.md\n@@ -0,0 +1,2 @@\n+a\n+b\n');
    expect(await repository.patch(base, head, { path: '*.md', previous_path: null }, 100)).toEqual({
      text: '',
      truncated: false,
    });
  });

  it('ends early with a whole line', async () => {
    const { repository, gitDir } = await fresh();
    const head = commitFiles(gitDir, null, { 'big.md': lines(200_000) });
    const { text, truncated } = await repository.patch(null, head, { path: 'big.md', previous_path: null }, 1000);
    expect(truncated).toBe(true);
    expect(text.length).toBeLessThanOrEqual(1000);
    expect(text.endsWith('\n')).toBe(true);
  });
});

describe('commitsBetween', () => {
  it('lists what one side has alone, newest first', async () => {
    const { repository, gitDir } = await fresh();
    const root = commitFiles(gitDir, null, { a: '0' });
    const chain = [root];
    for (const text of ['1', '2', '3']) chain.push(commitFiles(gitDir, chain.at(-1) ?? null, { a: text }));
    const [, one, two, three] = chain;
    setRef(gitDir, 'refs/heads/main', three ?? '');
    const side = commitFiles(gitDir, root, { b: '1' });
    const shas = async (base: string, head: string, page: { skip: number; limit: number }) =>
      (await repository.commitsBetween(base, head, page)).map(({ sha }) => sha);
    expect(await shas(side, three ?? '', all)).toEqual([three, two, one]);
    expect(await shas(side, three ?? '', { skip: 1, limit: 1 })).toEqual([two]);
    expect(await shas(three ?? '', side, all)).toEqual([side]);
    expect(await shas(three ?? '', root, all)).toEqual([]);
    await expect(repository.commitsBetween('^main', side, all)).rejects.toMatchObject({ code: 'not_found' });
  });
});
