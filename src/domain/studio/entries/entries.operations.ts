import { z } from 'zod';
import { DomainError, fieldError } from '../../../kernel/errors.ts';
import { pageFrom, pageInput, pageOf, windowOf } from '../../../kernel/paging.ts';
import type { Snapshot } from '../../../ports/git-records.ts';
import { type CollectionIndex, type IndexedEntry, storedEntry } from '../content/collection-index.ts';
import { factsWithout } from '../content/entry-facts.ts';
import { searchWords } from '../content/search.ts';
import type { SiteIndex } from '../content/site-index.ts';
import { soundBlobs } from '../content/stored/fact-store.ts';
import { openFile, parseFile } from '../frontmatter/parse-file.ts';
import { mediaReferences } from '../media/media-references.ts';
import { pageSnapshot, refInput, snapshotOf } from '../repository/refs.ts';
import { addressMembers, entryRoutes, urlMember } from '../routes/entry-routes.ts';
import type { StudioContext } from '../studio.ts';
import { studioOperation } from '../studio-operation.ts';
import { passingTag, viewOf } from '../view.ts';
import { entry, entrySummary } from './entries.schema.ts';
import { isByHistory, orderEntries, selectionInput, selectionOf } from './entry-selection.ts';
import { ownFiles } from './own-files.ts';
import { entryOf, pageRecords, summaryOf } from './saved-entry.ts';
import { faultsOf } from './validate.ts';

const listInput = z.object({
  collection: z.string(),
  ...refInput,
  ...pageInput,
  ...selectionInput,
  fields: z
    .array(z.string().max(200))
    .max(100)
    .optional()
    .describe('Frontmatter keys to return; a dotted name is a key of an object inside'),
  include: z
    .array(z.enum(['body', 'updated']))
    .max(2)
    .optional(),
});

/** Bytes of the files whose bodies one page holds. */
const bodiesLimit = 16 * 1024 * 1024;

/** Whether the body of an entry is on a page, by its size: once there is no more room for bodies, the rest are left out. */
function bodyRoom(): (item: { size: number }) => boolean {
  let left = bodiesLimit;
  return ({ size }) => {
    left -= size;
    return left >= 0;
  };
}

/** Adds what `include` asks for to a page of summaries; room has been taken for bodies. */
async function include(
  { git, studio }: Pick<StudioContext, 'git' | 'studio'>,
  snapshot: Snapshot,
  items: z.output<typeof entrySummary>[],
  places: readonly IndexedEntry[],
  wanted: readonly string[],
): Promise<void> {
  if (wanted.includes('body')) {
    const hasRoom = bodyRoom();
    const read: { item: z.output<typeof entrySummary>; place: IndexedEntry }[] = [];
    for (const [at, item] of items.entries()) {
      const place = places[at];
      if (!place) continue;
      if (hasRoom(item)) read.push({ item, place });
      else item.truncated = true;
    }
    const oids = read.map(({ place }) => place.oid);
    let at = 0;
    for await (const content of soundBlobs(snapshot, oids)) {
      const found = read[at];
      at += 1;
      if (!found) continue;
      const { item, place } = found;
      if (content instanceof DomainError) Object.assign(item, { error: factsWithout(content).error });
      else item.body = parseFile(content, place.path).body;
    }
  }
  if (wanted.includes('updated') && snapshot.commit) {
    const last = await studio.content.lastCommits(
      git,
      snapshot.commit,
      places.map((place) => place.path),
    );
    for (const item of items) {
      const commit = last.get(item.path);
      if (commit) Object.assign(item, { updated_at: commit.committer.date, updated_by: commit.author.name });
    }
  }
}

export const listEntries = studioOperation({
  name: 'studio.listEntries',
  kind: 'query',
  permission: 'browse_studio',
  summary: 'List entries of a collection',
  input: listInput,
  output: pageOf(entrySummary),
  async execute(context, input) {
    const { git, studio, tag } = context;
    // First of all: what others are just reading is shared, and may have been found damaged by then.
    const damage = studio.content.damage(git);
    const window = windowOf(input);
    const selection = selectionOf(input);
    const snapshot = await pageSnapshot(git, window, input);
    const site = await studio.content.site(git, snapshot);
    const index = site.collection(input.collection);
    const tree = await snapshot.treeOid(index.schema.path);
    const routes = await entryRoutes(context, snapshot);
    const { collection, page, per_page, after, fields, include: wanted = [] } = input;
    const shape = { collection, page, per_page, after, fields, wanted };
    // What is invalid depends on other collections too.
    const content = selection.invalid ? snapshot.tree : tree;
    const scope = isByHistory(selection) ? (snapshot.commit ?? content) : content;
    const state = wanted.includes('updated') ? snapshot.commit : scope;
    if (state) tag(`"${state}.${viewOf([site.schemaKey + routes.key, selection, shape])}"`);
    const list = {
      list: `${site.schemaKey}:${JSON.stringify([collection, selection])}`,
      tree: scope,
      entries: index.entries,
    };
    const ordered = await studio.content.listOrder(git, list, (before) =>
      orderEntries(context, { snapshot, site }, index, selection, before),
    );
    const places = ordered.slice(window.offset, window.offset + window.limit);
    const hasRoom = bodyRoom();
    const items = await pageRecords(
      context,
      snapshot,
      places,
      async (place, known) => ({
        ...summaryOf(collection, place, known, fields),
        ...urlMember(routes, collection, place, known.frontmatter),
        ...(selection.invalid && { faults: await faultsOf(site, index.schema, known) }),
      }),
      (item) => (wanted.includes('body') && hasRoom(item) ? item.size : 0),
    );
    await include(context, snapshot, items, places, wanted);
    const isWhole = items.every(({ error }) => error?.code !== 'unreadable');
    if (!isWhole || studio.content.damage(git) !== damage) tag(passingTag());
    return pageFrom(items, ordered.length, window, snapshot.commit);
  },
});

/** The own files of an entry, each with the other entries that name it. */
async function ownFilesOf(
  at: { tree: Snapshot; site: SiteIndex; base: string },
  index: CollectionIndex,
  place: IndexedEntry,
) {
  const files = (await ownFiles(at, index, place)).map((file) => file.path);
  const found = files.length > 0 ? await mediaReferences(at, files) : [];
  return files.map((path, n) => ({
    path,
    references: (found[n] ?? []).filter((reference) => reference.path !== place.path),
  }));
}

export const locateEntry = studioOperation({
  name: 'studio.locateEntry',
  kind: 'query',
  permission: 'browse_studio',
  notInSteps: true,
  summary: 'The version of an entry, of which nothing is read',
  input: z.object({ collection: z.string(), entry: z.string().describe('Slug of the entry'), ...refInput }),
  output: entry.pick({ sha: true }),
  async execute({ git, studio }, { collection, entry: slug, ...at }) {
    const site = await studio.content.site(git, await snapshotOf(git, at));
    return { sha: storedEntry(site.collection(collection), slug).oid };
  },
});

export const getEntry = studioOperation({
  name: 'studio.getEntry',
  kind: 'query',
  permission: 'browse_studio',
  summary: 'Get entry',
  input: z.object({
    collection: z.string(),
    entry: z.string().describe('Slug of the entry'),
    ...refInput,
    raw: z.boolean().optional().describe('Adds the whole file as text'),
    include: z
      .array(z.enum(['faults', 'own_files']))
      .max(2)
      .optional(),
  }),
  output: entry,
  async execute(context, { collection, entry: slug, raw, include: wanted = [], ...at }) {
    const { git, studio, tag, room } = context;
    const snapshot = await snapshotOf(git, at);
    const site = await studio.content.site(git, snapshot);
    const index = site.collection(collection);
    const place = storedEntry(index, slug);
    const routes = await entryRoutes(context, snapshot);
    // What is wrong with it, and who else names its files, depends on other entries too.
    const scope = wanted.length > 0 ? [snapshot.tree] : [];
    tag(`"${place.oid}.${viewOf([site.schemaKey + routes.key, place.slug, raw, ...scope])}"`);
    const [size] = await git.sizes([place.oid]);
    await room((raw ? 2 : 1) * (size ?? 0));
    const content = await snapshot.blob(place.oid);
    const record = entryOf(index, place, openFile(content, place.path), { raw });
    const faults = wanted.includes('faults') ? { faults: await faultsOf(site, index.schema, record) } : {};
    const files = wanted.includes('own_files')
      ? { own_files: await ownFilesOf({ tree: snapshot, site, base: routes.base }, index, place) }
      : {};
    return { ...record, ...faults, ...files, ...addressMembers(routes, index.schema, place, record.frontmatter) };
  },
});

/** What selects entries of one collection alone, by its fields and directories. */
const ofOneCollection = ['sort', 'filter', 'draft', 'locale', 'invalid', 'dir', 'depth'] as const;

export const searchEntries = studioOperation({
  name: 'studio.searchEntries',
  kind: 'query',
  permission: 'browse_studio',
  notInSteps: true,
  summary: 'Find entries of all collections by their words, or of one as its list does',
  input: z.object({
    collection: z.string().optional().describe('Only its entries; then `q` may be absent'),
    ...selectionInput,
    ...refInput,
    ...pageInput,
  }),
  output: pageOf(entrySummary),
  async execute(context, { collection, ...input }) {
    if (collection !== undefined) return listEntries.execute(context, { collection, ...input });
    const { q, ...others } = input;
    if (!q?.trim()) throw fieldError('invalid_request', 'q', 'must not be empty, unless `collection` is given');
    const needless = ofOneCollection.find((name) => others[name] !== undefined && others[name] !== 'any');
    if (needless) throw fieldError('invalid_request', needless, 'needs `collection`');
    const { git, studio } = context;
    const window = windowOf(input);
    const snapshot = await pageSnapshot(git, window, input);
    const site = await studio.content.site(git, snapshot);
    const wanted = searchWords(q);
    const found: (IndexedEntry & { collection: string })[] = [];
    for (const [collection, index] of site.collections) {
      const matching = await studio.content.search(git, index.entries, wanted);
      found.push(...index.entries.filter((entry) => matching.has(entry)).map((entry) => ({ ...entry, collection })));
    }
    const places = found.slice(window.offset, window.offset + window.limit);
    const routes = await entryRoutes(context, snapshot);
    const items = await pageRecords(context, snapshot, places, (place, known) => ({
      ...summaryOf(place.collection, place, known),
      ...urlMember(routes, place.collection, place, known.frontmatter),
    }));
    return pageFrom(items, found.length, window, snapshot.commit);
  },
});
