import { type Entry, lineAfter, lineStart } from './layout.ts';

/** The lines of an entry between brackets, with the comment lines directly above it. */
export interface LineSpan {
  start: number;
  end: number;
  /** Offset of the comma behind the entry; undefined where it has none. */
  comma: number | undefined;
  /** What stands before the entry on its lines, and behind it and its comma. */
  before: string;
  behind: string;
}

/** Lines of the entries when each stands on lines of its own; undefined when any shares one with another or with a bracket. */
export function flowLines(
  source: string,
  open: number,
  entries: readonly Pick<Entry, 'start' | 'end'>[],
): LineSpan[] | undefined {
  const lines: LineSpan[] = [];
  let least = lineAfter(source, open);
  for (const entry of entries) {
    const first = lineStart(source, entry.start);
    const behind = /^[ \t]*(,?)[ \t]*(?:#[^\n]*)?\r?\n/.exec(source.slice(entry.end, lineAfter(source, entry.end)));
    if (first < least || behind === null || source.slice(first, entry.start).trim() !== '') return undefined;
    let start = first;
    while (start > least && /^[ \t]*#/.test(source.slice(lineStart(source, start - 1), start))) {
      start = lineStart(source, start - 1);
    }
    const comma = behind[1] === ',' ? entry.end + behind[0].indexOf(',') : undefined;
    const rest = comma === undefined ? behind[0] : behind[0].slice(behind[0].indexOf(',') + 1);
    const end = entry.end + behind[0].length;
    lines.push({ start, end, comma, before: source.slice(start, entry.start), behind: rest });
    least = end;
  }
  return lines;
}
