import { describe, expect, it } from 'vitest';
import { CollectionIndex, entryIn } from '../../../../src/domain/studio/content/collection-index.ts';
import type { SiteIndex } from '../../../../src/domain/studio/content/site-index.ts';
import { visitReferences } from '../../../../src/domain/studio/entries/references.ts';
import { invalidEntries } from '../../../../src/domain/studio/entries/validate.ts';
import type { CollectionSchema } from '../../../../src/domain/studio/schema/collection-schema.ts';
import type { StudioContext } from '../../../../src/domain/studio/studio.ts';
import type { Repository } from '../../../../src/ports/git.ts';
import type { Snapshot } from '../../../../src/ports/git-records.ts';
import fc from '../../../support/properties.ts';
import { uncachedIndex } from './reading.ts';

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

describe('facts of all files of a collection', () => {
  const git = { id: 'r' } as Repository;
  /** Half a megabyte in memory. */
  const text = 'x'.repeat(260_000);

  /** Long entries with the given blobs, and the blobs that were read. */
  async function longEntries(oids: readonly string[]) {
    const read: string[] = [];
    const contentOf = (oid: string) => {
      read.push(oid);
      return Buffer.from(`{"title": "${oid}", "other": "${oid}", "text": "${text}"}\n`);
    };
    const snapshot = {
      tree: 't',
      treeOid: async () => 't',
      blob: async (oid: string) => contentOf(oid),
      async *blobs(wanted: readonly string[]) {
        for (const oid of wanted) yield { oid, content: contentOf(oid) };
      },
    } as unknown as Snapshot;
    const relation = { collection: 'posts', field: 'slug' };
    const fields = [{ name: 'other', type: 'reference', required: false, list: false, relation }];
    const schema = { ...collection('posts', false), source: { kind: 'hugo' }, inferred: true, fields, warnings: [] };
    const files = oids.map((oid, at) => ({ path: `posts/${String(at).padStart(4, '0')}.md`, oid, mode: '100644' }));
    const index = await CollectionIndex.of(schema as unknown as CollectionSchema, files);
    const site = { schemaKey: 'k', collections: new Map([['posts', index]]) } as unknown as SiteIndex;
    const content = uncachedIndex();
    const context = { git, studio: { content } } as unknown as StudioContext;
    return { read, snapshot, index, site, content, context };
  }

  /** Files that 16 MiB have room for. */
  const mostHeld = Math.ceil((16 * 1024 * 1024) / text.length);
  const many = Array.from({ length: 222 }, (_, at) => `o${at}`);

  /** Has the content count how many files have been read, at most, before the facts of the last ones were used. */
  function watched({ content, read }: Awaited<ReturnType<typeof longEntries>>) {
    const count = { ahead: 0, used: 0 };
    for (const name of ['eachFacts', 'eachListed'] as const) {
      const each = content[name].bind(content);
      content[name] = async function* (...given) {
        for await (const facts of each(...given)) {
          count.ahead = Math.max(count.ahead, read.length - count.used);
          yield facts;
          count.used += 1;
        }
      };
    }
    return count;
  }

  it('are read once for all files with the same content', async () => {
    const { read, snapshot, index, content } = await longEntries(Array(300).fill('same'));
    const facts = await content.listedFacts(git, snapshot, index.entries);
    expect(facts.map(({ title }) => title)).toEqual(Array(300).fill('same'));
    expect(read).toEqual(['same']);
  });

  it('are not held together where the entries that break a schema are looked for', async () => {
    const entries = await longEntries(many);
    const { read, snapshot, index, site, context } = entries;
    const count = watched(entries);
    expect(await invalidEntries(context, { snapshot, site }, index)).toEqual([]);
    expect(count).toEqual({ ahead: mostHeld, used: many.length });
    expect(read).toEqual(many);
  });

  it('are not held together where references are looked for, which come in the order of the entries', async () => {
    const entries = await longEntries(many);
    const { read, snapshot, site, context } = entries;
    const count = watched(entries);
    const found: string[] = [];
    const named = { collection: 'posts', ids: new Set(many) };
    await visitReferences(context, { tree: snapshot, site }, [named], ({ id }) => found.push(id));
    expect(found).toEqual(many);
    expect(count).toEqual({ ahead: mostHeld, used: many.length });
    expect(read).toEqual(many);
  });

  it('are too much to choose by where they take more than 512 MiB, which is known from then on', async () => {
    const fits = await longEntries(Array(1_000).fill('same'));
    expect(await fits.content.collectionFacts(git, fits.snapshot, fits.index)).toHaveLength(1_000);
    const { read, snapshot, index, content } = await longEntries(Array(1_100).fill('same'));
    for (let time = 0; time < 2; time += 1)
      await expect(content.collectionFacts(git, snapshot, index)).rejects.toThrow(
        'The frontmatter of the collection posts takes more than 512 MiB: too much for its entries to be chosen and ordered by',
      );
    expect(read.length).toBeLessThan(5);
  });
});
