import type { DateRule } from '../date-rule.ts';
import { isRecord, pointerTo } from '../values.ts';
import { blockScalarText, isDateText, keyText, scalarText } from './scalar-text.ts';

/** The manner of a file, taken from its own text so that what is added looks like what is there. */
export interface YamlManner {
  eol: '\n' | '\r\n';
  /** Spaces by which a nested map stands in from its key. */
  mapStep: number;
  /** Spaces by which a list stands in from its key. */
  listStep: number;
  /** False where something stands behind the value on its line, which would become part of a block scalar. */
  blocks?: boolean;
  /** Whether the string at this pointer is a date that may stand plain. */
  isDate: DateRule;
}

/** The lines of a block map, first line indented too, without the last line end. */
export function mapText(map: Record<string, unknown>, indent: number, pointer: string, manner: YamlManner): string {
  return Object.entries(map)
    .map(([key, value]) => pairText(key, value, indent, pointerTo(pointer, key), manner))
    .join(manner.eol);
}

export function pairText(key: string, value: unknown, indent: number, pointer: string, manner: YamlManner): string {
  return `${' '.repeat(indent)}${keyText(key, false)}:${afterColon(value, indent, pointer, manner)}`;
}

/** What follows a key's colon: a space and a scalar, or a line end and the lines of a collection. */
export function afterColon(value: unknown, indent: number, pointer: string, manner: YamlManner): string {
  if (isFilledList(value)) return manner.eol + listText(value, indent + manner.listStep, pointer, manner);
  if (isFilledMap(value)) return manner.eol + mapText(value, indent + manner.mapStep, pointer, manner);
  return ` ${leafText(value, indent, indent + manner.mapStep, pointer, manner)}`;
}

function listText(list: unknown[], indent: number, pointer: string, manner: YamlManner): string {
  return list.map((item, at) => itemText(item, indent, pointerTo(pointer, at), manner)).join(manner.eol);
}

export function itemText(item: unknown, indent: number, pointer: string, manner: YamlManner): string {
  return `${' '.repeat(indent)}-${afterDash(item, indent, pointer, manner)}`;
}

/** What follows a list item's dash; a collection begins on the same line. */
export function afterDash(item: unknown, indent: number, pointer: string, manner: YamlManner): string {
  const inner = indent + 2;
  if (isFilledList(item)) return ` ${listText(item, inner, pointer, manner).slice(inner)}`;
  if (isFilledMap(item)) return ` ${mapText(item, inner, pointer, manner).slice(inner)}`;
  return ` ${leafText(item, indent, inner, pointer, manner)}`;
}

function leafText(value: unknown, parent: number, inner: number, pointer: string, manner: YamlManner): string {
  if (Array.isArray(value)) return '[]';
  if (isRecord(value)) return '{}';
  if (manner.blocks !== false && typeof value === 'string' && /[^\n]\n/.test(value)) {
    const block = blockScalarText(value, {
      style: 'BLOCK_LITERAL',
      indent: ' '.repeat(inner),
      parent,
      eol: manner.eol,
    });
    if (block !== undefined) return block;
  }
  const date = typeof value === 'string' && isDateText(value) && manner.isDate(pointer, value);
  return scalarText(value, { flow: false, date });
}

/** A value on one line, for places inside `[…]` and `{…}`. */
export function flowText(value: unknown, pointer: string, manner: YamlManner): string {
  if (Array.isArray(value))
    return `[${value.map((item, at) => flowText(item, pointerTo(pointer, at), manner)).join(', ')}]`;
  if (!isRecord(value)) {
    const date = typeof value === 'string' && isDateText(value) && manner.isDate(pointer, value);
    return scalarText(value, { flow: true, date });
  }
  const pairs = Object.entries(value).map(
    ([key, member]) => `${keyText(key, true)}: ${flowText(member, pointerTo(pointer, key), manner)}`,
  );
  return pairs.length === 0 ? '{}' : `{ ${pairs.join(', ')} }`;
}

function isFilledList(value: unknown): value is unknown[] {
  return Array.isArray(value) && value.length > 0;
}

function isFilledMap(value: unknown): value is Record<string, unknown> {
  return isRecord(value) && Object.keys(value).length > 0;
}
