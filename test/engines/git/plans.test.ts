import { describe, expect, it, vi } from 'vitest';
import { BranchQueues } from '../../../src/engines/git/commits/branch-queue.ts';
import type { GitRepository } from '../../../src/engines/git/repository.ts';
import { workFor } from '../../../src/lib/concurrency.ts';
import { commitFiles, lines, setRef } from '../../support/git-history.ts';
import { fsck, git, save, testStore, writerOne } from '../../support/git-store.ts';

async function fresh(options: Parameters<typeof testStore>[0] = {}) {
  const made = testStore(options);
  const repository = await made.store.create('site', 'main');
  const gitDir = made.path('site');
  const root = commitFiles(gitDir, null, { a: lines(9), b: '1' });
  const main = setRef(gitDir, 'refs/heads/main', commitFiles(gitDir, root, { a: lines(9, { 1: 'x' }) }));
  const topic = setRef(gitDir, 'refs/heads/topic', commitFiles(gitDir, root, { a: lines(9, { 9: 'y' }), c: '1' }));
  return { ...made, repository, gitDir, root, main, topic };
}

const on = (branch: string) => ({ branch, author: writerOne });
const empty = { changes: [], message: 'm', result: null };

describe('a plan of a merge', () => {
  it('commits the merged tree with both parents, corrections on top', async () => {
    const { repository, gitDir, main, topic } = await fresh();
    const { commit } = await repository.write({
      ...on('main'),
      stored_head: true,
      plan: async (head) => {
        const { tree } = await repository.mergeTrees(head.commit ?? '', topic);
        const changes = [{ path: 'fixed.md', content: Buffer.from('by hand') }];
        return { tree, parents: [topic], changes, message: 'Merge topic', result: null, expect: { topic } };
      },
    });
    expect(commit?.parents).toEqual([main, topic]);
    expect(git(gitDir, ['show', 'main:a'])).toBe(lines(9, { 1: 'x', 9: 'y' }).trimEnd());
    expect(git(gitDir, ['ls-tree', '--name-only', 'main'])).toBe('a\nb\nc\nfixed.md');
    fsck(gitDir);
  });

  it('squashes without further parents, and merges even when no byte changes', async () => {
    const { repository, gitDir, main, topic } = await fresh();
    const { tree } = await repository.mergeTrees(main, topic);
    const squash = await repository.write({ ...on('main'), plan: async () => ({ ...empty, tree }) });
    expect(squash.commit).toMatchObject({ parents: [main], tree_sha: tree.oid });
    const again = await repository.write({ ...on('main'), plan: async () => ({ ...empty, tree }) });
    expect(again.commit).toBeNull();
    const merge = await repository.write({ ...on('main'), plan: async () => ({ ...empty, parents: [topic] }) });
    expect(merge.commit).toMatchObject({ parents: [squash.commit?.sha, topic], tree_sha: tree.oid });
    fsck(gitDir);
  });

  it('names only what is stored', async () => {
    const { repository, main } = await fresh();
    const missing = '1'.repeat(40);
    for (const wrong of [
      { tree: { oid: missing } },
      { tree: { oid: main } },
      { parents: [missing] },
      { fast_forward_to: missing },
    ])
      await expect(
        repository.write({ ...on('main'), plan: async () => ({ ...empty, ...wrong }) }),
      ).rejects.toMatchObject({ code: 'not_found' });
    expect(await repository.head('main')).toBe(main);
  });

  it('sees a stored head when it asks for one, among many writers', async () => {
    const { repository, gitDir, topic } = await fresh();
    const merges = ['topic-a', 'topic-b'].map((name) =>
      setRef(gitDir, `refs/heads/${name}`, commitFiles(gitDir, topic, { [name]: '1' })),
    );
    await Promise.all([
      ...Array.from({ length: 10 }, (_, at) => save(repository, { [`w${at}`]: 'x' })),
      ...merges.map((incoming) =>
        repository.write({
          ...on('main'),
          stored_head: true,
          plan: async (head) => {
            const { tree } = await repository.mergeTrees(head.commit ?? '', incoming);
            return { ...empty, tree, parents: [incoming] };
          },
        }),
      ),
      ...Array.from({ length: 10 }, (_, at) => save(repository, { [`v${at}`]: 'x' })),
    ]);
    expect(git(gitDir, ['ls-tree', '--name-only', 'main']).split('\n')).toHaveLength(25);
    for (const incoming of merges) git(gitDir, ['merge-base', '--is-ancestor', incoming, 'main']);
    fsck(gitDir);
  });
});

describe('a fast-forward', () => {
  it('moves to a descendant, does nothing for an ancestor, and refuses all else', async () => {
    const { repository, gitDir, root, main, topic } = await fresh();
    const to = (oid: string) =>
      repository.write({ ...on('main'), plan: async () => ({ ...empty, fast_forward_to: oid }) });
    const next = commitFiles(gitDir, main, { z: '1' });
    const answer = await to(next);
    expect(answer.commit?.sha).toBe(next);
    expect(answer.snapshot.commit).toBe(next);
    expect(await repository.head('main')).toBe(next);
    expect((await to(root)).commit).toBeNull();
    expect((await to(next)).commit).toBeNull();
    await expect(to(topic)).rejects.toMatchObject({ code: 'not_fast_forward' });
    expect(await repository.head('main')).toBe(next);
    // The head in front of it is not stored yet in the first round.
    const [, mixed] = await Promise.allSettled([
      save(repository, { q: '1' }),
      to(commitFiles(gitDir, next, { r: '1' })),
    ]);
    expect(mixed).toMatchObject({ status: 'rejected', reason: { code: 'not_fast_forward' } });
  });

  it('begins an empty repository', async () => {
    const { store, path } = testStore();
    const repository = await store.create('new', 'main');
    const first = commitFiles(path('new'), null, { a: '1' });
    await repository.write({ ...on('main'), plan: async () => ({ ...empty, fast_forward_to: first }) });
    expect(await repository.head('main')).toBe(first);
  });
});

describe('expectations', () => {
  it('hold at the moment the branch moves', async () => {
    const { repository, gitDir, root, main, topic } = await fresh();
    const change = { ...empty, changes: [{ path: 'n', content: Buffer.from('1') }] };
    for (const expect_ of [{ topic: root }, { topic: null }, { absent: topic }, { main: root }])
      await expect(
        repository.write({ ...on('main'), plan: async () => ({ ...change, expect: expect_ }) }),
      ).rejects.toMatchObject({ code: 'branch_moved' });
    expect(await repository.head('main')).toBe(main);
    let rounds = 0;
    const answer = repository.write({
      ...on('main'),
      plan: async () => {
        rounds += 1;
        // Seen as expected while planning, moved before the transaction.
        const oid = await repository.head('topic');
        setTimeout(() => setRef(gitDir, 'refs/heads/topic', root), 0);
        await repository.isAncestor(root, main);
        return { ...change, expect: { topic: rounds === 1 ? oid : topic } };
      },
    });
    await expect(answer).rejects.toMatchObject({ code: 'branch_moved' });
    const fine = { topic: root, absent: null, main };
    const { commit } = await repository.write({ ...on('main'), plan: async () => ({ ...change, expect: fine }) });
    expect(commit).not.toBeNull();
    fsck(gitDir);
  });

  it('of others in the same round do not disturb a writer', async () => {
    const { repository, root, topic } = await fresh();
    const write = (name: string, oid: string) =>
      repository.write({
        ...on('main'),
        plan: async () => ({ ...empty, changes: [{ path: name, content: Buffer.from('1') }], expect: { topic: oid } }),
      });
    const answers = await Promise.allSettled([
      write('p', topic),
      write('q', root),
      write('r', topic),
      save(repository, { s: '1' }),
    ]);
    expect(answers.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled', 'fulfilled']);
  });
});

describe('a plan that takes too long', () => {
  it.each([
    ['may', { planTime: 300 }, {}],
    ['wants to', {}, { time: 300 }],
  ])(
    'than it %s is given up, and the branch goes on',
    async (_how, options, request) => {
      const { repository } = await fresh(options);
      let aborted = false;
      const [before, late, after] = await Promise.allSettled([
        save(repository, { one: '1' }),
        repository.write({
          ...on('main'),
          ...request,
          plan: (_, signal) => {
            signal.addEventListener('abort', () => (aborted = true));
            return new Promise<never>(() => {});
          },
        }),
        save(repository, { two: '2' }),
      ]);
      expect(late).toMatchObject({ status: 'rejected', reason: { code: 'git_timeout' } });
      expect([before.status, after.status]).toEqual(['fulfilled', 'fulfilled']);
      expect(aborted).toBe(true);
    },
    60_000,
  );
});

describe('deleteBranch', () => {
  it('removes the given branch, and never the default branch', async () => {
    const { repository, gitDir, root, main, topic } = await fresh();
    await expect(repository.deleteBranch('topic', root)).rejects.toMatchObject({ code: 'branch_moved' });
    await expect(repository.deleteBranch('other', root)).rejects.toMatchObject({ code: 'not_found' });
    await expect(repository.deleteBranch('main', main)).rejects.toMatchObject({ code: 'protected' });
    await expect(repository.deleteBranch('../x', main)).rejects.toMatchObject({ code: 'invalid_name' });
    git(gitDir, ['pack-refs', '--all']);
    await repository.deleteBranch('topic', topic);
    expect((await repository.branches()).map(({ name }) => name)).toEqual(['refs/heads/main']);
    await expect(save(repository, { z: '1' }, { branch: 'topic' })).rejects.toMatchObject({ code: 'not_found' });
  });

  it('leaves a branch that becomes the default one while it is removed', async () => {
    const { repository, topic } = await fresh();
    const { updater } = repository as GitRepository;
    const commit = updater.commit.bind(updater);
    vi.spyOn(updater, 'commit').mockImplementationOnce(async (updates) => {
      await repository.setDefaultBranch('topic');
      return commit(updates);
    });
    await expect(repository.deleteBranch('topic', topic)).rejects.toMatchObject({ code: 'protected' });
    expect([await repository.defaultBranch(), await repository.head('topic')]).toEqual(['topic', topic]);
  });
});

describe('updateRefs', () => {
  it('moves internal refs together or not at all', async () => {
    const { repository, root, main, topic } = await fresh();
    await repository.updateRefs([
      { name: 'refs/pull/1/head', to: topic, from: null },
      { name: 'refs/portico/rescue/main/1', to: main },
    ]);
    expect(await repository.refsBelow('refs/pull')).toEqual([{ name: 'refs/pull/1/head', oid: topic }]);
    await expect(
      repository.updateRefs([
        { name: 'refs/pull/1/head', to: root, from: main },
        { name: 'refs/pull/2/head', to: root },
      ]),
    ).rejects.toMatchObject({ code: 'branch_moved' });
    expect(await repository.refsBelow('refs/pull')).toHaveLength(1);
    await repository.updateRefs([
      { name: 'refs/pull/1/head', to: null },
      { name: 'refs/pull/9/head', to: null },
      { name: 'refs/portico/rescue/main/1', to: topic },
    ]);
    expect(await repository.refsBelow('refs/pull')).toEqual([]);
    expect(await repository.refsBelow('refs/portico/rescue')).toHaveLength(1);
    for (const name of ['refs/heads/main', 'refs/pull/x/head', 'refs/tags/v1', 'refs/pull/1/head\nx'])
      await expect(repository.updateRefs([{ name, to: root }])).rejects.toThrow();
  });
});

describe('a round whose plans take long', () => {
  it('leaves the other writers of its callers to later ones, and those of others come between', async () => {
    const { store } = testStore();
    const repository = await store.create('site', 'main');
    const done: string[] = [];
    const write = (name: string, meanwhile = () => {}) =>
      workFor(name[0] ?? '', () =>
        repository.write({
          branch: 'main',
          author: { name, email: 'a@portico.test' },
          plan: async () => {
            meanwhile();
            return { changes: [{ path: `${name}.md`, content: Buffer.from(name) }], message: name, result: null };
          },
        }),
      ).then(() => done.push(name));
    const now = performance.now.bind(performance);
    const later: Promise<unknown>[] = [];
    const first = write('a1', () => {
      vi.spyOn(performance, 'now').mockImplementation(() => now() + 1_000);
      later.push(write('b1'));
    });
    await Promise.all([first, write('a2'), write('a3')]);
    await Promise.all(later);
    vi.restoreAllMocks();
    expect(done).toEqual(['a1', 'a2', 'b1', 'a3']);
  });
});

describe('holding branches', () => {
  it('keeps writers off until released, in an order that cannot lock up', async () => {
    const order: string[] = [];
    const queues = new BranchQueues<string>(async (branch, writers) => {
      order.push(`${branch}:${writers}`);
      return [];
    });
    const release = await queues.hold(['b', 'a', 'b']);
    queues.add('a', '1');
    queues.add('b', '2');
    queues.add('c', '3');
    const second = queues.hold(['a', 'b']);
    await new Promise(setImmediate);
    expect(order).toEqual(['c:3']);
    release();
    (await second)();
    await queues.settled();
    expect(order.sort()).toEqual(['a:1', 'b:2', 'c:3']);
  });

  it('lets go of what it has when it gives up waiting', async () => {
    const order: string[] = [];
    const queues = new BranchQueues<string>(async (_, writers) => {
      order.push(...writers);
      return [];
    });
    const release = await queues.hold(['b']);
    const stop = new AbortController();
    const waiting = queues.hold(['a', 'b'], stop.signal);
    queues.add('a', 'on a');
    await new Promise(setImmediate);
    expect(order).toEqual([]);
    stop.abort(new Error('enough'));
    await expect(waiting).rejects.toThrow('enough');
    await new Promise(setImmediate);
    expect(order).toEqual(['on a']);
    release();
    await queues.settled();
  });

  it('gives a writer a round of its own on request', async () => {
    const rounds: string[][] = [];
    const queues = new BranchQueues<string>(async (_, writers) => {
      rounds.push(writers);
      return [];
    });
    await queues.hold(['a']).then((release) => {
      for (const [name, alone] of [['1'], ['2'], ['3', true], ['4'], ['5', true]] as [string, boolean?][])
        queues.add('a', name, alone);
      release();
    });
    await queues.settled();
    expect(rounds).toEqual([['1', '2'], ['3', '4'], ['5']]);
  });
});
