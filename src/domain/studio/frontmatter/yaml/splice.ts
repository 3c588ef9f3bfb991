/** Replaces the characters from `start` up to `end` of a source. */
export interface Splice {
  start: number;
  end: number;
  text: string;
}

/**
 * Applies splices to the source they were computed on. At one place, insertions come first and in the order they were made.
 * Undefined when two splices overlap: then they cannot all be meant.
 */
export function applySplices(source: string, splices: readonly Splice[]): string | undefined {
  const ordered = splices
    .map((splice, order) => ({ ...splice, order, width: Math.min(splice.end - splice.start, 1) }))
    .sort((a, b) => a.start - b.start || a.width - b.width || a.order - b.order);
  let result = '';
  let at = 0;
  for (const { start, end, text } of ordered) {
    if (start < at) return undefined;
    result += source.slice(at, start) + text;
    at = end;
  }
  return result + source.slice(at);
}
