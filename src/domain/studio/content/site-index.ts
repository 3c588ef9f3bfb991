import { DomainError } from '../../errors.ts';
import type { TreeFile } from '../../ports/git-records.ts';
import type { CollectionSchema, Discovery } from '../schema/collection-schema.ts';
import type { Warning } from '../schema/schema.schema.ts';
import { assignSlugs } from '../slug.ts';

/** One entry's place: what lists are made of before any file is read. */
export interface IndexedEntry {
  slug: string;
  path: string;
  oid: string;
  locale?: string;
  translation_key?: string;
}

/** The entries of one collection at one tree, in order of their paths. */
export interface CollectionIndex {
  schema: CollectionSchema;
  entries: readonly IndexedEntry[];
  /** Position in `entries` by slug. */
  positions: ReadonlyMap<string, number>;
  warnings: readonly Warning[];
}

/** A site as one tree holds it: its schemas and the places of its entries. */
export interface SiteIndex {
  discovery: Discovery;
  /** Names the discovery: equal keys mean equal schemas. */
  schemaKey: string;
  files: readonly TreeFile[];
  collections: ReadonlyMap<string, CollectionIndex>;
  /** @throws DomainError `not_found` */
  collection(name: string): CollectionIndex;
}

const isRegular = (file: TreeFile) => file.mode === '100644' || file.mode === '100755';
const byPath = (a: { path: string }, b: { path: string }) => (a.path < b.path ? -1 : 1);

/** Finds an entry by its slug. @throws DomainError `not_found` */
export function entryIn({ schema, entries, positions }: CollectionIndex, slug: string): IndexedEntry {
  const entry = entries[positions.get(slug) ?? -1];
  if (!entry) throw new DomainError('not_found', `${schema.collection} has no entry ${slug.slice(0, 200)}`);
  return entry;
}

function indexCollection(schema: CollectionSchema, files: readonly TreeFile[]): CollectionIndex {
  const sorted = files.toSorted(byPath);
  const { entries: assigned, warnings } = assignSlugs(
    schema,
    sorted.map((file) => file.path),
  );
  const entries = assigned.map((entry, index) => ({ ...entry, oid: sorted[index]?.oid ?? '' }));
  return { schema, entries, positions: new Map(entries.map((entry, index) => [entry.slug, index])), warnings };
}

function makeSite(
  discovery: Discovery,
  schemaKey: string,
  files: readonly TreeFile[],
  collections: Map<string, CollectionIndex>,
): SiteIndex {
  return {
    discovery,
    schemaKey,
    files,
    collections,
    collection(name) {
      const found = collections.get(name);
      if (!found) throw new DomainError('not_found', `Collection ${name.slice(0, 100)} does not exist`);
      return found;
    },
  };
}

/** Places every file of a tree in the collection that matches it. */
export function buildSite(discovery: Discovery, schemaKey: string, files: readonly TreeFile[]): SiteIndex {
  const owned = new Map<string, TreeFile[]>(discovery.schemas.map((schema) => [schema.collection, []]));
  for (const file of files) {
    const owner = isRegular(file) ? discovery.schemas.find((schema) => schema.matches(file.path)) : undefined;
    if (owner) owned.get(owner.collection)?.push(file);
  }
  const collections = new Map(
    discovery.schemas.map((schema) => [schema.collection, indexCollection(schema, owned.get(schema.collection) ?? [])]),
  );
  return makeSite(discovery, schemaKey, files, collections);
}

/** What two listings in the same order differ by. */
export interface TreeDifference {
  added: TreeFile[];
  removed: TreeFile[];
  modified: TreeFile[];
}

export function compareListings(before: readonly TreeFile[], after: readonly TreeFile[]): TreeDifference {
  const difference: TreeDifference = { added: [], removed: [], modified: [] };
  // Unchanged directories share their files between listings: then nothing has to be read.
  const samePath = (file: TreeFile, at: number) => file === after[at] || file.path === after[at]?.path;
  if (before.length === after.length && before.every(samePath)) {
    for (const [at, file] of after.entries()) {
      const old = before[at];
      if (old !== file && (old?.oid !== file.oid || old?.mode !== file.mode)) difference.modified.push(file);
    }
    return difference;
  }
  const known = new Map(before.map((file) => [file.path, file]));
  for (const file of after) {
    const old = known.get(file.path);
    if (!old) difference.added.push(file);
    else if (old.oid !== file.oid || old.mode !== file.mode) difference.modified.push(file);
    known.delete(file.path);
  }
  difference.removed.push(...known.values());
  return difference;
}

/**
 * The index of the next tree, made from the last one: only collections that were touched are looked at again.
 * @returns null when the change may alter the schemas themselves, so that they have to be discovered anew.
 */
export function advanceSite(
  site: SiteIndex,
  files: readonly TreeFile[],
  changesSchemas: (difference: TreeDifference) => boolean,
): SiteIndex | null {
  const difference = compareListings(site.files, files);
  const { added, removed, modified } = difference;
  if (changesSchemas(difference)) return null;
  const { schemas } = site.discovery;
  const ownerOf = (file: TreeFile) =>
    isRegular(file) ? schemas.find((schema) => schema.matches(file.path)) : undefined;
  const touched = new Map<CollectionSchema, Map<string, TreeFile | null>>();
  const touch = (file: TreeFile, now: TreeFile | null) => {
    const owner = ownerOf(file);
    if (!owner) return;
    const changes = touched.get(owner) ?? new Map<string, TreeFile | null>();
    touched.set(owner, changes.set(file.path, now));
  };
  for (const file of removed) touch(file, null);
  for (const file of [...added, ...modified]) touch(file, file);
  const collections = new Map(site.collections);
  for (const [schema, changes] of touched) {
    const index = collections.get(schema.collection);
    if (!index) return null;
    collections.set(schema.collection, replaceOids(index, changes) ?? reindex(index, changes));
  }
  return makeSite(site.discovery, site.schemaKey, files, collections);
}

/** Where a path is among entries in order of their paths; -1 when it is not there. */
function positionOf(entries: readonly IndexedEntry[], path: string): number {
  let [low, high] = [0, entries.length - 1];
  while (low <= high) {
    const middle = (low + high) >> 1;
    const found = entries[middle]?.path ?? '';
    if (found === path) return middle;
    if (found < path) low = middle + 1;
    else high = middle - 1;
  }
  return -1;
}

/** The index with new contents in their places; null when files came or went. */
function replaceOids(index: CollectionIndex, changes: Map<string, TreeFile | null>): CollectionIndex | null {
  const entries = [...index.entries];
  for (const [path, file] of changes) {
    const at = positionOf(entries, path);
    const entry = entries[at];
    if (!file || !entry) return null;
    entries[at] = { ...entry, oid: file.oid };
  }
  return { ...index, entries };
}

function reindex(index: CollectionIndex, changes: Map<string, TreeFile | null>): CollectionIndex {
  const kept = index.entries
    .filter((entry) => !changes.has(entry.path))
    .map(({ path, oid }) => ({ path, oid, mode: '100644' }));
  return indexCollection(index.schema, [...kept, ...[...changes.values()].filter((file) => file !== null)]);
}
