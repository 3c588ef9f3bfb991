import { z } from 'zod';
import { DomainError } from '../../errors.ts';
import { type ProjectContext, projectOperation } from '../../operation.ts';
import { pageFrom, pageInput, pageOf, windowOf } from '../../paging.ts';
import type { Snapshot } from '../../ports/git-records.ts';
import { type CollectionIndex, entryIn, type IndexedEntry } from '../content/collection-index.ts';
import { unreadable } from '../content/entry-facts.ts';
import { searchWords } from '../content/search.ts';
import type { SiteIndex } from '../content/site-index.ts';
import { soundBlobs } from '../content/stored/sound-blobs.ts';
import { checkStoredPath } from '../path-rules.ts';
import { pageSnapshot, refInput, snapshotOf } from '../repository/refs.ts';
import { entryRoutes, urlMember } from '../routes/entry-routes.ts';
import { passingTag, viewOf } from '../view.ts';
import { entry, entrySummary } from './entries.schema.ts';
import { sortEntries } from './entry-order.ts';
import {
  type Condition,
  isPlaceField,
  type KnownEntry,
  matches,
  readFilter,
  readSort,
  type SortKey,
} from './entry-query.ts';
import { entryOf, summaryOf } from './entry-record.ts';

const listInput = z.object({
  collection: z.string(),
  ...refInput,
  ...pageInput,
  q: z.string().max(500, 'must be at most 500 characters').optional().describe('Words; the last one may be unfinished'),
  sort: z.array(z.string().max(200)).optional().describe('Fields, each descending with a leading -'),
  filter: z.record(z.string(), z.unknown()).optional().describe('filter[<field>][<operator>]=value'),
  draft: z.enum(['any', 'only', 'without']).default('any'),
  locale: z.string().max(35).optional(),
  dir: z.string().optional().describe('Only entries below this directory of the collection'),
  depth: z.int32().min(1, 'must be at least 1').max(64, 'must be at most 64').optional().describe('Levels below `dir`'),
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
type ListInput = z.output<typeof listInput>;

/** What decides which entries a list shows and in which order; paging and shape do not. */
interface Selection {
  conditions: Condition[];
  keys: SortKey[];
  draft: ListInput['draft'];
  locale: string | undefined;
  dir: string | undefined;
  depth: number | undefined;
  q: string | undefined;
}

function selectionOf({ filter, sort, draft, locale, dir, depth, q }: ListInput): Selection {
  return {
    conditions: readFilter(filter ?? {}),
    keys: readSort(sort ?? []),
    draft,
    locale,
    dir: dir === undefined || dir === '' ? undefined : checkStoredPath('dir', dir),
    depth,
    q: q?.trim() ? q : undefined,
  };
}

function placedIn({ schema: { path: root } }: CollectionIndex, { dir, depth, locale }: Selection) {
  const base = [root, dir].filter(Boolean).join('/');
  const prefix = base === '' ? '' : `${base}/`;
  return ({ path, locale: own }: IndexedEntry): boolean =>
    path.startsWith(prefix) &&
    (depth === undefined || path.slice(prefix.length).split('/').length <= depth) &&
    (locale === undefined || own === locale);
}

const unread = { frontmatter: null, title: '', draft: false, size: 0 };

/** The entries a selection shows, in order; files are read only when the selection depends on what they say. */
async function order(
  { services, git }: Pick<ProjectContext, 'services' | 'git'>,
  snapshot: Snapshot,
  index: CollectionIndex,
  selection: Selection,
): Promise<readonly IndexedEntry[]> {
  const inPlace = placedIn(index, selection);
  const { conditions, keys, draft, q } = selection;
  const found = q === undefined ? null : await services.content.search(git, index.entries, searchWords(q), inPlace);
  const readsFiles = draft !== 'any' || [...conditions, ...keys].some(({ field }) => !isPlaceField(field));
  const facts = readsFiles ? await services.content.collectionFacts(git, snapshot, index) : [];
  const kept: KnownEntry[] = [];
  for (const [at, entry] of index.entries.entries()) {
    if (!inPlace(entry) || (found && !found.has(entry))) continue;
    const known = { entry, facts: facts[at] ?? unread };
    if ((draft === 'any' || known.facts.draft === (draft === 'only')) && matches(known, conditions)) kept.push(known);
  }
  return (keys.length > 0 ? sortEntries(kept, keys) : kept).map((item) => item.entry);
}

/** Adds what `include` asks for to a page of summaries. */
async function include(
  { git, services }: Pick<ProjectContext, 'git' | 'services'>,
  snapshot: Snapshot,
  items: z.output<typeof entrySummary>[],
  index: CollectionIndex,
  places: readonly IndexedEntry[],
  wanted: readonly string[],
): Promise<void> {
  if (wanted.includes('body')) {
    const oids = places.map(({ oid }) => oid);
    let at = 0;
    for await (const content of soundBlobs(snapshot, oids)) {
      const [item, place] = [items[at], places[at]];
      at += 1;
      if (!item || !place) continue;
      if (content instanceof DomainError) Object.assign(item, { error: unreadable.error });
      else item.body = entryOf(index, place, content).body;
    }
  }
  if (wanted.includes('updated') && snapshot.commit) {
    const last = await services.content.lastCommits(
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

export const listEntries = projectOperation({
  name: 'studio.listEntries',
  kind: 'query',
  permission: 'browse_studio',
  summary: 'List entries of a collection',
  input: listInput,
  output: pageOf(entrySummary),
  async execute(context, input) {
    const { git, services, tag } = context;
    const window = windowOf(input);
    const selection = selectionOf(input);
    const snapshot = await pageSnapshot(git, window, input);
    const site = await services.content.site(git, snapshot);
    const index = site.collection(input.collection);
    const version = await versionOf(snapshot, site, index);
    const routes = await entryRoutes(context, snapshot);
    const { collection, page, per_page, after, fields, include: wanted = [] } = input;
    const shape = { collection, page, per_page, after, fields, wanted };
    const state = wanted.includes('updated') ? snapshot.commit : await snapshot.treeOid(index.schema.path);
    const damage = services.content.damage(git);
    if (state) tag(`"${state}.${viewOf([site.schemaKey + routes.key, selection, shape])}"`);
    const key = `${git.id}:${version}:${JSON.stringify([collection, selection])}`;
    const ordered = await services.content.order(git, key, () => order(context, snapshot, index, selection));
    const places = ordered.slice(window.offset, window.offset + window.limit);
    const facts = await services.content.listedFacts(git, snapshot, places);
    const items = places.flatMap((place, at) => {
      const known = facts[at];
      if (!known) return [];
      const url = urlMember(routes, collection, place, known.frontmatter);
      return [{ ...summaryOf(collection, place, known, fields), ...url }];
    });
    await include(context, snapshot, items, index, places, wanted);
    const isWhole = items.every(({ error }) => error?.code !== 'unreadable');
    if (!isWhole || services.content.damage(git) !== damage) tag(passingTag());
    return pageFrom(items, ordered.length, window, snapshot.commit);
  },
});

/** Names what a list is made of: the tree of the collection's directory and the schemas it is read by. */
async function versionOf(snapshot: Snapshot, site: SiteIndex, { schema }: CollectionIndex): Promise<string> {
  return `${(await snapshot.treeOid(schema.path)) ?? ''}:${site.schemaKey}`;
}

export const getEntry = projectOperation({
  name: 'studio.getEntry',
  kind: 'query',
  permission: 'browse_studio',
  summary: 'Get entry',
  input: z.object({
    collection: z.string(),
    entry: z.string().describe('Slug of the entry'),
    ...refInput,
    raw: z.boolean().optional().describe('Adds the whole file as text'),
  }),
  output: entry,
  async execute(context, { collection, entry: slug, raw, ...at }) {
    const { git, services, tag } = context;
    checkStoredPath('slug', slug);
    const snapshot = await snapshotOf(git, at);
    const site = await services.content.site(git, snapshot);
    const index = site.collection(collection);
    const place = entryIn(index, slug);
    const routes = await entryRoutes(context, snapshot);
    tag(`"${place.oid}.${viewOf([site.schemaKey + routes.key, place.slug, raw])}"`);
    const record = entryOf(index, place, await snapshot.blob(place.oid), { raw });
    return { ...record, ...urlMember(routes, collection, place, record.frontmatter) };
  },
});
