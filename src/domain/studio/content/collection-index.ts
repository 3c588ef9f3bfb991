import { DomainError } from '../../../kernel/errors.ts';
import { finishYielding, mapYielding, sortYielding } from '../../../lib/concurrency.ts';
import type { FileSide, TreeFile } from '../../../ports/git-records.ts';
import { tally } from '../../../ports/tally.ts';
import { checkAddress, checkStoredPath } from '../path-rules.ts';
import type { CollectionSchema } from '../schema/collection-schema.ts';
import type { Warning } from '../schema/schema.schema.ts';
import { assignSlugs, foldIndex, nameIn, type SlugCollection, slugSteps } from '../slug.ts';
import type { SiteIndex } from './site-index.ts';
import { SortedList } from './sorted-list.ts';

/** One entry's place: what lists are made of before any file is read. */
export interface IndexedEntry {
  slug: string;
  path: string;
  oid: string;
  locale?: string;
  translation_key?: string;
}

/** What became of paths: the file that is there now, or null. */
type PathChanges = ReadonlyMap<string, Pick<FileSide, 'oid'> | null>;

/** More files that came or went than this: the index is built anew, which is quicker then. */
const manyMoved = 500;

/** Numbers all indexes this process makes. */
let versions = 0;

const pathOf = ({ path }: { path: string }) => path;
const byPath = (a: { path?: string | undefined }, b: { path?: string | undefined }) =>
  (a.path ?? '') < (b.path ?? '') ? -1 : 1;

/**
 * The entries of one collection at one tree, in order of their paths. Versions of an index share what did not change between them: the next
 * one is made in time that depends on the change, and only a list asks for all entries as one array.
 */
export class CollectionIndex {
  readonly schema: CollectionSchema;
  /** In order of their paths too. */
  readonly warnings: readonly Warning[];
  /** Of no other index in this process. */
  readonly version = ++versions;
  readonly #list: SortedList<IndexedEntry>;

  private constructor(schema: CollectionSchema, list: SortedList<IndexedEntry>, warnings: readonly Warning[]) {
    this.schema = schema;
    this.warnings = warnings;
    this.#list = list;
  }

  /** Indexes the files of a collection, in steps. */
  static async of(
    schema: CollectionSchema,
    files: readonly Pick<TreeFile, 'path' | 'oid'>[],
  ): Promise<CollectionIndex> {
    tally.pass.publish(files.length);
    const sorted = await sortYielding(files, byPath);
    const paths = await mapYielding(sorted, ({ path }) => path);
    const { entries: assigned, warnings } = await finishYielding(slugSteps(schema, paths));
    const entries = await mapYielding(
      assigned,
      (entry, at): IndexedEntry => ({ ...entry, oid: sorted[at]?.oid ?? '' }),
    );
    return new CollectionIndex(schema, SortedList.of(entries, pathOf), warnings);
  }

  get size(): number {
    return this.#list.size;
  }

  /** All entries, the same array each time. */
  get entries(): readonly IndexedEntry[] {
    tally.pass.publish(this.size);
    return this.#list.toArray();
  }

  /** The entry whose file is at a path. */
  at(path: string): IndexedEntry | undefined {
    return this.#list.get(path);
  }

  /** The entry with a slug. */
  find(slug: string): IndexedEntry | undefined {
    const names = new Names(this.schema, this.#list);
    const isIt = (entry: IndexedEntry) => entry.slug === slug;
    return names.withStem(slug).find(isIt) ?? names.foldingTo(slug).find(isIt) ?? names.called(slug).find(isIt);
  }

  /** The index after changes, the same as one made from scratch; only slugs that may be others are assigned again. */
  async with(changes: PathChanges): Promise<CollectionIndex> {
    const edits = new Map<string, IndexedEntry | null>();
    const moved: string[] = [];
    for (const [path, file] of changes) {
      const known = this.at(path);
      if (!known && !file) continue;
      edits.set(path, file && { ...(known ?? { slug: '', path }), oid: file.oid });
      if (!known !== !file) moved.push(path);
    }
    const list = this.#list.with(edits);
    if (moved.length === 0) return new CollectionIndex(this.schema, list, this.warnings);
    return moved.length > manyMoved ? CollectionIndex.of(this.schema, list.toArray()) : this.#reassigned(list, moved);
  }

  /** Assigns the slugs of all entries that files which came or went may concern. */
  #reassigned(list: SortedList<IndexedEntry>, moved: readonly string[]): CollectionIndex {
    const { affected, deciding } = slugRivals(this.schema, list, moved);
    const assigned = assignSlugs(this.schema, [...deciding]);
    const edits = new Map<string, IndexedEntry>();
    for (const place of assigned.entries) {
      const known = list.get(place.path);
      if (known && affected.has(place.path)) edits.set(place.path, { ...place, oid: known.oid });
    }
    const gone = new Set([...affected, ...moved]);
    const kept = this.warnings.filter(({ path = '' }) => !gone.has(path));
    const added = assigned.warnings.filter(({ path = '' }) => affected.has(path));
    return new CollectionIndex(this.schema, list.with(edits), [...kept, ...added].sort(byPath));
  }
}

/** For each entry where the same one is in an earlier list; -1: nowhere. Both are in order of their paths. */
export function earlierPlaces(entries: readonly IndexedEntry[], earlier: readonly IndexedEntry[]): Promise<number[]> {
  let next = 0;
  return mapYielding(entries, (entry) => {
    while (next < earlier.length && byPath(earlier[next] ?? entry, entry) < 0) next += 1;
    return earlier[next] === entry ? next : -1;
  });
}

/** Finds files of a collection by their names; the time depends on how many have the name. */
class Names {
  readonly #collection: SlugCollection;
  readonly #files: SortedList<IndexedEntry>;
  readonly #prefix: string;

  constructor(collection: SlugCollection, files: SortedList<IndexedEntry>) {
    this.#collection = collection;
    this.#files = files;
    this.#prefix = collection.path === '' ? '' : `${collection.path}/`;
  }

  /** The file of this name with its extension. */
  called(relative: string): IndexedEntry[] {
    const found = this.#files.get(`${this.#prefix}${relative}`);
    return found ? [found] : [];
  }

  /** Files of this name but for their extensions. */
  withStem(stem: string): IndexedEntry[] {
    const hasStem = ({ path }: IndexedEntry) => nameIn(this.#collection, path).stem === stem;
    const found = this.called(stem).filter(hasStem);
    const begin = `${this.#prefix}${stem}.`;
    for (const file of this.#files.from(begin)) {
      if (!file.path.startsWith(begin)) break;
      if (hasStem(file)) found.push(file);
    }
    return found;
  }

  /** Files that may stand for a directory: `a/index.md` for `a`. */
  foldingTo(slug: string): IndexedEntry[] {
    const { index_names: names } = this.#collection.slugs;
    const stems = names.flatMap((name) => (slug === 'index' ? [name, `index/${name}`] : [`${slug}/${name}`]));
    return stems.flatMap((stem) => this.withStem(stem));
  }

  folded(stem: string): string | null {
    return foldIndex(stem, this.#collection.slugs.index_names);
  }
}

/**
 * The files whose slugs may be others because of files that came or went, and beside them all files that decide about those slugs.
 * @param files as they are now
 * @param moved paths that came or went
 */
function slugRivals(
  collection: SlugCollection,
  files: SortedList<IndexedEntry>,
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

/** Finds an entry by its slug. @throws DomainError `not_found` */
export function entryIn(index: CollectionIndex, slug: string): IndexedEntry {
  const entry = index.find(slug);
  if (!entry) throw new DomainError('not_found', `${index.schema.collection} has no entry ${slug.slice(0, 200)}`);
  return entry;
}

/**
 * Finds an entry by a slug from outside, also one that no new entry may have.
 * @throws DomainError `not_found`, `invalid_path` when there cannot be one
 */
export function storedEntry(index: CollectionIndex, slug: string): IndexedEntry {
  checkAddress('slug', slug);
  if (!index.find(slug)) checkStoredPath('slug', slug);
  return entryIn(index, slug);
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
  const known = site.collections.get(collection)?.at(path);
  const slug = known?.slug ?? assignSlugs(schema, [path]).entries[0]?.slug;
  return slug === undefined ? null : { collection, slug };
}
