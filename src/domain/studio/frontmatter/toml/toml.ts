import { parse, TomlDate, TomlError } from 'smol-toml';
import { pointerTo } from '../../../../lib/json-pointer.ts';
import { isRecord } from '../../../../lib/objects.ts';
import { type Frontmatter, LossyPointers, limits, type Reading, setOwn } from '../values.ts';
import { isDateText, numberText } from '../yaml/emit.ts';

const bareKey = /^[A-Za-z0-9_-]+$/;

export function tomlKey(key: string): string {
  return bareKey.test(key) ? key : tomlString(key);
}

/** A basic string. TOML (1.0) has JSON's escapes, and must also have DEL escaped. */
export function tomlString(value: string): string {
  return JSON.stringify(value).replaceAll('\x7f', '\\u007f');
}

/** A value on one line; a map becomes an inline table. TOML has no null, the caller has refused it. */
export function tomlValue(value: unknown, datesPlain: boolean): string {
  if (typeof value === 'number') return numberText(value);
  if (typeof value === 'string') return datesPlain && isDateText(value) ? value : tomlString(value);
  if (Array.isArray(value)) return `[${value.map((item) => tomlValue(item, datesPlain)).join(', ')}]`;
  if (!isRecord(value)) return String(value);
  const pairs = Object.entries(value).map(([key, member]) => `${tomlKey(key)} = ${tomlValue(member, datesPlain)}`);
  return pairs.length === 0 ? '{}' : `{ ${pairs.join(', ')} }`;
}

/** A document: plain values first, then a table for each map and for each list of maps, since a table takes all that follows it. */
export function tomlText(
  map: Record<string, unknown>,
  eol: string,
  datesPlain: boolean,
  prefix: string[] = [],
): string {
  const lines: string[] = [];
  const tables: string[] = [];
  for (const [key, value] of Object.entries(map)) {
    const path = [...prefix, key];
    const name = path.map(tomlKey).join('.');
    if (isRecord(value)) {
      tables.push(`[${name}]${eol}${tomlText(value, eol, datesPlain, path)}`);
    } else if (Array.isArray(value) && value.length > 0 && value.every(isRecord)) {
      for (const item of value) tables.push(`[[${name}]]${eol}${tomlText(item, eol, datesPlain, path)}`);
    } else {
      lines.push(`${tomlKey(key)} = ${tomlValue(value, datesPlain)}${eol}`);
    }
  }
  return [lines.join(''), ...tables].filter((text) => text !== '').join(eol);
}

/** Reads a TOML document. Dates and times are given as strings in the form TOML writes them. */
export function readToml(source: string): Reading {
  try {
    const lossy = new LossyPointers();
    const table = parse(source, { integersAsBigInt: true, maxDepth: 1000 });
    return { ok: true, value: convertTable(table, '', 1, lossy), lossy: lossy.found };
  } catch (error) {
    if (error instanceof TomlError) {
      return { ok: false, message: summary(error.message), offset: offsetOf(source, error.line, error.column) };
    }
    return { ok: false, message: error instanceof Error ? error.message : String(error), offset: 0 };
  }
}

function convertTable(table: object, pointer: string, depth: number, lossy: LossyPointers): Frontmatter {
  if (depth > limits.depth) throw new RangeError(`nested deeper than ${limits.depth} levels`);
  const result: Frontmatter = {};
  for (const [key, value] of Object.entries(table)) {
    setOwn(result, key, convert(value, pointerTo(pointer, key), depth, lossy));
  }
  return result;
}

function convert(value: unknown, pointer: string, depth: number, lossy: LossyPointers): unknown {
  if (value instanceof TomlDate) return tomlDateText(value);
  if (Array.isArray(value)) {
    if (depth + 1 > limits.depth) throw new RangeError(`nested deeper than ${limits.depth} levels`);
    return value.map((item, at) => convert(item, pointerTo(pointer, at), depth + 1, lossy));
  }
  if (typeof value === 'object' && value !== null) return convertTable(value, pointer, depth + 1, lossy);
  if (typeof value === 'bigint') {
    const number = Number(value);
    if (Number.isSafeInteger(number)) return number;
    lossy.add(pointer);
    return value.toString();
  }
  if (typeof value === 'number' && !Number.isFinite(value)) {
    lossy.add(pointer);
    return Number.isNaN(value) ? 'nan' : value > 0 ? 'inf' : '-inf';
  }
  return value;
}

/** The date as TOML writes it, without the milliseconds the library adds to a time that has none. */
function tomlDateText(date: TomlDate): string {
  return date.toISOString().replace(/\.000(?=$|[Zz+-])/, '');
}

function summary(message: string): string {
  return message.split('\n')[0]?.replace(/^Invalid TOML document: /, '') ?? message;
}

function offsetOf(source: string, line: number, column: number): number {
  let start = 0;
  for (let at = 1; at < line; at++) {
    const end = source.indexOf('\n', start);
    if (end < 0) break;
    start = end + 1;
  }
  return Math.min(start + Math.max(column - 1, 0), source.length);
}
