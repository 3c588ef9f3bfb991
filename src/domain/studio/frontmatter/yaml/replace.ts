import { jsonText } from '../json/emit-json.ts';
import { isRecord } from '../values.ts';
import type { Editing, Place } from './editing.ts';
import { afterColon, afterDash, flowText, mapText } from './emit.ts';
import { columnOf, type Entry, lineAfter, lineStart } from './layout.ts';

/** Writes the value anew from behind its colon or dash. */
export function replaceWhole(edit: Editing, place: Place, wanted: unknown, pointer: string): void {
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
export function newFlow(edit: Editing, value: unknown, at: number, pointer: string): string {
  if (edit.json === undefined) return flowText(value, pointer, edit.manner);
  const start = lineStart(edit.source, at);
  const indent = /^[ \t]*/.exec(edit.source.slice(start, at))?.[0] ?? '';
  return jsonText(value, edit.json.step, indent, edit.manner.eol);
}
