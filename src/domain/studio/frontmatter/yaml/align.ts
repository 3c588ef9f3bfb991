import { isRecord } from '../../../../lib/objects.ts';
import { deepEqual } from '../values.ts';

/** How a wanted list comes out of the old one. Indexes by wanted item. */
export interface Alignment {
  /** The old item that stays in its place and is edited where it differs; kept items are in the same order in both lists. */
  kept: (number | undefined)[];
  /** The old item whose text is used again elsewhere. */
  moved: (number | undefined)[];
}

/** Larger lists are not aligned item by item beyond their common ends; cells of the comparison table. */
const maxCells = 250_000;

/** Aligns by equality first, then finds moves, then pairs what is left between two kept items by likeness. */
export function align(old: readonly unknown[], wanted: readonly unknown[]): Alignment {
  const kept: (number | undefined)[] = new Array(wanted.length).fill(undefined);
  const moved: (number | undefined)[] = new Array(wanted.length).fill(undefined);
  const [oldTexts, wantedTexts] = [old.map(canonical), wanted.map(canonical)];
  for (const [from, to] of common(oldTexts, wantedTexts)) kept[to] = from;
  const free = new Set(old.keys());
  for (const from of kept) if (from !== undefined) free.delete(from);
  const places = new Map<string, number[]>();
  // The last one first, so that the first is popped first.
  for (const from of [...free].reverse()) {
    const text = oldTexts[from] as string;
    const same = places.get(text);
    if (same) same.push(from);
    else places.set(text, [from]);
  }
  wantedTexts.forEach((text, to) => {
    const from = kept[to] === undefined ? places.get(text)?.pop() : undefined;
    if (from === undefined) return;
    moved[to] = from;
    free.delete(from);
  });
  pairGaps(old, wanted, kept, moved, free);
  return { kept, moved };
}

/** In each gap between kept items, gives the new items the old ones most like them, in order. */
function pairGaps(
  old: readonly unknown[],
  wanted: readonly unknown[],
  kept: (number | undefined)[],
  moved: readonly (number | undefined)[],
  free: ReadonlySet<number>,
): void {
  const unused = [...free];
  let next = 0;
  let before = -1;
  for (let to = 0; to < wanted.length; ) {
    if (kept[to] !== undefined) {
      before = kept[to++] as number;
      continue;
    }
    const gap: number[] = [];
    for (; to < wanted.length && kept[to] === undefined; to++) if (moved[to] === undefined) gap.push(to);
    const after = kept[to] ?? old.length;
    while (next < unused.length && (unused[next] as number) <= before) next++;
    const first = next;
    while (next < unused.length && (unused[next] as number) < after) next++;
    const candidates = unused.slice(first, next);
    const score = (from: number, at: number) => likeness(old[from], wanted[at]);
    for (const [from, at] of bestPairs(candidates, gap, score)) kept[at] = from;
  }
}

/** How far editing `from` into `to` in place beats writing it anew; 0 is never. */
function likeness(from: unknown, to: unknown): number {
  if (Array.isArray(from) || Array.isArray(to)) return Array.isArray(from) && Array.isArray(to) ? 1 : 0;
  if (!isRecord(from) || !isRecord(to)) return isRecord(from) || isRecord(to) ? 0 : 1;
  const identity = ['id', 'key', 'slug', 'name'].find((key) => Object.hasOwn(from, key) && Object.hasOwn(to, key));
  const same = Object.keys(from).filter((key) => deepEqual(from[key], to[key])).length;
  return 1 + same + (identity !== undefined && deepEqual(from[identity], to[identity]) ? 100 : 0);
}

/** Longest common subsequence, as pairs of indexes. */
function common(old: readonly string[], wanted: readonly string[]): [number, number][] {
  let head = 0;
  while (head < old.length && head < wanted.length && old[head] === wanted[head]) head++;
  let tail = 0;
  while (tail < Math.min(old.length, wanted.length) - head && old.at(-1 - tail) === wanted.at(-1 - tail)) tail++;
  const result: [number, number][] = Array.from({ length: head }, (_, at) => [at, at]);
  const from = range(head, old.length - tail);
  const to = range(head, wanted.length - tail);
  result.push(...bestPairs(from, to, (a, b) => (old[a] === wanted[b] ? 1 : 0)));
  for (let at = tail; at > 0; at--) result.push([old.length - at, wanted.length - at]);
  return result;
}

/** The order-keeping pairs with the greatest sum of scores. */
function bestPairs(
  from: readonly number[],
  to: readonly number[],
  score: (from: number, to: number) => number,
): [number, number][] {
  if (from.length === 0 || to.length === 0 || from.length * to.length > maxCells) return [];
  const width = to.length + 1;
  const best = new Float64Array((from.length + 1) * width);
  const at = (row: number, column: number) => best[row * width + column] ?? 0;
  const worth = (row: number, column: number) => score(from[row] as number, to[column] as number);
  for (let row = from.length - 1; row >= 0; row--) {
    for (let column = to.length - 1; column >= 0; column--) {
      const own = worth(row, column);
      const pair = own > 0 ? own + at(row + 1, column + 1) : 0;
      best[row * width + column] = Math.max(pair, at(row + 1, column), at(row, column + 1));
    }
  }
  const result: [number, number][] = [];
  for (let row = 0, column = 0; row < from.length && column < to.length; ) {
    const own = worth(row, column);
    if (own > 0 && at(row, column) === own + at(row + 1, column + 1)) {
      result.push([from[row++] as number, to[column++] as number]);
    } else if (at(row, column) === at(row + 1, column)) row++;
    else column++;
  }
  return result;
}

function range(start: number, end: number): number[] {
  return Array.from({ length: Math.max(end - start, 0) }, (_, at) => start + at);
}

/** Text that is the same for equal values, whatever the order of their keys. */
function canonical(value: unknown): string {
  return JSON.stringify(value, (_, member) =>
    isRecord(member) ? Object.entries(member).sort(([a], [b]) => (a < b ? -1 : 1)) : member,
  );
}
