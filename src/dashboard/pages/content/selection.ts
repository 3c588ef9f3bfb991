import type { CollectionEntryFragment } from '../../documents.ts';

/** Selected entries by slug, also those of other pages of the list. */
export type Selection = ReadonlyMap<string, CollectionEntryFragment>;

/** So many entries can be changed by one commit. */
export const mostSelected = 100;

/** @returns the selection with or without entries; the first that fit */
export function select(
  selection: Selection,
  entries: readonly CollectionEntryFragment[],
  isSelected: boolean,
): Selection {
  const next = new Map(selection);
  for (const entry of entries) {
    if (!isSelected) next.delete(entry.slug);
    else if (next.size < mostSelected) next.set(entry.slug, entry);
  }
  return next;
}
