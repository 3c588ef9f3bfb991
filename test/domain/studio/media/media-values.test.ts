import { expect, it } from 'vitest';
import type { SiteIndex } from '../../../../src/domain/studio/content/site-index.ts';
import { lookUpMedia } from '../../../../src/domain/studio/media/media-values.ts';
import type { CollectionSchema } from '../../../../src/domain/studio/schema/collection-schema.ts';
import type { Snapshot } from '../../../../src/ports/git-records.ts';
import { iterationsDuring } from '../../../support/loop-iterations.ts';

const site = {
  discovery: { contentRoot: '', mediaRoots: [{ path: 'public', public_path: '/' }] },
} as unknown as SiteIndex;

/** A tree of one file that remembers the places it was searched for. */
function treeOf(file: string) {
  const looked: string[] = [];
  const tree = {
    lookup: async (path: string) => {
      looked.push(path);
      return { entry: path === file ? { name: path, mode: '100644', oid: '1' } : null, blocked: null };
    },
  } as unknown as Snapshot;
  return { looked, tree };
}

const deep = (segments: number, name: string) => `/${'a/'.repeat(segments)}${name}`;
const lookUp = (tree: Snapshot, values: string[]) =>
  lookUpMedia({ tree, site }, {} as CollectionSchema, ['posts/a.md'], values);

it('looks for no more ends of a URL than a path can be deep', async () => {
  const { looked, tree } = treeOf('public/images/two.png');
  const mayStand = await lookUp(tree, [deep(2_000, 'missing.png')]);
  expect(mayStand(deep(2_000, 'missing.png'))).toBe(false);
  expect(looked.length).toBeLessThan(70);
  expect(looked).toContain('public/a/missing.png');
});

it('finds a file by a URL that has more in front of it than a path can be deep', async () => {
  const url = deep(2_000, 'images/two.png');
  expect((await lookUp(treeOf('public/images/two.png').tree, [url]))(url)).toBe(true);
});

it('lets others have their turn while many values are looked up', async () => {
  const values = Array.from({ length: 1_000 }, (_, at) => deep(60, `${at}.png`));
  const { tree } = treeOf('');
  expect(await iterationsDuring(() => lookUp(tree, values))).toBeGreaterThan(3);
});

it('goes through the files of a tree once, for however many entries', async () => {
  let gone = 0;
  const file = {
    mode: '100644',
    oid: '1',
    get path() {
      gone += 1;
      return 'public/a.png';
    },
  };
  const tree = { ...treeOf('').tree, files: async () => [file] } as unknown as Snapshot;
  for (let entry = 0; entry < 3; entry += 1) await lookUp(tree, ['~/a.png']);
  expect(gone).toBe(1);
});
