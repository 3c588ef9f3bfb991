import { describe, expect, it } from 'vitest';
import { fsck, git, save, testStore, writerOne } from '../../support/git-store.ts';

async function fresh() {
  const made = testStore();
  const repository = await made.store.create('site', 'main');
  await save(repository, { 'a/one.md': '1', 'a/two.md': '2' });
  return { repository, gitDir: made.path('site') };
}

const content = (text: string) => Buffer.from(text);
const objects = (gitDir: string) => git(gitDir, ['count-objects']).split(' ')[0];

describe('a staged tree', () => {
  it('shows what the commit of its changes will hold', async () => {
    const { repository, gitDir } = await fresh();
    const { commit, result } = await repository.write({
      branch: 'main',
      author: writerOne,
      plan: async (head) => {
        const first = [{ path: 'a/three.md', content: content('3') }];
        const second = [
          { path: 'a/three.md', content: null },
          { path: 'b/three.md', content: content('3') },
        ];
        const staged = await (await head.with(first)).with(second);
        const paths = (await staged.files()).map((file) => file.path);
        return { changes: second, message: 'm', result: { tree: staged.tree, commit: staged.commit, paths } };
      },
    });
    expect(result).toEqual({ tree: commit?.tree_sha, commit: null, paths: ['a/one.md', 'a/two.md', 'b/three.md'] });
    fsck(gitDir);
  });

  it('streams stored and staged contents in the requested order', async () => {
    const { repository } = await fresh();
    const { result } = await repository.write({
      branch: 'main',
      author: writerOne,
      plan: async (head) => {
        const staged = await head.with([{ path: 'a/new.md', content: content('new') }]);
        const files = await staged.files();
        const wanted = ['a/two.md', 'a/new.md', 'a/one.md', 'a/new.md'];
        const oids = wanted.map((path) => files.find((file) => file.path === path)?.oid ?? '');
        const texts: string[] = [];
        for await (const blob of staged.blobs(oids)) texts.push(blob.content.toString());
        return { changes: [], message: 'm', result: texts };
      },
    });
    expect(result).toEqual(['2', 'new', '1', 'new']);
  });

  it('stores nothing that no commit names', async () => {
    const { repository, gitDir } = await fresh();
    const before = objects(gitDir);
    const { commit } = await repository.write({
      branch: 'main',
      author: writerOne,
      plan: async (head) => {
        await head.with([{ path: 'a/lost.md', content: content('lost') }]);
        return { changes: [], message: 'm', result: null };
      },
    });
    expect(commit).toBeNull();
    expect(objects(gitDir)).toBe(before);
  });

  it('can take back what was laid over it, and so can writers that wait together', async () => {
    const { repository, gitDir } = await fresh();
    const write = (text: string) =>
      repository.write({
        branch: 'main',
        author: writerOne,
        plan: async (head) => {
          const paths = (await head.files()).map((file) => file.path);
          return { changes: [{ path: 'a/one.md', content: content(text) }], message: text, result: paths };
        },
      });
    const answers = await Promise.all(['x', '1', 'x', '1'].map(write));
    expect(answers.map(({ result }) => result)).toEqual(Array(4).fill(['a/one.md', 'a/two.md']));
    expect((await answers.at(-1)?.snapshot.files())?.map((file) => file.path)).toEqual(['a/one.md', 'a/two.md']);
    fsck(gitDir);
  });

  it('refuses what the commit would refuse', async () => {
    const { repository } = await fresh();
    const plan = repository.write({
      branch: 'main',
      author: writerOne,
      plan: async (head) => {
        await head.with([{ path: 'a', content: content('x') }]);
        return { changes: [], message: 'm', result: null };
      },
    });
    await expect(plan).rejects.toMatchObject({ code: 'name_collision' });
  });
});
