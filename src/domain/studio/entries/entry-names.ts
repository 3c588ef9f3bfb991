import { type CollectionIndex, findEntry, type IndexedEntry } from '../content/collection-index.ts';
import { referenceIds } from '../schema/reference-ids.ts';

/** Entries by every text that names them, made once per index. */
const named = new WeakMap<CollectionIndex, ReadonlyMap<string, IndexedEntry>>();

function namesOf(index: CollectionIndex): ReadonlyMap<string, IndexedEntry> {
  const known = named.get(index);
  if (known) return known;
  const pairs = index.entries.flatMap((entry) => referenceIds(index.schema, entry).map((id) => [id, entry] as const));
  // Where two entries could be meant the first one is.
  const made = new Map(pairs.reverse());
  named.set(index, made);
  return made;
}

/** The entry a reference means; a slug is read as one before any other form of a name. */
export function entryNamed(index: CollectionIndex, id: string): IndexedEntry | undefined {
  return findEntry(index, id) ?? namesOf(index).get(id);
}
