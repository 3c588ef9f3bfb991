import type { Editing } from './editing.ts';
import { type Entry, endsInKeep, isInline, linesEnd, linesStart } from './layout.ts';

/** Removes the lines of entries with the comments that are theirs; blank lines stay. Not all entries of a nested block. */
export function removeFromBlock(edit: Editing, entries: Entry[], removed: number[]): void {
  const { source, splices } = edit;
  const first = entries[0];
  let from = 0;
  if (removed[0] === 0 && first !== undefined && isInline(source, first)) {
    from = entries.findIndex((_, at) => !removed.includes(at));
    splices.push(leadingCut(source, entries, first, from));
  }
  for (const at of removed) {
    if (at < from) continue;
    const end = linesEnd(source, entries[at] as Entry);
    const before = entries[entries.findLastIndex((_, other) => other < at && !removed.includes(other))];
    // Blank lines below would become part of a scalar that keeps its last line ends.
    const blank = before && endsInKeep(before.node, source) ? blankLines(source, end) : 0;
    splices.push({ start: regionStart(source, entries, at), end: end + blank, text: '' });
  }
}

const blankLines = (source: string, from: number) => /^(?:[ \t]*\r?\n)*/.exec(source.slice(from))?.[0].length ?? 0;

/** Start of the lines that belong to an entry, the comment above included. */
export function regionStart(source: string, entries: Entry[], at: number): number {
  const before = entries[at - 1];
  return linesStart(source, entries[at] as Entry, before === undefined ? 0 : linesEnd(source, before));
}

/** `- a: 1⏎  b: 2` without `a`: the next pair moves up behind the dash, unless a comment stands between. */
function leadingCut(source: string, entries: Entry[], first: Entry, next: number) {
  const follower = entries[next] as Entry;
  const last = entries[next - 1] as Entry;
  const gapStart = linesEnd(source, last);
  if (source.slice(gapStart, follower.start).trim() === '')
    return { start: first.start, end: follower.start, text: '' };
  const dash = source.slice(0, first.start).trimEnd().length;
  return { start: dash, end: gapStart - (source[gapStart - 2] === '\r' ? 2 : 1), text: '' };
}
