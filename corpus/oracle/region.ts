/** A range of a source text. */
export interface Region {
  start: number;
  end: number;
}

/** What may change when the value at a path does: `value` for a new value in place, `lines` for all that is its own, comments above included. */
export interface Regions {
  value: Region;
  lines: Region;
}

/** Of a text that ends without a line end its last lines go with the line end before them. */
export function withLineBefore(source: string, { start, end }: Region): Region {
  if (start === 0 || end < source.length || source.endsWith('\n')) return { start, end };
  return { start: start - (source[start - 2] === '\r' ? 2 : 1), end };
}

export const lineStart = (source: string, at: number) => source.lastIndexOf('\n', at - 1) + 1;
export const lineEnd = (source: string, at: number) => {
  const end = source.indexOf('\n', at);
  return end === -1 ? source.length : end + 1;
};
