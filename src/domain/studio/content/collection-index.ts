import { DomainError } from '../../errors.ts';
import type { TreeFile } from '../../ports/git-records.ts';
import { assignSlugs } from '../assign-slugs.ts';
import { checkAddress, checkStoredPath } from '../path-rules.ts';
import type { CollectionSchema } from '../schema/collection-schema.ts';
import type { Warning } from '../schema/schema.schema.ts';
import { lowerBound, slugRivals, withSlug } from './slug-rivals.ts';

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
export type PathChanges = ReadonlyMap<string, Pick<TreeFile, 'oid'> | null>;

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
