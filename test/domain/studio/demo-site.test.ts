import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import type { CollectionIndex } from '../../../src/domain/studio/content/collection-index.ts';
import { factsOf } from '../../../src/domain/studio/content/entry-facts.ts';
import { buildSite, type SiteIndex } from '../../../src/domain/studio/content/site-index.ts';
import { namesEntries, referenceIds } from '../../../src/domain/studio/entries/references.ts';
import { discoverSchemas } from '../../../src/domain/studio/schema/discover.ts';
import { validateEntry } from '../../../src/domain/studio/schema/validate.ts';

// The site every first start imports, as a user's repository would be read.
const demo = path.resolve(import.meta.dirname, '../../../demo');
const contents = new Map<string, Buffer>();
let site: SiteIndex;

const factsAt = (place: string) => factsOf(contents.get(place) ?? Buffer.alloc(0), place);

beforeAll(async () => {
  const notInGit = /(^|\/)(node_modules|dist|\.astro)\//;
  for (const item of await readdir(demo, { recursive: true, withFileTypes: true })) {
    const place = path.relative(demo, path.join(item.parentPath, item.name));
    if (item.isFile() && !notInGit.test(place)) contents.set(place, await readFile(path.join(demo, place)));
  }
  const files = [...contents.keys()].map((place, at) => {
    return { path: place, oid: String(at).padStart(40, '0'), mode: '100644' as const };
  });
  const found = await discoverSchemas(
    { paths: files, read: async (place) => contents.get(place)?.toString('utf8') ?? null },
    {
      sampleEntries: async (places) =>
        places.map((place) => ({ path: place, frontmatter: factsAt(place).frontmatter })),
    },
  );
  site = await buildSite(found, '', files);
});

const entriesOf = (collection: string) => site.collection(collection).entries;

/** Translation keys of a language, sorted. */
const keysIn = (collection: string, locale: string) =>
  entriesOf(collection)
    .filter((entry) => entry.locale === locale)
    .map((entry) => entry.translation_key)
    .sort();

describe('the demo site', () => {
  it('has three collections, each with the schema it declares, and nothing to warn of', () => {
    expect([...site.collections.keys()]).toEqual(['authors', 'pages', 'posts']);
    for (const { schema, warnings } of site.collections.values())
      expect({ inferred: schema.inferred, warnings }).toEqual({ inferred: false, warnings: [] });
    expect(site.discovery.warnings).toEqual([]);
    expect(site.collection('posts').schema.fields.map(({ name }) => name)).toContain('related');
  });

  it.each(['posts', 'pages'])('has %s in two languages, and every German one translates an English one', (name) => {
    expect(entriesOf(name).map(({ locale, slug }) => [locale, slug.split('/')[0]])).toEqual(
      entriesOf(name).map(({ slug }) => [slug.split('/')[0], slug.split('/')[0]]),
    );
    const german = keysIn(name, 'de');
    expect(german.length).toBeGreaterThanOrEqual(3);
    expect(keysIn(name, 'en')).toEqual(expect.arrayContaining(german));
    expect(keysIn(name, 'en').length).toBeGreaterThan(german.length);
  });

  it('has what an editor is to be tried on: a draft, nested slugs, the post that README.md changes', () => {
    const posts = entriesOf('posts');
    expect(posts.filter((entry) => factsAt(entry.path).draft).map(({ slug }) => slug)).toEqual(['en/plans-for-a-pond']);
    expect(posts.map(({ slug }) => slug)).toEqual(
      expect.arrayContaining(['en/first-frost', 'de/first-frost', 'en/winter/hellebores-at-dusk']),
    );
    expect(entriesOf('pages').map(({ slug }) => slug)).toContain('en/guides');
  });

  it('has only valid entries, whose references lead to entries', async () => {
    const names = (index: CollectionIndex) => index.entries.flatMap((entry) => referenceIds(index.schema, entry));
    const references = (collection: string, id: string) => {
      const target = site.collection(collection);
      return namesEntries(target.schema) && names(target).includes(id);
    };
    const faults = [];
    for (const { schema, entries } of site.collections.values())
      for (const entry of entries) {
        const { error, frontmatter } = factsAt(entry.path);
        const { errors, warnings } = await validateEntry(schema, frontmatter ?? {}, { references });
        faults.push(...[error, ...errors, ...warnings].flatMap((fault) => (fault ? [[entry.path, fault]] : [])));
      }
    expect(faults).toEqual([]);
  });
});
