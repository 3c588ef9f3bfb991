import { numberText } from '../yaml/scalar-text.ts';
import { tomlString } from './emit-toml.ts';
import { readToml } from './read-toml.ts';

/**
 * A TOML scalar in the manner of the one it replaces (or stands beside): dates stay dates, floats stay floats, literal strings
 * stay literal and multi-line strings multi-line where the new value allows it.
 */
export function tomlScalarLike(value: unknown, like: string, isDate: boolean, eol: string): string {
  if (typeof value === 'number') {
    const text = numberText(value);
    const float = /^[-+]?\d[\d_]*(?:\.|[eE])/.test(like);
    return float && Number.isSafeInteger(value) ? `${text}.0` : text;
  }
  if (typeof value !== 'string') return String(value);
  if ((isDate || /^(?:\d{4}-\d\d-\d\d|\d\d:\d\d)/.test(like)) && isTomlDate(value)) return value;
  if (/^(?:"""|''')/.test(like) && value.includes('\n') && eol === '\n') return multiLine(value);
  // biome-ignore lint/suspicious/noControlCharactersInRegex: a literal string cannot hold them
  const literal = /^'(?!'')/.test(like) && !/['\x00-\x1f\x7f]/.test(value) && value.isWellFormed();
  return literal ? `'${value}'` : tomlString(value);
}

/** Whether TOML reads the text as a date or time and gives the same text back. */
function isTomlDate(value: string): boolean {
  if (!/^(?:\d{4}-\d\d-\d\d(?:T\d\d:\d\d:\d\d.*)?|\d\d:\d\d:\d\d.*)$/.test(value)) return false;
  const read = readToml(`x = ${value}`);
  return read.ok && read.value.x === value;
}

/** Line ends stay as they are, all else is escaped as on one line. */
function multiLine(value: string): string {
  return `"""\n${value
    .split('\n')
    .map((line) => tomlString(line).slice(1, -1))
    .join('\n')}"""`;
}
