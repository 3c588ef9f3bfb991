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
export interface BlockStyle {
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
  const content = value.replace(/\n+$/, '');
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
