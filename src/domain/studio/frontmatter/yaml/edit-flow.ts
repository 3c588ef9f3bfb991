import type { Editing } from './editing.ts';
import { type Entry, lineAfter, lineStart } from './layout.ts';

/** The lines of an entry between brackets, with the comment lines directly above it. */
interface LineSpan {
  start: number;
  end: number;
  /** Offset of the comma behind the entry; undefined where it has none. */
  comma: number | undefined;
  /** What stands before the entry on its lines, and behind it and its comma. */
  before: string;
  behind: string;
}

/** Lines of the entries when each stands on lines of its own; undefined when any shares one with another or with a bracket. */
function flowLines(
  source: string,
  open: number,
  entries: readonly Pick<Entry, 'start' | 'end'>[],
): LineSpan[] | undefined {
  const lines: LineSpan[] = [];
  let least = lineAfter(source, open);
  for (const entry of entries) {
    const first = lineStart(source, entry.start);
    const behind = /^[ \t]*(?:(,)[ \t]*)?(?:#[^\n]*)?\r?\n/.exec(source.slice(entry.end, lineAfter(source, entry.end)));
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

/** What entries between brackets need to be edited: TOML's are edited by the same functions. */
type FlowEditing = Pick<Editing, 'source' | 'splices'> & { manner: Pick<Editing['manner'], 'eol'> };
type Span = Pick<Entry, 'start' | 'end'>;

export interface FlowInsert {
  /** The kept entry it follows; -1: it comes before all that are kept. */
  after: number;
  text: string;
  /** The entry whose text it is, elsewhere; its comments come along. */
  from?: number | undefined;
}

interface FlowChange {
  /** Offset of the opening bracket. */
  open: number;
  entries: readonly Span[];
  /** Not all of them. */
  removed: readonly number[];
  inserts: readonly FlowInsert[];
}

/** Removes and inserts entries between brackets in the manner of what is there: on lines of their own, or behind a comma and a space. */
export function editFlow(edit: FlowEditing, change: FlowChange): void {
  if (change.removed.length + change.inserts.length === 0) return;
  const lines = flowLines(edit.source, change.open, change.entries);
  if (lines !== undefined) {
    editLines(edit, lines, change);
    return;
  }
  removeInline(edit, change);
  insertInline(edit, change);
}

/** Each entry goes and comes with its whole lines, comments included; then the commas at the end are put right. */
function editLines(edit: FlowEditing, lines: readonly LineSpan[], { entries, removed, inserts }: FlowChange): void {
  const { source, splices, manner } = edit;
  const gone = new Set(removed);
  const kept = [...entries.keys()].filter((at) => !gone.has(at));
  const lastKept = kept.at(-1) ?? -1;
  const endsInComma = lines.at(-1)?.comma !== undefined;
  const first = entries[0] as Span;
  const indent = source.slice(lineStart(source, first.start), first.start);
  for (const at of removed) {
    const { start, end } = lines[at] as LineSpan;
    splices.push({ start, end, text: '' });
  }
  const lastInsert = inserts.findLastIndex(({ after }) => after === lastKept);
  inserts.forEach(({ after, text, from }, at) => {
    const line = lines[after];
    const place = line === undefined ? (lines[kept[0] ?? 0] as LineSpan).start : line.end;
    const comma = endsInComma || at !== lastInsert ? ',' : '';
    const own = from === undefined ? undefined : lines[from];
    const whole = own === undefined ? `${indent}${text}${comma}${manner.eol}` : own.before + text + comma + own.behind;
    splices.push({ start: place, end: place, text: whole });
  });
  const last = lines[lastKept];
  if (endsInComma || last === undefined) return;
  if (lastInsert >= 0 && last.comma === undefined) {
    const at = (entries[lastKept] as Span).end;
    splices.push({ start: at, end: at, text: ',' });
  } else if (lastInsert < 0 && last.comma !== undefined) {
    splices.push({ start: last.comma, end: last.comma + 1, text: '' });
  }
}

/** Removes entries with the comma that parted them. */
function removeInline(edit: FlowEditing, { entries, removed }: FlowChange): void {
  const gone = new Set(removed);
  const last = entries.findLastIndex((_, at) => !gone.has(at));
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

function insertInline(edit: FlowEditing, { open, entries, removed, inserts }: FlowChange): void {
  const separator = `,${spacing(edit, open, entries)}`;
  const gone = new Set(removed);
  const next = entries.find((_, at) => !gone.has(at)) ?? (entries[0] as Span);
  for (const { after, text } of inserts) {
    const kept = entries[after];
    if (kept !== undefined) {
      edit.splices.push({ start: kept.end, end: kept.end, text: separator + text });
      continue;
    }
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
