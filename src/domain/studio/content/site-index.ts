import { DomainError } from '../../../kernel/errors.ts';
import type { TreeEntry, TreeFile } from '../../../ports/git-records.ts';
import type { Discovery } from '../schema/collection-schema.ts';
import { type CollectionIndex, changeCollection, indexCollection } from './collection-index.ts';

/** A site as one tree holds it: its schemas and the places of its entries. */
export interface SiteIndex {
  discovery: Discovery;
  /** Names the discovery: equal keys mean equal schemas. */
  schemaKey: string;
  collections: ReadonlyMap<string, CollectionIndex>;
  /** @throws DomainError `not_found` */
  collection(name: string): CollectionIndex;
}

/** A site with the listing of its tree, which the site of the next tree is made from. */
export interface ListedSite extends SiteIndex {
  files: readonly TreeFile[];
}

const isRegular = (file: { mode: string }) => file.mode === '100644' || file.mode === '100755';
function makeSite(discovery: Discovery, schemaKey: string, collections: Map<string, CollectionIndex>): SiteIndex {
  return {
    discovery,
    schemaKey,
    collections,
    collection(name) {
      const found = collections.get(name);
      if (!found) throw new DomainError('not_found', `Collection ${name.slice(0, 100)} does not exist`);
      return found;
    },
  };
}

/** Places every file of a tree in the collection that matches it. */
export function buildSite(discovery: Discovery, schemaKey: string, files: readonly TreeFile[]): ListedSite {
  const owned = new Map<string, TreeFile[]>(discovery.schemas.map((schema) => [schema.collection, []]));
  for (const file of files) {
    const owner = isRegular(file) ? discovery.schemas.find((schema) => schema.matches(file.path)) : undefined;
    if (owner) owned.get(owner.collection)?.push(file);
  }
  const collections = new Map(
    discovery.schemas.map((schema) => [schema.collection, indexCollection(schema, owned.get(schema.collection) ?? [])]),
  );
  return { ...makeSite(discovery, schemaKey, collections), files };
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
 * The site of the next tree, made from the last one: only collections that were touched are looked at again.
 * @returns null when the change may alter the schemas themselves, so that they have to be discovered anew.
 */
export function advanceSite(
  site: ListedSite,
  files: readonly TreeFile[],
  changesSchemas: (difference: TreeDifference) => boolean,
): ListedSite | null {
  const difference = compareListings(site.files, files);
  if (changesSchemas(difference)) return null;
  const { added, removed, modified } = difference;
  const there = [...added, ...modified].map((file) => [file.path, file] as const);
  return { ...changeSite(site, new Map([...removed.map(({ path }) => [path, null] as const), ...there])), files };
}

/** The site with other files at some paths, its schemas left as they are. @param changes what is at these paths now */
export function changeSite(site: SiteIndex, changes: ReadonlyMap<string, TreeEntry | TreeFile | null>): SiteIndex {
  const touched = new Map<string, Map<string, TreeEntry | TreeFile | null>>();
  for (const [path, file] of changes) {
    const owner = site.discovery.schemas.find((schema) => schema.matches(path));
    if (!owner) continue;
    const own = touched.get(owner.collection) ?? new Map<string, TreeEntry | TreeFile | null>();
    touched.set(owner.collection, own.set(path, file && isRegular(file) ? file : null));
  }
  const collections = new Map(site.collections);
  for (const [name, own] of touched) collections.set(name, changeCollection(site.collection(name), own));
  return makeSite(site.discovery, site.schemaKey, collections);
}
