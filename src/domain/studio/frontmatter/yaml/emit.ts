import { pointerTo } from '../../../../lib/json-pointer.ts';
import { isRecord } from '../../../../lib/objects.ts';
import type { DateRule } from '../values.ts';

/** How a scalar stands in the file, in the words of the `yaml` library. */
type ScalarStyle = 'PLAIN' | 'QUOTE_SINGLE' | 'QUOTE_DOUBLE' | 'BLOCK_LITERAL' | 'BLOCK_FOLDED';

export interface ScalarPlace {
  /** Inside `[…]` or `{…}`, where commas and brackets end a plain scalar. */
  flow: boolean;
  /** The style to keep; plain is left when the text would not read back as the same string. */
  style?: ScalarStyle | undefined;
  /** A date may stand plain: readers of YAML 1.1 make a date of it, and that is wanted. */
  date?: boolean | undefined;
}

/** A scalar on one line. */
export function scalarText(value: unknown, place: ScalarPlace): string {
  if (typeof value === 'number') return numberText(value);
  if (typeof value !== 'string') return String(value);
  if (place.style === 'QUOTE_SINGLE' && fitsOneLine(value)) return singleQuoted(value);
  if (place.style === 'QUOTE_SINGLE' || place.style === 'QUOTE_DOUBLE') return doubleQuoted(value);
  if (isPlainSafe(value, place.flow) || (place.date && isDateText(value))) return value;
  return /["\\]/.test(value) && fitsOneLine(value) ? singleQuoted(value) : doubleQuoted(value);
}

/** The text of a key. Never a date or number in the plain: readers of YAML 1.1 would not see a string. */
export function keyText(key: string, flow: boolean): string {
  return isPlainSafe(key, flow) ? key : doubleQuoted(key);
}

/** Whole numbers beyond 2^53 get a fraction, because an integer of that size would be read as a string. */
export function numberText(value: number): string {
  const text = Number.isInteger(value) && !Number.isSafeInteger(value) ? value.toExponential() : String(value);
  return text.includes('e') && !text.includes('.') ? text.replace('e', '.0e') : text;
}

const indicatorFirst = /^[-?:,[\]{}#&*!|>'"%@`]/;
const documentMark = /^(?:---|\.\.\.)/;
const word = /^(?:~|null|true|false|yes|no|on|off|y|n|=|<<)$/i;
const numberLike = /^[-+.]?(?:[0-9][0-9a-fxob_:.,+-]*|\.?inf|\.?nan)$/i;
/** Some readers of 1.1 take `e0` for a number without digits. */
const exponent = /^[-+.0-9_]*e[-+]?[0-9_]+$/i;
const dateLike = /^\d{4}-\d{1,2}-\d{1,2}(?:[Tt \t].*)?$/;
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what must be found
const notPrintable = /[\x00-\x1f\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]/;

/**
 * Whether a string may stand without quotes and is the same string for readers of YAML 1.2 (core) and 1.1, where `yes`,
 * `12:30:00`, `1_000` and `2024-01-01` are not. Says no rather too often than once too seldom.
 */
function isPlainSafe(value: string, flow: boolean): boolean {
  if (value === '' || value.trim() !== value || !fitsOneLine(value)) return false;
  if (indicatorFirst.test(value) || documentMark.test(value)) return false;
  if (value.includes(': ') || value.includes(' #') || value.endsWith(':')) return false;
  if (flow && /[,[\]{}:?]/.test(value)) return false;
  return !word.test(value) && !numberLike.test(value) && !exponent.test(value) && !dateLike.test(value);
}

/** A date or a date with time, as YAML 1.1, TOML and the generators read it. */
export function isDateText(value: string): boolean {
  const match = /^(\d{4})-(\d\d)-(\d\d)(?:[Tt ]([0-2]\d):([0-5]\d):([0-5]\d)(?:\.\d+)?(?:Z|[-+]\d\d:\d\d)?)?$/.exec(
    value,
  );
  if (match === null) return false;
  const [, year, month, day] = match.map(Number);
  const date = new Date(0);
  date.setUTCFullYear(year ?? 0, (month ?? 0) - 1, day);
  return date.getUTCMonth() + 1 === month && date.getUTCDate() === day;
}

function fitsOneLine(value: string): boolean {
  return !notPrintable.test(value) && value.isWellFormed();
}

function singleQuoted(value: string): string {
  return `'${value.replaceAll("'", "''")}'`;
}

/** JSON's escapes are YAML's too; what JSON leaves bare but YAML calls not printable is escaped as well. */
function doubleQuoted(value: string): string {
  return JSON.stringify(value).replace(
    /[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]/g,
    (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}

/** What a block scalar is written with. */
interface BlockStyle {
  style: 'BLOCK_LITERAL' | 'BLOCK_FOLDED';
  indent: string;
  /** Column of the key or dash the scalar belongs to; an indentation indicator counts from there. */
  parent: number;
  eol: string;
  /** Keep `+` although the value ends in one line end only. */
  keep?: boolean;
  /** Text after the indicator, a comment with its space. */
  comment?: string;
}

/**
 * A block scalar: indicator, line end, lines, without the last line end. Undefined when the value cannot stand as one.
 * The chomping indicator follows from the value's trailing line ends.
 */
export function blockScalarText(value: string, block: BlockStyle): string | undefined {
  const content = value.replace(/(?<!\n)\n+$/, '');
  const trailing = value.length - content.length;
  if (content === '' || notPrintable.test(content.replace(/[\n\t]/g, '')) || !content.isWellFormed()) return undefined;
  const foldable = !/^[ \t]/m.test(content);
  const folded = block.style === 'BLOCK_FOLDED' && foldable;
  const chomp = trailing === 0 ? '-' : trailing > 1 || block.keep ? '+' : '';
  const indentation = /^\n*[ \t]/.test(content) ? String(block.indent.length - block.parent) : '';
  const text = folded ? content.replace(/(?<!\n)\n+(?!\n)/g, (run) => `${run}\n`) : content;
  const lines = text.split('\n').map((line) => (line === '' ? '' : block.indent + line));
  const blank = Array.from({ length: Math.max(trailing - 1, 0) }, () => '');
  return [`${folded ? '>' : '|'}${indentation}${chomp}${block.comment ?? ''}`, ...lines, ...blank].join(block.eol);
}

/** The manner of a file, taken from its own text so that what is added looks like what is there. */
export interface YamlStyle {
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
export function mapText(map: Record<string, unknown>, indent: number, pointer: string, manner: YamlStyle): string {
  return Object.entries(map)
    .map(([key, value]) => pairText(key, value, indent, pointerTo(pointer, key), manner))
    .join(manner.eol);
}

export function pairText(key: string, value: unknown, indent: number, pointer: string, manner: YamlStyle): string {
  return `${' '.repeat(indent)}${keyText(key, false)}:${afterColon(value, indent, pointer, manner)}`;
}

/** What follows a key's colon: a space and a scalar, or a line end and the lines of a collection. */
export function afterColon(value: unknown, indent: number, pointer: string, manner: YamlStyle): string {
  if (isFilledList(value)) return manner.eol + listText(value, indent + manner.listStep, pointer, manner);
  if (isFilledMap(value)) return manner.eol + mapText(value, indent + manner.mapStep, pointer, manner);
  return ` ${leafText(value, indent, indent + manner.mapStep, pointer, manner)}`;
}

function listText(list: unknown[], indent: number, pointer: string, manner: YamlStyle): string {
  return list.map((item, at) => itemText(item, indent, pointerTo(pointer, at), manner)).join(manner.eol);
}

export function itemText(item: unknown, indent: number, pointer: string, manner: YamlStyle): string {
  return `${' '.repeat(indent)}-${afterDash(item, indent, pointer, manner)}`;
}

/** What follows a list item's dash; a collection begins on the same line. */
export function afterDash(item: unknown, indent: number, pointer: string, manner: YamlStyle): string {
  const inner = indent + 2;
  if (isFilledList(item)) return ` ${listText(item, inner, pointer, manner).slice(inner)}`;
  if (isFilledMap(item)) return ` ${mapText(item, inner, pointer, manner).slice(inner)}`;
  return ` ${leafText(item, indent, inner, pointer, manner)}`;
}

function leafText(value: unknown, parent: number, inner: number, pointer: string, manner: YamlStyle): string {
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
export function flowText(value: unknown, pointer: string, manner: YamlStyle): string {
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
