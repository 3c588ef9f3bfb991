import { utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { git, save, testStore } from '../../support/git-store.ts';

async function fresh() {
  const made = testStore();
  return { repository: await made.store.create('site', 'main'), gitDir: made.path('site') };
}

describe('branches', () => {
  it('are created once and where they fit', async () => {
    const { repository } = await fresh();
    const { commit, snapshot } = await save(repository, { a: '1' });
    const sha = commit?.sha ?? '';
    await repository.createBranch('x', sha);
    await expect(repository.createBranch('x', sha)).rejects.toMatchObject({ code: 'already_exists' });
    await expect(repository.createBranch('x/y', sha)).rejects.toMatchObject({ code: 'name_collision' });
    for (const name of ['a..b', 'a b', 'a\nb', '../x']) {
      await expect(repository.createBranch(name, sha)).rejects.toMatchObject({ code: 'invalid_name' });
    }
    for (const name of ['../../HEAD', '../heads/x', 'x\0', 'y'.repeat(300), ''])
      expect(await repository.head(name)).toBeNull();
    await expect(repository.createBranch('z', '2'.repeat(40))).rejects.toMatchObject({ code: 'not_found' });
    await expect(repository.createBranch('z', snapshot.tree ?? '')).rejects.toMatchObject({ code: 'not_found' });
    await repository.setDefaultBranch('x');
    expect(await repository.defaultBranch()).toBe('x');
  });

  it.each([
    ['long ago', -7200],
    ['before the clock was set back by an hour', 3000],
  ])('outlive a lock that a dead process left %s', async (_when, seconds) => {
    const { repository, gitDir } = await fresh();
    await save(repository, { a: '1' });
    const lock = join(gitDir, 'refs/heads/main.lock');
    writeFileSync(lock, '');
    const left = Date.now() / 1000 + seconds;
    utimesSync(lock, left, left);
    expect((await save(repository, { a: '2' })).commit).not.toBeNull();
  });

  it('show which commits are reachable', async () => {
    const { repository, gitDir } = await fresh();
    const first = await save(repository, { a: '1' });
    await save(repository, { a: '2' });
    const { snapshot } = first;
    const stray = git(gitDir, ['commit-tree', snapshot.tree ?? '', '-m', 'stray']);
    expect(await repository.isReachable(first.commit?.sha ?? '')).toBe(true);
    expect(await repository.isReachable(stray)).toBe(false);
    git(gitDir, ['update-ref', 'refs/portico/rescue/x', stray]);
    expect(await repository.isReachable(stray)).toBe(false);
    git(gitDir, ['update-ref', 'refs/pull/1/head', stray]);
    expect(await repository.isReachable(stray)).toBe(true);
    expect(await repository.isReachable(snapshot.tree ?? '')).toBe(false);
    expect(await repository.isReachable('--all')).toBe(false);
  });

  it('are reset in line with their writers, and only from where they were seen', async () => {
    const { repository, gitDir } = await fresh();
    const first = (await save(repository, { a: '1' })).commit?.sha ?? '';
    const second = (await save(repository, { a: '2' })).commit?.sha ?? '';
    const stray = git(gitDir, ['commit-tree', `${first}^{tree}`, '-m', 'stray']);
    await expect(repository.resetBranch('main', { from: first, to: stray })).rejects.toMatchObject({
      code: 'branch_moved',
    });
    await expect(repository.resetBranch('none', { from: second, to: stray })).rejects.toMatchObject({
      code: 'branch_moved',
    });
    await expect(repository.resetBranch('main', { from: second, to: '1'.repeat(40) })).rejects.toMatchObject({
      code: 'not_found',
    });
    expect(await repository.head('main')).toBe(second);
    const reset = repository.resetBranch('main', { from: second, to: stray });
    // In line behind the reset: it is a child of what the branch was reset to.
    const { commit } = await save(repository, { b: '1' });
    await reset;
    expect(commit?.parents).toEqual([stray]);
    expect(await repository.head('main')).toBe(commit?.sha);
  });
});
