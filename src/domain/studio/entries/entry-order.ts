import { absent, asTime, fieldValue, incomparable, type KnownEntry, rankOf, type SortKey } from './entry-query.ts';

/** Compares two entries by their positions. */
type Compare = (a: number, b: number) => number;

/** Compares by one key; values and their ranks are looked up once, not in every comparison. */
function compareBy(entries: readonly KnownEntry[], { field, descending, isTime }: SortKey): Compare {
  const own = entries.map((known) => fieldValue(known, field));
  const found = isTime ? own.map(asTime) : own;
  const ranks = Uint8Array.from(found, rankOf);
  // Texts stand for all kinds here: values of one rank are compared alike.
  const values = found.map((value, at) => (ranks[at] === incomparable ? '' : value)) as string[];
  const [before, after] = descending ? [1, -1] : [-1, 1];
  return (a, b) => {
    const [left, right] = [ranks[a] as number, ranks[b] as number];
    if (left !== right) {
      // Absent values come last in both directions.
      if (left === absent || right === absent) return left - right;
      return left < right ? before : after;
    }
    const [one, other] = [values[a] as string, values[b] as string];
    return one < other ? before : one > other ? after : 0;
  };
}

/** Compares entries of a list by the keys; equal ones by their slugs, so that pages never overlap. */
function comparison(entries: readonly KnownEntry[], keys: readonly SortKey[]): Compare {
  const [first, ...more] = keys.map((key) => compareBy(entries, key));
  const slugs = entries.map(({ entry }) => entry.slug);
  const bySlug: Compare = (a, b) => ((slugs[a] as string) < (slugs[b] as string) ? -1 : 1);
  const byRest: Compare = (a, b) => {
    for (const compare of more) {
      const order = compare(a, b);
      if (order !== 0) return order;
    }
    return bySlug(a, b);
  };
  return first ? (a, b) => first(a, b) || byRest(a, b) : bySlug;
}

/** Sorts by the keys; equal entries stay in order of their slugs. */
export function sortEntries(entries: readonly KnownEntry[], keys: readonly SortKey[]): KnownEntry[] {
  const order = entries.map((_, at) => at).sort(comparison(entries, keys));
  return order.map((at) => entries[at] as KnownEntry);
}

/** Whether an entry comes before another one by the keys. */
export const comesBefore = (one: KnownEntry, other: KnownEntry, keys: readonly SortKey[]): boolean =>
  comparison([one, other], keys)(0, 1) < 0;
