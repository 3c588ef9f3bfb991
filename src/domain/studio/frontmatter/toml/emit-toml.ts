import { isRecord } from '../values.ts';
import { isDateText, numberText } from '../yaml/scalar-text.ts';

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
