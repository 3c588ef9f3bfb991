import { describe, expect, it } from 'vitest';
import { commitChain, commitFiles } from '../../support/git-history.ts';
import { fsck, git, testStore } from '../../support/git-store.ts';
import fc from '../../support/properties.ts';
import { rounds } from '../../support/rounds.ts';

const names = ['a', 'b', 'd/x', 'd/y', 'd/e/z', 'd.md', 'f/g/h'];
const texts = ['', 'one\n', 'two\n', `${'line\n'.repeat(20)}end\n`, `${'line\n'.repeat(20)}other end\n`];

const site = fc.dictionary(fc.constantFrom(...names), fc.constantFrom(...texts), { maxKeys: 7 });
/** What one side does to some names; null deletes. */
const edits = fc.dictionary(fc.constantFrom(...names), fc.option(fc.constantFrom(...texts)), { maxKeys: 4 });

type Files = Record<string, string | null>;

/** Names under which a file would stand where another has its directory cannot be in one tree. */
const isPossible = (files: Files) => {
  const there = Object.keys(files).filter((name) => files[name] !== null);
  return there.every((name) => !there.some((other) => other.startsWith(`${name}/`)));
};
const asFiles = (dictionary: Record<string, string | null>): Files => ({ ...dictionary });

async function fresh() {
  const made = testStore();
  const repository = await made.store.create('site', 'main');
  return { repository, gitDir: made.path('site') };
}

describe('a merge without a process', () => {
  it('has the result of git’s own, whatever both sides did', async () => {
    const { repository, gitDir } = await fresh();
    await fc.assert(
      fc.asyncProperty(site, edits, edits, async (base, mine, theirs) => {
        const [root, here, there] = [asFiles(base), asFiles(mine), asFiles(theirs)];
        fc.pre(isPossible({ ...root, ...here }) && isPossible({ ...root, ...there }));
        const first = commitFiles(gitDir, null, root);
        const missing = (side: Files) =>
          Object.fromEntries(Object.entries(side).filter(([name, text]) => text !== null || name in root));
        const current = commitFiles(gitDir, first, missing(here));
        const incoming = commitFiles(gitDir, first, missing(there));
        const ours = await repository.mergeTrees(current, incoming);
        const said = (() => {
          try {
            return git(gitDir, ['-c', 'merge.directoryRenames=false', 'merge-tree', '--write-tree', current, incoming]);
          } catch (error) {
            return (error as { stdout: string }).stdout;
          }
        })();
        expect(ours.tree.oid).toBe(said.split('\n')[0]);
        expect(await repository.mergeBase(current, incoming)).toBe(
          first === current ? first : git(gitDir, ['merge-base', current, incoming]),
        );
      }),
      { numRuns: rounds(20, 200) },
    );
    fsck(gitDir);
  });

  it('finds the ancestors git finds in any history', async () => {
    const { repository, gitDir } = await fresh();
    const shape = fc.array(fc.tuple(fc.nat(20), fc.option(fc.nat(20))), { minLength: 2, maxLength: 14 });
    await fc.assert(
      fc.asyncProperty(shape, async (parents) => {
        const tree = git(gitDir, ['hash-object', '-t', 'tree', '-w', '--stdin'], '');
        const commits: string[] = [];
        for (const [index, [one, two]] of parents.entries()) {
          const of = [
            ...new Set([one, two].flatMap((at) => (at === null || index === 0 ? [] : [commits[at % index]]))),
          ];
          const args = of.flatMap((oid) => ['-p', oid ?? '']);
          commits.push(git(gitDir, ['commit-tree', tree, '-m', `${index} ${parents}`, ...args]));
        }
        const [a = '', b = ''] = commits.slice(-2);
        const all = git(gitDir, ['rev-list', a]).split('\n');
        expect(await repository.isAncestor(b, a)).toBe(all.includes(b));
        const found = await repository.mergeBase(a, b);
        const best = (() => {
          try {
            return git(gitDir, ['merge-base', '--all', a, b]).split('\n');
          } catch {
            return [null];
          }
        })();
        expect(best).toContain(found);
      }),
      { numRuns: rounds(12, 100) },
    );
  });

  it.each([
    ['renamed here, changed there', { 'old.md': null, 'new.md': 'x'.repeat(200) }, { 'old.md': `${'x'.repeat(200)}y` }],
    [
      'renamed on both sides',
      { 'old.md': null, 'new.md': 'x'.repeat(200) },
      { 'old.md': null, 'other.md': 'x'.repeat(200) },
    ],
    ['deleted on both sides', { 'old.md': null }, { 'old.md': null }],
    ['a file here, a directory there', { p: 'file' }, { 'p/q': 'file' }],
  ] as [string, Files, Files][])('leaves to git what was %s', async (_what, here, there) => {
    const { repository, gitDir } = await fresh();
    const root = commitFiles(gitDir, null, { 'old.md': 'x'.repeat(200), keep: '1' });
    const [current, incoming] = [commitFiles(gitDir, root, here), commitFiles(gitDir, root, there)];
    const { tree, clean } = await repository.mergeTrees(current, incoming);
    let said: string;
    try {
      said = git(gitDir, ['merge-tree', '--write-tree', current, incoming]);
    } catch (error) {
      said = (error as { stdout: string }).stdout;
    }
    expect(tree.oid).toBe(said.split('\n')[0]);
    expect(clean).toBe(!said.includes('CONFLICT'));
  });

  it('follows a history only so far before it asks git', async () => {
    const { repository, gitDir } = await fresh();
    const root = commitFiles(gitDir, null, { a: '0' });
    const side = commitFiles(gitDir, root, { b: '1' });
    const tip = commitChain(
      gitDir,
      root,
      'a',
      Array.from({ length: 260 }, (_, at) => String(at + 1)),
    );
    expect(await repository.mergeBase(tip, side)).toBe(root);
    expect(await repository.isAncestor(root, tip)).toBe(true);
    expect((await repository.mergeTrees(tip, side)).clean).toBe(true);
  });
});
