import { isScalar, type YAMLMap } from 'yaml';
import { deepEqual, pointerTo } from '../values.ts';
import { removeFromBlock } from './edit-entries.ts';
import { editFlow } from './edit-flow.ts';
import { type Editing, type Place, refuse } from './editing.ts';
import { pairText } from './emit.ts';
import { columnOf, type Entry, entriesOf, linesEnd, offsetOf } from './layout.ts';
import { isMergeKey } from './read-yaml.ts';
import { newFlow, replaceWhole } from './replace.ts';
import { keyText } from './scalar-text.ts';

type Values = Record<string, unknown>;

/** Edits a map key by key. New keys go behind the last pair in the order wanted. */
export function editMap(
  edit: Editing,
  place: Place,
  node: YAMLMap,
  old: Values,
  wanted: Values,
  pointer: string,
): void {
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
    const after = entries.findLastIndex((_, at) => !removed.includes(at));
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
