import type { IndexedEntry } from '../content/collection-index.ts';
import type { ListOrder } from '../content/list-orders.ts';
import type { KnownEntry } from './entry-query.ts';

/** So many entries that came, went or changed that it is quicker to order all of them. */
const manyMoved = 200;

interface Moved {
  gone: ReadonlySet<IndexedEntry>;
  /** Positions among the entries after. */
  come: readonly number[];
}

/** What two lists in order of paths differ by, a changed entry being one that went and one that came; null: by much. */
function moved(before: readonly IndexedEntry[], after: readonly IndexedEntry[]): Moved | null {
  const gone = new Set<IndexedEntry>();
  const come: number[] = [];
  let at = 0;
  for (const old of before) {
    for (; at < after.length && (after[at]?.path ?? '') < old.path && after[at] !== old; at += 1) come.push(at);
    if (after[at] === old) at += 1;
    else gone.add(old);
    if (gone.size + come.length > manyMoved) return null;
  }
  for (; at < after.length && come.length <= manyMoved; at += 1) come.push(at);
  return gone.size + come.length > manyMoved ? null : { gone, come };
}

/** How the entries of a list are chosen and ordered. */
interface Choice {
  knownAt(at: number): KnownEntry;
  isShown(known: KnownEntry): boolean;
  /** Of an entry that is in the list before and after. */
  knownOf(entry: IndexedEntry): KnownEntry;
  comesBefore(one: KnownEntry, other: KnownEntry): boolean;
}

/**
 * The order of a list made from that of an earlier tree: only what came, went or changed is looked at and put in its place.
 * @returns null when that is too much
 */
export function nextOrder(
  before: ListOrder,
  entries: readonly IndexedEntry[],
  choice: Choice,
): readonly IndexedEntry[] | null {
  const difference = moved(before.entries, entries);
  if (!difference) return null;
  const { gone, come } = difference;
  const ordered = before.ordered.filter((entry) => !gone.has(entry));
  for (const at of come) {
    const known = choice.knownAt(at);
    if (!choice.isShown(known)) continue;
    let [low, high] = [0, ordered.length];
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (choice.comesBefore(choice.knownOf(ordered[middle] as IndexedEntry), known)) low = middle + 1;
      else high = middle;
    }
    ordered.splice(low, 0, known.entry);
  }
  return ordered;
}
