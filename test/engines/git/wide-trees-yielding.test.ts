import { expect, it, vi } from 'vitest';
import { Tree } from '../../../src/engines/git/objects/tree-codec.ts';
import { save, testStore } from '../../support/git-store.ts';
import { iterationsDuring } from '../../support/loop-iterations.ts';
import { oidOf, treeOf } from '../../support/packs.ts';

const count = 4_000;
const names = Array.from({ length: count }, (_, n) => `f${String(n).padStart(5, '0')}.md`);

/** A repository whose root holds many files and no directory. */
async function wide() {
  const { store } = testStore();
  const repository = await store.create('site', 'main');
  await save(repository, Object.fromEntries(names.map((name) => [name, `of ${name}`])));
  return { repository, snapshot: await repository.snapshot((await repository.head('main')) ?? '') };
}

it('a directory of many files is listed in many steps', async () => {
  const { snapshot } = await wide();
  const listed = iterationsDuring(async () => {
    expect((await snapshot.files()).map(({ path }) => path)).toEqual(names);
  });
  expect(await listed).toBeGreaterThan(count / 40);
  const read = iterationsDuring(async () => {
    expect((await snapshot.directory('')).map(({ name }) => name)).toEqual(names);
  });
  expect(await read).toBeGreaterThan(count / 40);
});

it('names of a wide directory are held against each other in many steps', async () => {
  const { snapshot } = await wide();
  const compared = iterationsDuring(async () => {
    expect(await snapshot.newCollision([null])).toBeNull();
  });
  // Its entries, those that differ, and what is alike to each of them.
  expect(await compared).toBeGreaterThan((2 * count) / 40);
});

it('a name is held against those of a wide directory in many steps', async () => {
  const { snapshot } = await wide();
  const compared = iterationsDuring(async () => {
    expect(await snapshot.alike('', 'F00001.md')).toMatchObject([{ name: 'f00001.md' }]);
  });
  expect(await compared).toBeGreaterThan(count / 40);
});

it('the bytes of a large tree are read in many steps', async () => {
  const { content } = treeOf({ [`a${'a'.repeat(300_000)}`]: oidOf('blob', Buffer.from('x')) });
  const large = Buffer.concat(Array<Buffer>(100).fill(content));
  const read = iterationsDuring(async () => {
    expect((await Tree.read(large, 20)).size).toBe(100);
  });
  expect(await read).toBeGreaterThan(4);
});

it('the sizes of many objects are collected in many steps', async () => {
  const { repository, snapshot } = await wide();
  const oids = (await snapshot.files()).map(({ oid }) => oid);
  const requested = iterationsDuring(async () => {
    const sizes = await repository.sizes([...oids, '0'.repeat(40)]);
    expect(sizes).toEqual([...names.map((name) => `of ${name}`.length), null]);
  });
  expect(await requested).toBeGreaterThan(count / 40);
});

it('trees that differ in many names are compared in many steps', async () => {
  const entry = (name: string, at: number) =>
    [name, { name, mode: '100644', oid: oidOf('blob', Buffer.from(`${at}`)) }] as const;
  const before = Tree.empty(20).edit(new Map(names.map((name) => entry(name, 1))));
  const after = Tree.empty(20).edit(new Map(names.map((name) => entry(name, 2))));
  const compared = iterationsDuring(async () => {
    expect(await after.changesFrom(before, count)).toHaveLength(count);
  });
  expect(await compared).toBeGreaterThan(count / 40);
});

it('a tree that differs in more names than are wanted is left at the first of them', async () => {
  const { repository, snapshot } = await wide();
  const before = await repository.snapshot(null);
  expect(await snapshot.changesSince(before.tree, count)).toHaveLength(count);
  const counted = vi.spyOn(Tree.prototype, 'changesFrom');
  expect(await snapshot.changesSince(before.tree, 100)).toBeNull();
  expect(await Promise.all(counted.mock.results.map(({ value }) => value))).toEqual([null]);
  counted.mockRestore();
});
