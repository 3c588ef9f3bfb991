import { isScalar, type YAMLSeq } from 'yaml';
import { isRecord, pointerTo } from '../values.ts';
import { align } from './align.ts';
import { regionStart, removeFromBlock } from './edit-entries.ts';
import { editFlow } from './edit-flow.ts';
import type { Editing, Place } from './editing.ts';
import { itemText } from './emit.ts';
import { columnOf, type Entry, entriesOf, isInline, linesEnd, offsetOf } from './layout.ts';
import { newFlow, replaceWhole } from './replace.ts';
import { isDateText, type ScalarPlace, scalarText } from './scalar-text.ts';

/** Edits a list item by item; an item that moves keeps its own text. */
export function editList(
  edit: Editing,
  place: Place,
  node: YAMLSeq,
  old: unknown[],
  wanted: unknown[],
  pointer: string,
): void {
  const entries = entriesOf(node, edit.source);
  const { kept, moved } = align(old, wanted);
  const stays = new Set(kept);
  const removed = [...entries.keys()].filter((at) => !stays.has(at));
  // The first item of a nested list stands behind its parent's dash: it cannot be cut or preceded by lines of its own.
  const fixedHead = !node.flow && entries[0] !== undefined && isInline(edit.source, entries[0]) && kept[0] !== 0;
  if (removed.length === entries.length || fixedHead) {
    replaceWhole(edit, place, wanted, pointer);
    return;
  }
  kept.forEach((from, to) => {
    if (from === undefined) return;
    const entry = entries[from] as Entry;
    edit.editNode(edit, { role: node.flow ? 'flow' : 'item', entry }, old[from], wanted[to], pointerTo(pointer, to));
  });
  const texts = wanted.map((item, to) => {
    if (kept[to] !== undefined) return '';
    const own = moved[to] === undefined ? undefined : ownText(edit, node, entries, moved[to]);
    return own ?? newItem(edit, node, entries, item, pointerTo(pointer, to));
  });
  const inserts = kept.flatMap((from, to) =>
    from === undefined ? [{ after: before(kept, to), text: texts[to] ?? '', from: moved[to] }] : [],
  );
  if (removed.length + inserts.length > 0) edit.touched.add(pointerTo(pointer, 0));
  if (node.flow) {
    editFlow(edit, { open: offsetOf(node), entries, removed, inserts });
    return;
  }
  removeFromBlock(edit, entries, removed);
  const firstKept = kept.find((from) => from !== undefined) ?? 0;
  for (const { after, text } of inserts) {
    const kept = entries[after];
    const at = kept === undefined ? regionStart(edit.source, entries, firstKept) : linesEnd(edit.source, kept);
    edit.splices.push({ start: at, end: at, text });
  }
}

/** The kept item before position `to`, or -1. */
function before(kept: (number | undefined)[], to: number): number {
  return kept.slice(0, to).findLast((from) => from !== undefined) ?? -1;
}

function ownText(edit: Editing, node: YAMLSeq, entries: Entry[], at: number): string | undefined {
  const entry = entries[at] as Entry;
  if (node.flow) return edit.source.slice(entry.start, entry.end);
  if (isInline(edit.source, entry)) return undefined;
  return edit.source.slice(regionStart(edit.source, entries, at), linesEnd(edit.source, entry));
}

function newItem(edit: Editing, node: YAMLSeq, entries: Entry[], item: unknown, pointer: string): string {
  const first = entries[0] as Entry;
  const single = typeof item !== 'string' || !item.includes('\n');
  if (edit.json === undefined && single && !Array.isArray(item) && !isRecord(item)) {
    const text = scalarText(item, { flow: node.flow ?? false, ...likeSiblings(entries, item) });
    return node.flow ? text : `${' '.repeat(columnOf(edit.source, first.start))}- ${text}${edit.manner.eol}`;
  }
  if (node.flow) return newFlow(edit, item, first.start, pointer);
  return itemText(item, columnOf(edit.source, first.start), pointer, edit.manner) + edit.manner.eol;
}

/** Quotes and plain dates as the first string of the list has them. */
function likeSiblings(entries: Entry[], item: unknown): Pick<ScalarPlace, 'style' | 'date'> {
  const sibling = entries.map(({ node }) => node).find((node) => isScalar(node) && typeof node.value === 'string');
  if (!isScalar(sibling) || typeof item !== 'string') return {};
  const date = sibling.type === 'PLAIN' && isDateText(sibling.source ?? '') && isDateText(item);
  return { style: sibling.type as ScalarPlace['style'], date };
}
