/** Which commit each line of a file is from. */
import { beforeAll, describe, expect, it } from 'vitest';
import { seed, shared, startTestApp, studio } from '../support/app.ts';
import { commitTo } from '../support/conflict-site.ts';
import { commitChain, commitFiles, lines, setRef } from '../support/git-history.ts';
import { git } from '../support/git-store.ts';
import { expectRefusal } from '../support/refusal.ts';
import { siteFiles } from '../support/site-files.ts';

const app = shared(startTestApp);
let gitDir: string;
let root: string;
beforeAll(async () => {
  await seed(app, { ...siteFiles, 'lib/a.ts': lines(10), 'lib/empty.ts': '', 'lib/bin': Buffer.from([0, 10, 0]) });
  gitDir = ((await app.repository()) as unknown as { gitDir: string }).gitDir;
  root = git(gitDir, ['rev-parse', 'main']);
});

interface Range {
  first: number;
  last: number;
  commit: { sha: string; title: string };
}

const blame = (path: string, query = '') =>
  app.ask('GET', `${studio}/file/blame?path=${encodeURIComponent(path)}${query}`);
/** `[first, last, sha]` of each range. */
const rangesOf = async (path: string, query = '') => {
  const { status, body } = await blame(path, query);
  expect({ status, body }).toMatchObject({ status: 200, body: { complete: true } });
  return (body.ranges as Range[]).map(({ first, last, commit }) => [first, last, commit.sha]);
};
const branch = (name: string, oid: string) => setRef(gitDir, `refs/heads/${name}`, oid);

describe('200', () => {
  it('names the commit of each line, neighbours of one commit as one range', async () => {
    const changed = await commitTo(app, 'main', { 'lib/a.ts': lines(10, { 4: 'x', 5: 'y' }) });
    const { body } = await blame('lib/a.ts');
    expect(body).toMatchObject({
      path: 'lib/a.ts',
      sha: expect.stringMatching(/^[0-9a-f]{40}$/),
      total_lines: 10,
      complete: true,
      ranges: [
        { first: 1, last: 3, commit: { sha: root, title: 'Seed', author: { name: 'Seed' } } },
        { first: 4, last: 5, commit: { sha: changed } },
        { first: 6, last: 10, commit: { sha: root } },
      ],
    });
    expect(await rangesOf('lib/a.ts', `&ref=${root}`)).toEqual([[1, 10, root]]);
  });

  it('gives the lines that are wanted, whatever lies beyond', async () => {
    expect(await rangesOf('lib/a.ts', `&ref=${root}&first=3&lines=2`)).toEqual([[3, 4, root]]);
    expect(await rangesOf('lib/a.ts', `&ref=${root}&first=9&lines=5000`)).toEqual([[9, 10, root]]);
    expect(await rangesOf('lib/a.ts', `&ref=${root}&first=11`)).toEqual([]);
    expect(await rangesOf('lib/empty.ts')).toEqual([]);
  });

  it('keeps its tag while other files are changed', async () => {
    await commitTo(app, 'main', { 'lib/other.ts': 'one\n' });
    const tag = async () => (await blame('lib/a.ts')).headers.get('etag');
    const before = await tag();
    expect(before).toMatch(/^"[0-9a-f]{40}\./);
    await commitTo(app, 'main', { 'lib/other.ts': 'two\n' });
    expect(await tag()).toBe(before);
    await commitTo(app, 'main', { 'lib/a.ts': lines(11) });
    expect(await tag()).not.toBe(before);
  });

  it('follows a file through its renames and both sides of a merge', async () => {
    const one = commitFiles(gitDir, root, { 'lib/a.ts': null, 'lib/b.ts': lines(10) });
    const left = commitFiles(gitDir, one, { 'lib/b.ts': lines(10, { 1: 'left' }) });
    const right = commitFiles(gitDir, one, { 'lib/b.ts': lines(10, { 10: 'right' }) });
    const both = commitFiles(gitDir, left, { 'lib/b.ts': lines(10, { 1: 'left', 5: 'merge', 10: 'right' }) });
    const merge = git(gitDir, ['commit-tree', `${both}^{tree}`, '-m', 'Merge', '-p', left, '-p', right]);
    branch('merged', merge);
    expect(await rangesOf('lib/b.ts', '&branch=merged')).toEqual([
      [1, 1, left],
      [2, 4, root],
      [5, 5, merge],
      [6, 9, root],
      [10, 10, right],
    ]);
  });

  it('reads names and texts that could be taken for something else', async () => {
    const names = [':(glob)x', '-L 1', 'a "quoted"\\name', 'é', 'author 1 2 3'];
    const text = `${root} 1 1 1\nfilename x\n\ufeffno end`;
    branch('strange', commitFiles(gitDir, root, Object.fromEntries(names.map((name) => [name, text]))));
    for (const name of names)
      expect(await rangesOf(name, '&branch=strange')).toEqual([[1, 3, git(gitDir, ['rev-parse', 'strange'])]]);
  });

  it('finds lines of a file of 1 MiB, by ranges', async () => {
    const big = lines(150_000);
    const base = commitFiles(gitDir, root, { 'big.txt': big });
    const tip = branch('big', commitFiles(gitDir, base, { 'big.txt': `${big}end\n` }));
    const { body } = await blame('big.txt', '&branch=big');
    expect(body).toMatchObject({ total_lines: 150_001, ranges: [{ first: 1, last: 1000 }] });
    expect(await rangesOf('big.txt', '&branch=big&first=149999&lines=5000')).toEqual([
      [149_999, 150_000, base],
      [150_001, 150_001, tip],
    ]);
  });

  it('finds lines below 2,000 commits, and says when its time was over', { timeout: 120_000 }, async () => {
    const base = commitFiles(gitDir, root, { 'deep.txt': '0\nsame\n' });
    const tip = commitChain(
      gitDir,
      base,
      'deep.txt',
      Array.from({ length: 2_000 }, (_, at) => `${at}\nsame\n`),
    );
    branch('deep', tip);
    const repository = await app.repository();
    const query = { commit: tip, path: 'deep.txt', first: 1, last: 2 };
    const found = await repository.blame(query, 100_000);
    expect(found).toEqual({
      isComplete: true,
      lines: [
        { first: 1, last: 1, commit: tip },
        { first: 2, last: 2, commit: base },
      ],
    });
    const { isComplete, lines: some } = await repository.blame(query, 1);
    expect(isComplete).toBe(false);
    expect(found.lines).toEqual(expect.arrayContaining(some));
  });

  it('is a field of GraphQL’s File', async () => {
    const query = `{ project(organization: "acme", project: "site") { studio { file(ref: "${root}", path: "lib/a.ts") {
      blame(first: 2, lines: 2) { complete ranges { first last commit { sha title author { name date } } } } } } } }`;
    const { body } = await app.ask('POST', '/graphql', { body: { query } });
    expect(body.data.project.studio.file.blame).toMatchObject({
      complete: true,
      ranges: [{ first: 2, last: 3, commit: { sha: root, title: 'Seed' } }],
    });
  });
});

describe('refuses', () => {
  it.each([
    ['a file that is not there', 'none.ts', 404, 'not_found'],
    ['a directory', 'lib', 404, 'not_found'],
    ['a binary file', 'lib/bin', 422, 'validation_failed'],
    ['a path in .git', '.git/config', 400, 'invalid_path'],
    ['a path that leads out', '../a', 400, 'invalid_path'],
  ])('%s', async (_what, path, status, code) => {
    expectRefusal(await blame(path), status, code, /^path: /);
  });

  it('a file of more than 5 MiB', async () => {
    const limit = 5 * 1024 * 1024;
    branch('large', commitFiles(gitDir, root, { fits: 'a'.repeat(limit), large: 'a'.repeat(limit + 1) }));
    expect((await blame('fits', '&branch=large')).body.ranges).toMatchObject([{ first: 1, last: 1 }]);
    expectRefusal(await blame('large', '&branch=large'), 413, 'too_large', /^path: the file has 5242881 bytes/);
  });

  it.each([
    ['first=0', 'first: must be at least 1'],
    ['lines=0', 'lines: must be at least 1'],
    ['lines=5001', 'lines: must be at most 5000'],
    ['first=x', /^first: /],
  ])('%s', async (query, message) => {
    expectRefusal(await blame('lib/a.ts', `&${query}`), 400, 'invalid_request', message);
  });

  it('callers without browse_studio', async () => {
    const token = await app.makeToken(['edit_studio']);
    const answer = await app.ask('GET', `${studio}/file/blame?path=lib%2Fa.ts`, { token });
    expectRefusal(answer, 403, 'forbidden', 'Missing permission: browse_studio');
  });
});
