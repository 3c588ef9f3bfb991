import type { Editing } from './editing.ts';
import { type Entry, isInline, lineStart, linesEnd, linesStart } from './layout.ts';

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
    const entry = entries[at] as Entry;
    splices.push({ start: regionStart(source, entries, at), end: linesEnd(source, entry), text: '' });
  }
}

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

/** What entries between brackets need to be edited: TOML's are edited by the same functions. */
type FlowEditing = Pick<Editing, 'source' | 'splices'> & { manner: Pick<Editing['manner'], 'eol'> };
type Span = Pick<Entry, 'start' | 'end'>;

/** Removes entries between brackets with the comma that parted them. Not all of them. */
export function removeFromFlow(edit: FlowEditing, entries: readonly Span[], removed: readonly number[]): void {
  const last = entries.findLastIndex((_, at) => !removed.includes(at));
  for (const at of removed) {
    const entry = entries[at] as Span;
    if (at > last) {
      const before = (entries[at - 1] as Span).end;
      edit.splices.push({ start: before, end: entry.end, text: '' });
    } else {
      edit.splices.push({ start: entry.start, end: cutEnd(edit.source, entry, entries[at + 1] as Span), text: '' });
    }
  }
}

/** Up to the next entry; comments on lines of their own before it are its own and stay. */
function cutEnd(source: string, entry: Span, next: Span): number {
  const between = source.slice(entry.end, next.start);
  const first = /^[^\n#]*?,[ \t]*(?:#[^\n]*)?(?:\n[ \t]*)?/.exec(between)?.[0];
  return first !== undefined && between.slice(first.length).includes('#') ? entry.end + first.length : next.start;
}

export interface FlowInsert {
  /** The kept entry it follows; -1: it comes before all that are kept. */
  after: number;
  text: string;
}

/** Inserts between brackets (the opening one at `open`) in the manner of what is there: on lines of their own, or behind a comma and a space. */
export function insertIntoFlow(
  edit: FlowEditing,
  open: number,
  entries: readonly Span[],
  removed: readonly number[],
  inserts: readonly FlowInsert[],
): void {
  const first = entries[0] as Span;
  const separator = `,${spacing(edit, open, entries)}`;
  for (const { after, text } of inserts) {
    const kept = entries[after];
    if (kept !== undefined) {
      edit.splices.push({ start: kept.end, end: kept.end, text: separator + text });
      continue;
    }
    const next = entries.find((_, at) => !removed.includes(at)) ?? first;
    edit.splices.push({ start: next.start, end: next.start, text: text + separator });
  }
}

function spacing(edit: FlowEditing, open: number, entries: readonly Span[]): string {
  const { source } = edit;
  const first = entries[0] as Span;
  const start = lineStart(source, first.start);
  if (source.slice(open, first.start).includes('\n')) {
    return edit.manner.eol + source.slice(start, first.start);
  }
  const between = entries[1] === undefined ? ', ' : source.slice(first.end, entries[1].start);
  if (/^\s*,[ \t]*$/.test(between)) return between.slice(between.indexOf(',') + 1);
  return ' ';
}
