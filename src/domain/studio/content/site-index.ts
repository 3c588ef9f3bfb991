import { DomainError } from '../../../kernel/errors.ts';
import { findYielding, forEachYielding } from '../../../lib/concurrency.ts';
import type { FileChange, FileSide, Oid, TreeFile } from '../../../ports/git-records.ts';
import type { Discovery } from '../schema/collection-schema.ts';
import { configurationFiles } from '../schema/site-layout.ts';
import { CollectionIndex } from './collection-index.ts';

/** A site as one tree holds it: its schemas and the places of its entries. */
export interface SiteIndex {
  discovery: Discovery;
  /** Names the discovery: equal keys mean equal schemas. */
  schemaKey: string;
  collections: ReadonlyMap<string, CollectionIndex>;
  /** @throws DomainError `not_found` */
  collection(name: string): CollectionIndex;
}

/** A site with the tree it was read at, which the site of the next tree is derived from. */
export interface SiteAtTree extends SiteIndex {
  tree: Oid | null;
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
export async function buildSite(
  discovery: Discovery,
  schemaKey: string,
  files: readonly TreeFile[],
): Promise<SiteIndex> {
  const owned = new Map<string, TreeFile[]>(discovery.schemas.map((schema) => [schema.collection, []]));
  await forEachYielding(files, (file) => {
    const owner = isRegular(file) ? discovery.schemas.find((schema) => schema.matches(file.path)) : undefined;
    if (owner) owned.get(owner.collection)?.push(file);
  });
  const collections = new Map<string, CollectionIndex>();
  for (const schema of discovery.schemas) {
    const { collection } = schema;
    collections.set(collection, await CollectionIndex.of(schema, owned.get(collection) ?? []));
  }
  return makeSite(discovery, schemaKey, collections);
}

/** What is at some paths now; null: no file. */
type Placed = ReadonlyMap<string, FileSide | null>;

/** What is at the paths of changes now. */
export const placedBy = (changes: readonly FileChange[]): Placed =>
  new Map(changes.map(({ path, after }) => [path, after]));

/** The site with other files at some paths, its schemas left as they are; collections without such a path are shared. */
export async function changeSite(site: SiteIndex, changes: Placed): Promise<SiteIndex> {
  const touched = new Map<string, Map<string, FileSide | null>>();
  await forEachYielding(changes, ([path, file]) => {
    const owner = site.discovery.schemas.find((schema) => schema.matches(path));
    if (!owner) return;
    const own = touched.get(owner.collection) ?? new Map<string, FileSide | null>();
    touched.set(owner.collection, own.set(path, file && isRegular(file) ? file : null));
  });
  const collections = new Map(site.collections);
  for (const [name, own] of touched) collections.set(name, await site.collection(name).with(own));
  return makeSite(site.discovery, site.schemaKey, collections);
}

const contentFile = /\.(?:md|mdx|markdown|mdoc|ya?ml|json|toml)$/i;

/** Files that could found a collection that is not known yet. */
const mayFound = (path: string) => contentFile.test(path);

/** Whether a tree that differs by this from a site's may have other schemas, so that they have to be discovered anew. */
export async function changesSchemas(
  { discovery, collections }: SiteIndex,
  changes: readonly FileChange[],
): Promise<boolean> {
  const { dependencies, schemas } = discovery;
  const rests = new Set(dependencies);
  if (changes.some(({ path }) => rests.has(path)) || (await configurationFiles(changes)).length > 0) return true;
  const ownerOf = (path: string) => schemas.find((schema) => schema.matches(path));
  const founds = ({ path, before }: FileChange) => before === null && mayFound(path) && !ownerOf(path);
  if (await findYielding(changes, founds)) return true;
  // An inferred collection is there because files are.
  const removed = changes.filter(({ after }) => after === null);
  const last = await findYielding(removed, ({ path }) => {
    const owner = ownerOf(path);
    const left = owner ? (collections.get(owner.collection)?.size ?? 0) : 2;
    return owner?.inferred === true && left <= removed.length;
  });
  return last !== undefined;
}
