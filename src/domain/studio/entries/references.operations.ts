import { z } from 'zod';
import { maxPerPage, pageFrom, pageInput, pageOf, windowOf } from '../../../kernel/paging.ts';
import { mapYielding } from '../../../lib/concurrency.ts';
import { entryIn, type IndexedEntry } from '../content/collection-index.ts';
import type { SiteIndex } from '../content/site-index.ts';
import { pageSnapshot, refInput, snapshotOf } from '../repository/refs.ts';
import { entryRoutes, urlMember } from '../routes/entry-routes.ts';
import { labelAt } from '../schema/json-schema.ts';
import { studioOperation } from '../studio-operation.ts';
import { entrySummary } from './entries.schema.ts';
import { firstRelations, namedIn, type Reference, type Relation, visitReferences } from './references.ts';
import { pageRecords, summaryOf, titlesOf } from './saved-entry.ts';
import { entryNamed } from './validate.ts';

/** Relations of one entry that are listed. */
const mostRelations = 500;

/** Several entries of one collection. */
export const entriesInput = {
  collection: z.string(),
  slugs: z.array(z.string()).max(maxPerPage, `must be at most ${maxPerPage}`),
  ...refInput,
};

const relation = {
  field: z.string().describe('JSON Pointer into the frontmatter'),
  label: z.string().describe('What the schema calls the field, as `Author › Name`'),
  required: z.boolean(),
  id: z.string().describe('The text that names the entry'),
};

/** A relation of an entry, and the entry it leads to. */
export const entryReference = z
  .object({
    ...relation,
    collection: z.string().describe('Collection of the entry that is named'),
    slug: z.string().nullable().describe('null: there is no such entry'),
    path: z.string().nullable(),
    title: z.string().nullable(),
  })
  .meta({ id: 'EntryReference' });

function resolve({ collections }: SiteIndex, { collection, ...found }: Relation) {
  const index = collections.get(collection);
  const target = index && entryNamed(index, found.id);
  return { ...found, collection, slug: target?.slug ?? null, path: target?.path ?? null };
}

export const listReferences = studioOperation({
  name: 'studio.listReferences',
  kind: 'query',
  permission: 'browse_studio',
  notInSteps: true,
  summary: `Entries that entries of a collection name in their relations, for each in the order of the input; the first ${mostRelations} of each`,
  input: z.object(entriesInput),
  output: z.array(z.array(entryReference)),
  async execute({ git, studio }, { collection, slugs, ...at }) {
    const snapshot = await snapshotOf(git, at);
    const site = await studio.content.site(git, snapshot);
    const index = site.collection(collection);
    const places = slugs.map((slug) => entryIn(index, slug));
    const named: ReturnType<typeof resolve>[][] = [];
    for await (const { frontmatter } of studio.content.eachFacts(git, snapshot, places)) {
      const relations = await firstRelations(index.schema.fields, frontmatter, mostRelations);
      named.push(await mapYielding(relations, (found) => resolve(site, found)));
    }
    const targets = named
      .flat()
      .flatMap(({ collection, slug, path }) => (slug && path ? [{ collection, slug, path }] : []));
    const titles = await titlesOf({ git, studio }, { tree: snapshot, site }, targets);
    const byPath = new Map(targets.map(({ path }, at) => [path, titles[at] ?? null]));
    const shown = (each: ReturnType<typeof resolve>) => ({
      ...each,
      label: labelAt(index.schema, each.field),
      title: each.path === null ? null : (byPath.get(each.path) ?? null),
    });
    const listed: ReturnType<typeof shown>[][] = [];
    for (const found of named) listed.push(await mapYielding(found, shown));
    return listed;
  },
});

const referrer = z
  .object({ ...relation, collection: z.string(), slug: z.string(), path: z.string(), title: z.string() })
  .meta({ id: 'EntryReferrer' });

export const listReferrers = studioOperation({
  name: 'studio.listReferrers',
  kind: 'query',
  permission: 'browse_studio',
  notInSteps: true,
  summary: 'Entries that name one entry in their relations',
  input: z.object({
    collection: z.string(),
    entry: z.string().describe('Slug of the entry'),
    ...refInput,
    ...pageInput,
  }),
  output: pageOf(referrer),
  async execute({ git, studio }, { collection, entry, ...input }) {
    const window = windowOf(input);
    const tree = await pageSnapshot(git, window, input);
    const site = await studio.content.site(git, tree);
    const { slug } = entryIn(site.collection(collection), entry);
    const page: Reference[] = [];
    let total = 0;
    await visitReferences({ git, studio }, { tree, site }, [namedIn(site, { collection, slug })], (reference) => {
      if (total >= window.offset && page.length < window.limit) page.push(reference);
      total += 1;
    });
    const titles = await titlesOf({ git, studio }, { tree, site }, page);
    const items = page.map((each, at) => ({
      ...each,
      label: labelAt(site.collections.get(each.collection)?.schema, each.field),
      title: titles[at] ?? each.slug,
    }));
    return pageFrom(items, total, window, tree.commit);
  },
});

export const listReferrersOfEntries = studioOperation({
  name: 'studio.listReferrersOfEntries',
  kind: 'query',
  permission: 'browse_studio',
  notInSteps: true,
  summary: `Entries that name any of some entries in their relations and are none of these themselves; the first ${maxPerPage}, those whose field is required before others`,
  input: z.object(entriesInput),
  output: z.array(
    referrer.extend({ named: z.string().describe('Slug of the entry that is named') }).meta({ id: 'EntryUse' }),
  ),
  async execute({ git, studio }, { collection, slugs, ...at }) {
    const tree = await snapshotOf(git, at);
    const site = await studio.content.site(git, tree);
    const index = site.collection(collection);
    const entries = slugs.flatMap((slug) => index.find(slug) ?? []);
    const own = new Set(entries.map(({ path }) => path));
    const slugById = new Map(
      entries.flatMap(({ slug }) => [...namedIn(site, { collection, slug }).ids].map((id) => [id, slug] as const)),
    );
    // An entry may name all of these many times over in a field that does not matter.
    const [required, others]: [Reference[], Reference[]] = [[], []];
    const targets = [{ collection, ids: new Set(slugById.keys()) }];
    await visitReferences({ git, studio }, { tree, site }, targets, (reference) => {
      const kept = reference.required ? required : others;
      if (kept.length < maxPerPage && !own.has(reference.path)) kept.push(reference);
    });
    const uses = [...required, ...others]
      .slice(0, maxPerPage)
      .map((use) => ({ ...use, named: slugById.get(use.id) ?? use.id }));
    const titles = await titlesOf({ git, studio }, { tree, site }, uses);
    return uses.map((use, n) => ({
      ...use,
      label: labelAt(site.collections.get(use.collection)?.schema, use.field),
      title: titles[n] ?? use.slug,
    }));
  },
});

export const listTranslations = studioOperation({
  name: 'studio.listTranslations',
  kind: 'query',
  permission: 'browse_studio',
  notInSteps: true,
  summary: 'The same entries in other languages, for each in the order of the input',
  input: z.object({ ...entriesInput, frontmatter: z.boolean().describe('With their frontmatter') }),
  output: z.array(z.array(entrySummary)),
  async execute(context, { collection, slugs, frontmatter, ...at }) {
    const { git, studio, signal } = context;
    const snapshot = await snapshotOf(git, at);
    const routes = await entryRoutes(context, snapshot);
    const site = await studio.content.site(git, snapshot);
    const index = site.collection(collection);
    const entries = slugs.map((slug) => entryIn(index, slug));
    const keys = new Set(entries.map((entry) => entry.translation_key));
    const byKey = Map.groupBy(
      index.entries.filter(({ translation_key: key }) => key !== undefined && keys.has(key)),
      (entry) => entry.translation_key,
    );
    const others = ({ path, translation_key }: IndexedEntry) =>
      (byKey.get(translation_key) ?? []).filter((entry) => entry.path !== path);
    const groups = entries.map(others);
    const records = await pageRecords(context, snapshot, groups.flat(), (place, known) => {
      signal.throwIfAborted();
      return {
        ...summaryOf(collection, place, known, frontmatter ? undefined : []),
        ...urlMember(routes, collection, place, known.frontmatter),
      };
    });
    return groups.map(({ length }) => records.splice(0, length));
  },
});
