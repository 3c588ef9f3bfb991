import { describe, expect, it } from 'vitest';
import { CollectionIndex, entryIn } from '../../../../src/domain/studio/content/collection-index.ts';
import type { CollectionSchema } from '../../../../src/domain/studio/schema/collection-schema.ts';
import fc from '../../../support/properties.ts';

const locales = { codes: ['en', 'fr'], default: 'en', placement: 'directory', default_unmarked: true } as const;

const collection = (path: string, isLocalised: boolean) =>
  ({
    collection: 'posts',
    path,
    slugs: { extensions: ['md', 'mdx'], index_names: ['index', '_index'], locales: isLocalised ? locales : null },
    matches: () => true,
  }) as unknown as CollectionSchema;

/** Few names, so that files fold into one another, differ in their extensions only, and are called like others' stems. */
const segment = fc.constantFrom('a', 'b', 'index', '_index', 'a.md', 'fr', 'a.fr', '.a');
const extension = fc.constantFrom('', '.md', '.mdx', '.MD', '.html');
const file = fc
  .tuple(fc.array(segment, { minLength: 1, maxLength: 3 }), extension)
  .map(([segments, end]) => `${segments.join('/')}${end}`);
const oid = fc.constantFrom('1', '2');
const files = fc.uniqueArray(fc.record({ path: file, oid }), { maxLength: 14, selector: ({ path }) => path });
const changes = fc.array(fc.tuple(file, fc.option(oid)), { maxLength: 5 });

describe('an index after changes', () => {
  it('is the one that the files would have from scratch', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom('', 'src/posts'),
        fc.boolean(),
        files,
        changes,
        async (path, isLocalised, list, wanted) => {
          const schema = collection(path, isLocalised);
          const place = (name: string) => (path === '' ? name : `${path}/${name}`);
          const before = new Map(list.map((each) => [place(each.path), each.oid]));
          const after = new Map(before);
          const isTree = (files: Map<string, string>) =>
            ![...files.keys()].some((one) => [...files.keys()].some((other) => other.startsWith(`${one}/`)));
          for (const [name, now] of wanted) {
            if (now === null) after.delete(place(name));
            else after.set(place(name), now);
          }
          // A name is a file or a directory.
          fc.pre(isTree(before) && isTree(after));
          const indexOf = (of: Map<string, string>) =>
            CollectionIndex.of(
              schema,
              [...of].map(([at, now]) => ({ path: at, oid: now })),
            );
          const edits = new Map(wanted.map(([name, now]) => [place(name), now === null ? null : { oid: now }]));
          const [changed, made] = [await (await indexOf(before)).with(edits), await indexOf(after)];
          expect([changed.size, changed.entries, changed.warnings]).toEqual([made.size, made.entries, made.warnings]);
          for (const entry of changed.entries) {
            expect(changed.find(entry.slug)).toBe(entry);
            expect(changed.at(entry.path)).toBe(entry);
          }
          expect(changed.find('nothing')).toBeUndefined();
        },
      ),
      { numRuns: 3000 },
    );
  });

  it('begins anew when very many files come', async () => {
    const schema = collection('', false);
    const coming = Array.from({ length: 501 }, (_, at) => `new-${at}.md`);
    const old = await CollectionIndex.of(schema, [{ path: 'old.md', oid: '1' }]);
    const changed = await old.with(new Map(coming.map((path) => [path, { oid: '2' }])));
    expect(changed.entries).toHaveLength(502);
    expect(entryIn(changed, 'new-500')).toEqual({ slug: 'new-500', path: 'new-500.md', oid: '2' });
  });
});

describe('entryIn', () => {
  it('refuses what is no slug of the collection', async () => {
    const index = await CollectionIndex.of(collection('posts', false), [{ path: 'posts/a/index.md', oid: '1' }]);
    expect(entryIn(index, 'a').path).toBe('posts/a/index.md');
    expect(() => entryIn(index, 'a/index')).toThrow('posts has no entry a/index');
  });
});
