import { isMap, isScalar, isSeq, type Node, type Scalar, type YAMLMap, type YAMLSeq } from 'yaml';
import { pointerTo } from '../../../../lib/json-pointer.ts';
import { isRecord } from '../../../../lib/objects.ts';
import { jsonText } from '../json.ts';
import { deepEqual } from '../values.ts';
import { align } from './align.ts';
import { editFlow, type FlowInsert } from './edit-flow.ts';
import { checkEditable, type Editing, type Place, refuse } from './editing.ts';
import {
  afterColon,
  afterDash,
  blockScalarText,
  flowText,
  isDateText,
  itemText,
  keyText,
  mapText,
  pairText,
  type ScalarPlace,
  scalarText,
} from './emit.ts';
import {
  columnOf,
  type Entry,
  endsInKeep,
  entriesOf,
  isEmpty,
  isInline,
  lineAfter,
  lineStart,
  linesEnd,
  linesStart,
  offsetOf,
} from './layout.ts';
import { isMergeKey } from './read-yaml.ts';

/** Writes the value anew from behind its colon or dash. */
function replaceWhole(edit: Editing, place: Place, wanted: unknown, pointer: string): void {
  const { source, manner } = edit;
  const { entry, role } = place;
  edit.touched.add(pointer);
  if (edit.json !== undefined || role === 'flow') {
    const lead = entry.bare ? ': ' : role !== 'root' && entry.key !== undefined ? ' ' : '';
    const start = entry.bare ? entry.end : entry.valueAt;
    edit.splices.push({ start, end: entry.end, text: lead + newFlow(edit, wanted, entry.start, pointer) });
    return;
  }
  if (role === 'root') {
    const text = isRecord(wanted) ? mapText(wanted, 0, '', manner) : flowText(wanted, '', manner);
    edit.splices.push({ start: entry.start, end: entry.end, text });
    return;
  }
  const column = columnOf(source, entry.start);
  const blocks = /^\r?\n?$/.test(source.slice(entry.end, lineAfter(source, entry.end)));
  const text = (role === 'pair' ? afterColon : afterDash)(wanted, column, pointer, { ...manner, blocks });
  const head = headComment(source, entry);
  const lead = entry.bare ? `${manner.eol}${' '.repeat(column)}:` : '';
  const start = entry.bare ? entry.end : entry.valueAt;
  edit.splices.push({ start, end: entry.end, text: lead + withHead(text, head, manner.eol) });
}

/** The comment that stands on the key's line, before the collection on the lines below that is being replaced. */
function headComment(source: string, entry: Entry): string {
  return /^[ \t]+#[^\r\n]*/.exec(source.slice(entry.valueAt, entry.end))?.[0] ?? '';
}

/** Puts the comment at the end of the first line, where it is a comment whatever follows. */
function withHead(text: string, head: string, eol: string): string {
  const at = text.indexOf(eol);
  return at < 0 ? text + head : text.slice(0, at) + head + text.slice(at);
}

/** A new value inside brackets, or anywhere in JSON. `at` is an offset of the line it will stand on. */
function newFlow(edit: Editing, value: unknown, at: number, pointer: string): string {
  if (edit.json === undefined) return flowText(value, pointer, edit.manner);
  const start = lineStart(edit.source, at);
  const indent = /^[ \t]*/.exec(edit.source.slice(start, at))?.[0] ?? '';
  return jsonText(value, edit.json.step, indent, edit.manner.eol);
}

/** Replaces the characters of a scalar and keeps its style. */
function editScalar(edit: Editing, place: Place, node: Scalar & Node, wanted: unknown, pointer: string): void {
  const start = node.range?.[0] ?? place.entry.valueAt;
  edit.splices.push({ start, end: place.entry.end, text: newScalar(edit, place, node, wanted, pointer) });
}

function newScalar(edit: Editing, place: Place, node: Scalar & Node, wanted: unknown, pointer: string): string {
  if (edit.json !== undefined) return jsonText(wanted, '', '', '');
  const flow = place.role === 'flow';
  const style = node.type as Parameters<typeof scalarText>[1]['style'];
  if (typeof wanted === 'string' && !flow) {
    const block = newBlock(edit, place, node, wanted);
    if (block !== undefined) return block;
  }
  const dated = node.type === 'PLAIN' && isDateText(node.source ?? '');
  const date = typeof wanted === 'string' && isDateText(wanted) && (dated || edit.manner.isDate(pointer, wanted));
  return scalarText(wanted, { flow, style, date });
}

/** A block scalar stays one; a plain scalar becomes one when it gets a second line and nothing stands behind it. */
function newBlock(edit: Editing, { entry }: Place, node: Scalar & Node, wanted: string): string | undefined {
  const { source, manner } = edit;
  const parent = columnOf(source, entry.start);
  const rest = source.slice(entry.end, lineAfter(source, entry.end));
  const next = source.slice(entry.end + rest.length, lineAfter(source, entry.end + rest.length));
  // Blank lines below would become part of a scalar that keeps its last line ends.
  if (/\n\n$/.test(wanted) && next.trim() === '' && next !== '') return undefined;
  if (node.type !== 'BLOCK_LITERAL' && node.type !== 'BLOCK_FOLDED') {
    if (node.type !== 'PLAIN' || !/^\r?\n?$/.test(rest) || !/[^\n]\n/.test(wanted)) return undefined;
    const indent = ' '.repeat(parent + manner.mapStep);
    return blockScalarText(wanted, { style: 'BLOCK_LITERAL', indent, parent, eol: manner.eol });
  }
  const text = source.slice(node.range?.[0] ?? 0, entry.end);
  const [header = ''] = text.split(/\r?\n/, 1);
  const comment = /(?<![ \t])[ \t]+#.*/s.exec(header)?.[0] ?? '';
  const explicit = /^[|>][-+]?([1-9])/.exec(header)?.[1];
  const first = /\n([ ]*)[^ \r\n]/.exec(text)?.[1]?.length ?? 0;
  const found = explicit === undefined ? first : parent + Number(explicit);
  const indent = ' '.repeat(found > parent ? found : parent + manner.mapStep);
  const keep = /^[|>][1-9]?\+/.test(header);
  return blockScalarText(wanted, { style: node.type, indent, parent, eol: manner.eol, keep, comment });
}

/** Removes the lines of entries with the comments that are theirs; blank lines stay. Not all entries of a nested block. */
function removeFromBlock(edit: Editing, entries: Entry[], removed: number[]): void {
  const { source, splices } = edit;
  const first = entries[0];
  let from = 0;
  if (removed[0] === 0 && first !== undefined && isInline(source, first)) {
    from = removed.findIndex((at, order) => at !== order);
    if (from < 0) from = removed.length;
    splices.push(leadingCut(source, entries, first, from));
  }
  let before: Entry | undefined;
  removed.forEach((at, order) => {
    // What stands directly before it is kept unless it is the one removed before it.
    if (removed[order - 1] !== at - 1) before = entries[at - 1];
    if (at < from) return;
    const end = linesEnd(source, entries[at] as Entry);
    // Blank lines below would become part of a scalar that keeps its last line ends.
    const blank = before && endsInKeep(before.node, source) ? blankLines(source, end) : 0;
    splices.push({ start: regionStart(source, entries, at), end: end + blank, text: '' });
  });
}

const blankLines = (source: string, from: number) => /^(?:[ \t]*\r?\n)*/.exec(source.slice(from))?.[0].length ?? 0;

/** Start of the lines that belong to an entry, the comment above included. */
function regionStart(source: string, entries: Entry[], at: number): number {
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

/** Edits a list item by item; an item that moves keeps its own text. */
function editList(
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
  const like = entries.map((entry) => entry.node).find((item) => isScalar(item) && typeof item.value === 'string');
  const inserts: FlowInsert[] = [];
  let after = -1; // the kept item before
  kept.forEach((from, to) => {
    if (from !== undefined) {
      after = from;
      return;
    }
    const own = moved[to] === undefined ? undefined : ownText(edit, node, entries, moved[to]);
    const text = own ?? newItem(edit, node, entries, wanted[to], pointerTo(pointer, to), like);
    inserts.push({ after, text, from: moved[to] });
  });
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

function ownText(edit: Editing, node: YAMLSeq, entries: Entry[], at: number): string | undefined {
  const entry = entries[at] as Entry;
  if (node.flow) return edit.source.slice(entry.start, entry.end);
  if (isInline(edit.source, entry)) return undefined;
  return edit.source.slice(regionStart(edit.source, entries, at), linesEnd(edit.source, entry));
}

/** @param like the first string of the list */
function newItem(
  edit: Editing,
  node: YAMLSeq,
  entries: Entry[],
  item: unknown,
  pointer: string,
  like: Node | null | undefined,
): string {
  const first = entries[0] as Entry;
  const single = typeof item !== 'string' || !item.includes('\n');
  if (edit.json === undefined && single && !Array.isArray(item) && !isRecord(item)) {
    const text = scalarText(item, { flow: node.flow ?? false, ...likeSibling(like, item) });
    return node.flow ? text : `${' '.repeat(columnOf(edit.source, first.start))}- ${text}${edit.manner.eol}`;
  }
  if (node.flow) return newFlow(edit, item, first.start, pointer);
  return itemText(item, columnOf(edit.source, first.start), pointer, edit.manner) + edit.manner.eol;
}

/** Quotes and plain dates as the first string of the list has them. */
function likeSibling(sibling: Node | null | undefined, item: unknown): Pick<ScalarPlace, 'style' | 'date'> {
  if (!isScalar(sibling) || typeof item !== 'string') return {};
  const date = sibling.type === 'PLAIN' && isDateText(sibling.source ?? '') && isDateText(item);
  return { style: sibling.type as ScalarPlace['style'], date };
}

type Values = Record<string, unknown>;

/** Edits a map key by key. New keys go behind the last pair in the order wanted. */
function editMap(edit: Editing, place: Place, node: YAMLMap, old: Values, wanted: Values, pointer: string): void {
  const entries = entriesOf(node, edit.source);
  const own = ownEntries(entries, pointer);
  const removed = entries.flatMap((entry, at) => (isOwn(entry) && !Object.hasOwn(wanted, nameOf(entry)) ? [at] : []));
  const added = Object.keys(wanted).filter((key) => !Object.hasOwn(old, key));
  for (const key of Object.keys(old)) {
    if (!own.has(key) && !(Object.hasOwn(wanted, key) && deepEqual(old[key], wanted[key]))) {
      refuse(pointerTo(pointer, key), 'comes through a merge key (<<)');
    }
  }
  const emptied = removed.length === entries.length;
  if (entries.length === 0 || (emptied && (node.flow || place.role !== 'root' || added.length > 0))) {
    if (place.role === 'root' && !node.flow) replaceRoot(edit, place, entries, wanted);
    else replaceWhole(edit, place, wanted, pointer);
    return;
  }
  for (const [key, entry] of own) {
    if (!Object.hasOwn(wanted, key)) continue;
    const role = node.flow ? 'flow' : 'pair';
    edit.editNode(edit, { role, entry }, old[key], wanted[key], pointerTo(pointer, key));
  }
  for (const at of removed) edit.touched.add(pointerTo(pointer, nameOf(entries[at] as Entry)));
  for (const key of added) edit.touched.add(pointerTo(pointer, key));
  if (node.flow) {
    const gone = new Set(removed);
    const after = entries.findLastIndex((_, at) => !gone.has(at));
    const inserts = added.map((key) => ({ after, text: flowPair(edit, node, key, wanted[key], entries, pointer) }));
    editFlow(edit, { open: offsetOf(node), entries, removed, inserts });
  } else {
    removeFromBlock(edit, entries, removed);
    insertPairs(edit, entries, added, wanted, pointer);
  }
}

/** All keys of a block map at the top give way to others: the new ones stand where the first stood. */
function replaceRoot(edit: Editing, { entry }: Place, entries: Entry[], wanted: Values): void {
  const added = Object.keys(wanted);
  for (const key of added) edit.touched.add(pointerTo('', key));
  removeFromBlock(edit, entries, [...entries.keys()]);
  insertPairs(edit, entries.length > 0 ? entries : [entry], added, wanted, '');
}

function insertPairs(edit: Editing, entries: Entry[], added: string[], wanted: Values, pointer: string): void {
  const [first, last] = [entries[0] as Entry, entries.at(-1) as Entry];
  const column = columnOf(edit.source, first.start);
  const at = linesEnd(edit.source, last);
  for (const key of added) {
    const text = pairText(key, wanted[key], column, pointerTo(pointer, key), edit.manner) + edit.manner.eol;
    edit.splices.push({ start: at, end: at, text });
  }
}

function flowPair(
  edit: Editing,
  node: YAMLMap,
  key: string,
  value: unknown,
  entries: Entry[],
  pointer: string,
): string {
  const near = entries.at(-1)?.start ?? node.range?.[0] ?? 0;
  const text = newFlow(edit, value, near, pointerTo(pointer, key));
  if (edit.json === undefined) return `${keyText(key, true)}: ${text}`;
  const tight = /^\s*:\S/.test(edit.source.slice(entries[0]?.valueAt ?? 0, (entries[0]?.valueAt ?? 0) + 2));
  return `${JSON.stringify(key)}:${tight ? '' : ' '}${text}`;
}

/** The pairs by name. Names that are not strings are refused: `1: x` and `"1": x` would be one key of the wanted object. */
function ownEntries(entries: Entry[], pointer: string): Map<string, Entry> {
  const own = new Map<string, Entry>();
  for (const entry of entries) {
    if (isMergeKey(entry.key)) continue;
    if (!isScalar(entry.key) || typeof entry.key.value !== 'string') {
      const name = isScalar(entry.key) ? (entry.key.source ?? '') : '';
      refuse(pointer, `has the key ${name}, which is not a string`);
    }
    own.set(entry.key.value, entry);
  }
  return own;
}

function isOwn(entry: Entry): boolean {
  return !isMergeKey(entry.key);
}

function nameOf(entry: Entry): string {
  return isScalar(entry.key) ? String(entry.key.value) : '';
}

/** Makes the splices that turn the value at `place` from `old` into `wanted`. */
export function editNode(edit: Editing, place: Place, old: unknown, wanted: unknown, pointer: string): void {
  if (deepEqual(old, wanted)) return;
  const { node } = place.entry;
  checkEditable(node, pointer, edit.aliased);
  if (edit.coarse.has(pointer)) {
    replaceWhole(edit, place, wanted, pointer);
  } else if (isMap(node) && isRecord(old) && isRecord(wanted)) {
    editMap(edit, place, node, old, wanted, pointer);
  } else if (isSeq(node) && Array.isArray(old) && Array.isArray(wanted)) {
    editList(edit, place, node, old, wanted, pointer);
  } else if (isScalar(node) && !isEmpty(node) && (typeof wanted !== 'object' || wanted === null)) {
    edit.touched.add(pointer);
    editScalar(edit, place, node, wanted, pointer);
  } else {
    replaceWhole(edit, place, wanted, pointer);
  }
}
