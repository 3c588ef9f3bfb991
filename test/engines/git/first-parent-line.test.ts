import { expect, it } from 'vitest';
import type { LineCommit } from '../../../src/ports/git-records.ts';
import { commitFiles, setRef } from '../../support/git-history.ts';
import { git, testStore } from '../../support/git-store.ts';

async function history() {
  const { store, path } = testStore();
  const repository = await store.create('site', 'main');
  const gitDir = path('site');
  const root = commitFiles(gitDir, null, { 'a.md': '1', 'd/b.md': '1' });
  const side = commitFiles(gitDir, root, { 'side.md': '1' });
  const second = commitFiles(gitDir, root, { 'a.md': '2', 'd/ é".md': '1' });
  const tree = git(gitDir, ['rev-parse', `${commitFiles(gitDir, second, { 'side.md': '1' })}^{tree}`]);
  const merge = git(gitDir, ['commit-tree', tree, '-m', 'merge', '-p', second, '-p', side]);
  const empty = git(gitDir, ['commit-tree', tree, '-m', 'empty', '-p', merge]);
  setRef(gitDir, 'refs/heads/main', empty);
  return { repository, root, side, second, merge, empty };
}

async function all(line: AsyncIterable<LineCommit>): Promise<LineCommit[]> {
  const found = [];
  for await (const commit of line) found.push(commit);
  return found;
}

it('the line has each commit with its parents and what it changed against the first, down to the root', async () => {
  const { repository, root, side, second, merge, empty } = await history();
  const whole = [
    { oid: empty, parents: [merge], paths: [] },
    { oid: merge, parents: [second, side], paths: ['side.md'] },
    { oid: second, parents: [root], paths: ['a.md', 'd/ é".md'] },
    { oid: root, parents: [], paths: ['a.md', 'd/b.md'] },
  ];
  expect(await all(repository.line(empty, null))).toEqual(whole);
  expect(await all(repository.line(empty, second))).toEqual(whole.slice(0, 2));
  expect(await all(repository.line(empty, side))).toEqual(whole.slice(0, 3));
  expect(await all(repository.line(empty, empty))).toEqual([]);
  for await (const { oid } of repository.line(empty, null)) {
    expect(oid).toBe(empty);
    break;
  }
});

it('of a commit that is not there is refused', async () => {
  const { repository, empty } = await history();
  const gone = '1'.repeat(40);
  await expect(all(repository.line(gone, null))).rejects.toMatchObject({ code: 'repository_unavailable' });
  await expect(all(repository.line(empty, gone))).rejects.toMatchObject({ code: 'repository_unavailable' });
  await expect(all(repository.line('--all', null))).rejects.toMatchObject({ code: 'not_found' });
});
