import type { Frontmatter, Reading } from '../values.ts';

/** A map being read; `open` is its last key while that has no value yet or is getting a list. */
interface Frame {
  indent: number;
  map: Frontmatter;
  open?: string | undefined;
  list?: unknown[] | undefined;
  listIndent: number;
}

/**
 * Reads the YAML that most frontmatter is made of, many times faster than the full parser: block maps and lists of one-line
 * values. Undefined at the first thing that could mean anything else; then the full parser reads. What it does read is exactly
 * what the full parser reads (a property test holds them together).
 */
export function readSimpleYaml(source: string): Reading | undefined {
  if (outside.test(source)) return undefined;
  const value: Frontmatter = {};
  const frames: Frame[] = [{ indent: 0, map: value, listIndent: 0 }];
  for (const line of source.split(/\r?\n/)) {
    const match = lineShape.exec(line);
    if (match === null) {
      if (/^ *(?:#|$)/.test(line)) continue;
      return undefined;
    }
    const [, indent = '', dash, key, text] = match;
    const done =
      dash === undefined ? readPair(frames, indent.length, key ?? '', text) : readItem(frames, indent.length, dash);
    if (!done) return undefined;
  }
  return { ok: true, value, lossy: [] };
}

/** An indentation, then either `- text` or `key:` with or without text; spaces at the end mean nothing. */
const lineShape = /^( *)(?:- +(\S(?:.*\S)?)|([A-Za-z_][\w-]*):(?: +(\S(?:.*\S)?))?) *$/;

function readItem(frames: Frame[], indent: number, text: string): boolean {
  const frame = frames.at(-1);
  if (frame?.open === undefined || indent < frame.indent) return false;
  const scalar = readScalar(text);
  if (scalar === undefined) return false;
  if (frame.list === undefined) {
    frame.list = [];
    frame.listIndent = indent;
    frame.map[frame.open] = frame.list;
  }
  frame.list.push(scalar.value);
  return indent === frame.listIndent;
}

function readPair(frames: Frame[], indent: number, key: string, text: string | undefined): boolean {
  let frame = frames.at(-1);
  while (frame !== undefined && indent < frame.indent) {
    frames.pop();
    frame = frames.at(-1);
  }
  if (frame === undefined || frames.length > 32) return false;
  if (indent > frame.indent) {
    if (frame.open === undefined || frame.list !== undefined) return false;
    const map: Frontmatter = {};
    frame.map[frame.open] = map;
    frame.open = undefined;
    frame = { indent, map, listIndent: 0 };
    frames.push(frame);
  }
  if (key === '__proto__' || word.test(key) || Object.hasOwn(frame.map, key)) return false;
  const scalar = text === undefined ? { value: null } : (readScalar(text) ?? readFlowList(text));
  if (scalar === undefined) return false;
  frame.map[key] = scalar.value;
  frame.open = text === undefined ? key : undefined;
  frame.list = undefined;
  return true;
}

/** Characters with a meaning of their own to some reader: controls, lone CR, tabs, the odd line and byte-order marks. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what must be found
const outside = /[\x00-\x09\x0b\x0c\x0e-\x1f\x7f-\x9f\u2028\u2029\ufeff]|\r(?!\n)/;
/** What the core schema takes for something other than a string. */
const word = /^(?:null|true|false)$/i;
const number = /^[-+]?(?:\.inf|\.nan|0x[0-9a-f]+|0o[0-7]+|(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:e[-+]?[0-9]+)?)$/i;
const simpleNumber = /^-?(?:0|[1-9]\d{0,14})$|^-?\d{1,9}\.\d{1,6}$/;
const startsPlain = /^[^-?:,[\]{}#&*!|>'"%@`~]|^-(?=[^ ])/;

function readScalar(text: string): { value: unknown } | undefined {
  if (text.startsWith('"')) return /^"[^"\\]*"$/.test(text) ? { value: text.slice(1, -1) } : undefined;
  if (text.startsWith("'")) {
    return /^'(?:[^']|'')*'$/.test(text) ? { value: text.slice(1, -1).replaceAll("''", "'") } : undefined;
  }
  if (!startsPlain.test(text) || text.startsWith('...') || text.startsWith('--')) return undefined;
  if (text.endsWith(':') || text.includes(': ') || text.includes(' #')) return undefined;
  if (word.test(text)) {
    if (text === 'true' || text === 'false') return { value: text === 'true' };
    return undefined;
  }
  if (number.test(text)) return simpleNumber.test(text) ? { value: Number(text) } : undefined;
  return { value: text };
}

const flowWord = /^[A-Za-z][\w./-]*(?: [\w./-]+)*$/;

function readFlowList(text: string): { value: unknown[] } | undefined {
  if (!/^\[.+\]$/.test(text)) return undefined;
  const items = text
    .slice(1, -1)
    .split(',')
    .map((item) => item.trim());
  return items.every((item) => flowWord.test(item) && !word.test(item)) ? { value: items } : undefined;
}
