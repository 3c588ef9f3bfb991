import type { Node, Scalar } from 'yaml';
import { jsonText } from '../json/emit-json.ts';
import type { Editing, Place } from './editing.ts';
import { columnOf, lineAfter } from './layout.ts';
import { blockScalarText, isDateText, scalarText } from './scalar-text.ts';

/** Replaces the characters of a scalar and keeps its style. */
export function editScalar(edit: Editing, place: Place, node: Scalar & Node, wanted: unknown, pointer: string): void {
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
  const comment = /[ \t]+#.*$/.exec(header)?.[0] ?? '';
  const explicit = /^[|>][-+]?([1-9])/.exec(header)?.[1];
  const first = /\n([ ]*)[^ \r\n]/.exec(text)?.[1]?.length ?? 0;
  const found = explicit === undefined ? first : parent + Number(explicit);
  const indent = ' '.repeat(found > parent ? found : parent + manner.mapStep);
  const keep = /^[|>][1-9]?\+/.test(header);
  return blockScalarText(wanted, { style: node.type, indent, parent, eol: manner.eol, keep, comment });
}
