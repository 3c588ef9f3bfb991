import { readdirSync, writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, vi } from 'vitest';
import { workFor } from '../../../src/lib/concurrency.ts';
import { commitFiles } from '../../support/git-history.ts';
import { git, replaceGit, save, testStore } from '../../support/git-store.ts';

async function siteWith(branches: number) {
  const ended: string[] = [];
  const { store, path } = testStore({
    metrics: { gitProcess: (command) => void ended.push(command), gitWriters() {} },
  });
  const repository = await store.create('site', 'main');
  await save(repository, { 'a.md': 'one' });
  const tree = git(path('site'), ['rev-parse', 'main^{tree}']);
  const heads = Array.from({ length: branches }, (_, at) =>
    git(path('site'), ['commit-tree', tree, '-p', 'main', '-m', `c${at}`]),
  );
  const base = git(path('site'), ['rev-parse', 'main']);
  return { repository, heads, base, ended, gitDir: path('site') };
}

describe('a caller that keeps git commands busy', () => {
  it('leaves commands to others', async () => {
    const { repository, base } = await siteWith(0);
    const order: string[] = [];
    const log = (caller: string) =>
      workFor(caller, () => repository.log({ from: base, skip: 0, limit: 1 })).then(() => order.push(caller));
    await Promise.all([...Array.from({ length: 40 }, () => log('busy')), log('other')]);
    expect(order.indexOf('other')).toBeLessThan(10);
  });

  it('is refused alone when too many of its commands wait', async () => {
    const { repository, base } = await siteWith(0);
    const count = (caller: string) =>
      workFor(caller, () => repository.countCommits({ from: base, limit: 1 })).then(
        () => 'done',
        (error: { code: string }) => error.code,
      );
    const busy = Array.from({ length: 800 }, () => count('busy'));
    expect(await count('other')).toBe('done');
    const outcomes = Map.groupBy(await Promise.all(busy), (outcome) => outcome);
    expect(outcomes.get('rate_limited')?.length).toBeGreaterThan(90);
  });
});

describe('callers whose merges take git long', () => {
  it('leave merges to others, and all other commands', async () => {
    const { repository, base, gitDir } = await siteWith(0);
    const sides = ['ours', 'theirs'].map((text) => commitFiles(gitDir, base, { 'a.md': text }));
    const [current = '', incoming = ''] = sides;
    const here = replaceGit(`
      case "$*" in *merge-tree*) touch $here/began.$$; until [ -e $here/over ]; do sleep 0.05; done ;; esac
      exec $git "$@"`);
    const each = Math.max(2, availableParallelism());
    const callers = ['one', 'two', 'three'].flatMap((caller) => Array<string>(4 * each).fill(caller));
    const merges = callers.map((caller) => workFor(caller, () => repository.mergeTrees(current, incoming)));
    const began = () => readdirSync(here).filter((name) => name.startsWith('began'));
    const begun = (count: number) =>
      vi.waitFor(() => expect(began()).toHaveLength(count), { timeout: 60_000, interval: 20 });
    await begun(3 * each);
    merges.push(workFor('other', () => repository.mergeTrees(current, incoming)));
    await begun(3 * each + 1);
    const distance = await workFor('other', () => repository.aheadBehind(current, base));
    expect(distance).toEqual({ ahead_by: 1, behind_by: 0 });
    writeFileSync(join(here, 'over'), '');
    for (const { clean } of await Promise.all(merges)) expect(clean).toBe(false);
  });
});

describe('distances between commits', () => {
  it('are counted once, however often they are read', async () => {
    const { repository, heads, base, ended } = await siteWith(5);
    const read = () => Promise.all(heads.map((head) => repository.aheadBehind(head, base)));
    const all = (await Promise.all([read(), read()])).concat([await read()]);
    for (const found of all) expect(found).toEqual(heads.map(() => ({ ahead_by: 1, behind_by: 0 })));
    expect(ended.filter((command) => command === 'rev-list')).toHaveLength(5);
  });

  it('are counted for a list until its time is over, and known from then on', async () => {
    const { repository, heads, base, ended } = await siteWith(10);
    const counted = () => ended.filter((command) => command === 'rev-list').length;
    const [first = ''] = heads;
    await repository.aheadBehind(first, base);
    const known = new Map([[first, { ahead_by: 1, behind_by: 0 }]]);
    expect(await repository.distances(heads, base, AbortSignal.abort())).toEqual(known);
    expect(counted()).toBe(1);
    const over = new AbortController();
    const began: string[] = [];
    const held = Promise.withResolvers<void>();
    const count = repository.aheadBehind.bind(repository);
    const counting = vi.spyOn(repository, 'aheadBehind').mockImplementation(async (head, to) => {
      began.push(head);
      if (head !== first) await held.promise;
      return count(head, to);
    });
    const found = repository.distances([...heads, ...heads], base, over.signal);
    await expect.poll(() => began.length).toBe(5);
    over.abort();
    expect(await found).toEqual(known);
    // Those that were begun go on, and no other is begun.
    held.resolve();
    await expect.poll(counted).toBe(5);
    expect(began).toEqual(heads.slice(0, 5));
    counting.mockRestore();
    const all = await repository.distances(heads, base, new AbortController().signal);
    expect(all).toEqual(new Map(heads.map((head) => [head, { ahead_by: 1, behind_by: 0 }])));
    expect(counted()).toBe(10);
  });
});
