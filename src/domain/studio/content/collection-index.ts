import { DomainError } from '../../../kernel/errors.ts';
import type { TreeFile } from '../../../ports/git-records.ts';
import { checkAddress, checkStoredPath } from '../path-rules.ts';
import type { CollectionSchema } from '../schema/collection-schema.ts';
import type { Warning } from '../schema/schema.schema.ts';
import { assignSlugs, foldIndex, nameIn, type SlugCollection } from '../slug.ts';
import type { SiteIndex } from './site-index.ts';

interface Placed {
  path: string;
}

/** Where a path is among files in order of their paths, or would be. */
export function lowerBound(files: readonly Placed[], path: string): number {
  let [low, high] = [0, files.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((files[middle]?.path ?? '') < path) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Finds files of a collection by their names, in a list in order of paths: what it takes depends on how many bear the name. */
class Names<F extends Placed> {
  readonly #collection: SlugCollection;
  readonly #files: readonly F[];
  readonly #prefix: string;

  constructor(collection: SlugCollection, files: readonly F[]) {
    this.#collection = collection;
    this.#files = files;
    this.#prefix = collection.path === '' ? '' : `${collection.path}/`;
  }

  /** The file of this name, extension and all. */
  called(relative: string): F[] {
    const path = `${this.#prefix}${relative}`;
    const found = this.#files[lowerBound(this.#files, path)];
    return found?.path === path ? [found] : [];
  }

  /** Files of this name but for their extensions. */
  withStem(stem: string): F[] {
    const hasStem = ({ path }: F) => nameIn(this.#collection, path).stem === stem;
    const found = this.called(stem).filter(hasStem);
    const begin = `${this.#prefix}${stem}.`;
    for (let at = lowerBound(this.#files, begin); ; at++) {
      const file = this.#files[at];
      if (!file?.path.startsWith(begin)) return found;
      if (hasStem(file)) found.push(file);
    }
  }

  /** Files that may stand for a directory: `a/index.md` for `a`. */
  foldingTo(slug: string): F[] {
    const { index_names: names } = this.#collection.slugs;
    const stems = names.flatMap((name) => (slug === 'index' ? [name, `index/${name}`] : [`${slug}/${name}`]));
    return stems.flatMap((stem) => this.withStem(stem));
  }

  folded(stem: string): string | null {
    return foldIndex(stem, this.#collection.slugs.index_names);
  }
}

/** The file with a slug, of a list in order of paths in which all have theirs. */
function withSlug<F extends Placed & { slug: string }>(
  collection: SlugCollection,
  files: readonly F[],
  slug: string,
): F | undefined {
  const names = new Names(collection, files);
  const isIt = (file: F) => file.slug === slug;
  return names.withStem(slug).find(isIt) ?? names.foldingTo(slug).find(isIt) ?? names.called(slug).find(isIt);
}

/**
 * The files whose slugs may be others because of files that came or went, and beside them all files that decide about those slugs.
 * @param files in order of their paths, as they are now
 * @param moved paths that came or went
 */
function slugRivals(
  collection: SlugCollection,
  files: readonly Placed[],
  moved: readonly string[],
): { affected: ReadonlySet<string>; deciding: ReadonlySet<string> } {
  const names = new Names(collection, files);
  const affected = new Set<string>();
  for (const path of moved) {
    const { stem, relative } = nameIn(collection, path);
    const short = names.folded(stem);
    const shared = [
      ...names.withStem(stem),
      ...names.foldingTo(stem),
      ...(short === null ? [] : names.foldingTo(short)),
    ];
    // `a.md` may keep `a.md.md` from its stem.
    for (const file of [...shared, ...names.withStem(relative)]) affected.add(file.path);
  }
  const deciding = new Set(affected);
  for (const path of affected) {
    const { stem } = nameIn(collection, path);
    const short = names.folded(stem);
    const rivals = short === null ? [] : [...names.foldingTo(short), ...names.withStem(short)];
    for (const file of [...names.withStem(stem), ...names.called(stem), ...rivals]) deciding.add(file.path);
  }
  return { affected, deciding };
}

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
  /** In order of their paths too. */
  warnings: readonly Warning[];
}

/** What became of paths: the file that is there now, or null. */
type PathChanges = ReadonlyMap<string, Pick<TreeFile, 'oid'> | null>;

const byPath = (a: { path?: string | undefined }, b: { path?: string | undefined }) =>
  (a.path ?? '') < (b.path ?? '') ? -1 : 1;

/** The entry with a slug; undefined when there is none. */
export const findEntry = ({ schema, entries }: CollectionIndex, slug: string): IndexedEntry | undefined =>
  withSlug(schema, entries, slug);

/** Finds an entry by its slug. @throws DomainError `not_found` */
export function entryIn(index: CollectionIndex, slug: string): IndexedEntry {
  const entry = findEntry(index, slug);
  if (!entry) throw new DomainError('not_found', `${index.schema.collection} has no entry ${slug.slice(0, 200)}`);
  return entry;
}

/**
 * Finds an entry by a slug from outside, also one that no new entry may have.
 * @throws DomainError `not_found`, `invalid_path` when there cannot be one
 */
export function storedEntry(index: CollectionIndex, slug: string): IndexedEntry {
  checkAddress('slug', slug);
  if (!findEntry(index, slug)) checkStoredPath('slug', slug);
  return entryIn(index, slug);
}

/** Indexes the files of a collection. */
export function indexCollection(
  schema: CollectionSchema,
  files: readonly Pick<TreeFile, 'path' | 'oid'>[],
): CollectionIndex {
  const sorted = files.toSorted(byPath);
  const { entries: assigned, warnings } = assignSlugs(
    schema,
    sorted.map((file) => file.path),
  );
  const entries = assigned.map((entry, index) => ({ ...entry, oid: sorted[index]?.oid ?? '' }));
  return { schema, entries, warnings };
}

/** So many files that came or went that it is quicker to begin anew. */
const manyMoved = 500;

/** The index after changes, the same as one made from scratch; only slugs that may be others are looked at again. */
export function changeCollection(index: CollectionIndex, changes: PathChanges): CollectionIndex {
  const entries = [...index.entries];
  const moved: string[] = [];
  for (const [path, file] of changes) {
    const at = lowerBound(entries, path);
    const known = entries[at]?.path === path ? entries[at] : undefined;
    if (known && file) entries[at] = { ...known, oid: file.oid };
    else if (known) entries.splice(at, 1);
    else if (file) entries.splice(at, 0, { slug: '', path, oid: file.oid });
    if (!known !== !file) moved.push(path);
  }
  if (moved.length > manyMoved) return indexCollection(index.schema, entries);
  const warnings = assignAgain(index, entries, moved);
  return { ...index, entries, warnings };
}

/** Gives the entries that files which came or went concern their slugs. @returns all warnings of the collection */
function assignAgain(
  { schema, warnings }: CollectionIndex,
  entries: IndexedEntry[],
  moved: readonly string[],
): readonly Warning[] {
  if (moved.length === 0) return warnings;
  const { affected, deciding } = slugRivals(schema, entries, moved);
  const assigned = assignSlugs(schema, [...deciding]);
  for (const place of assigned.entries) {
    const at = lowerBound(entries, place.path);
    const known = entries[at];
    if (known && affected.has(place.path)) entries[at] = { ...place, oid: known.oid };
  }
  const gone = new Set([...affected, ...moved]);
  const kept = warnings.filter(({ path = '' }) => !gone.has(path));
  return [...kept, ...assigned.warnings.filter(({ path = '' }) => affected.has(path))].sort(byPath);
}

/** The collection a path belongs to, whether a file is there or not. */
export function schemaAt({ discovery }: SiteIndex, path: string): CollectionSchema | undefined {
  return discovery.schemas.find((schema) => schema.matches(path));
}

/** The entry a path is, or would be when no file is there; null when no collection takes it. */
export function entryAt(site: SiteIndex, path: string): { collection: string; slug: string } | null {
  const schema = schemaAt(site, path);
  if (!schema) return null;
  const { collection } = schema;
  const known = site.collections.get(collection)?.entries.find((entry) => entry.path === path);
  const slug = known?.slug ?? assignSlugs(schema, [path]).entries[0]?.slug;
  return slug === undefined ? null : { collection, slug };
}
