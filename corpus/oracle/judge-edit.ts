import { isDeepStrictEqual } from 'node:util';
import { Lexer } from 'yaml';
import { applyChange, type Change } from '../checks/change.ts';
import { type Block, findBlock } from './block.ts';
import { readBlock } from './read-block.ts';
import type { Region } from './region.ts';
import { regionsOf } from './regions.ts';

/**
 * Holds a file an engine has written against the one it had, by other means than the engine's own: the format's library must read
 * the change and nothing else, and every byte outside of the lines that belong to the changed key must be as it was.
 *
 * @returns what is wrong; null when the edit is exact
 */
export function judgeEdit(before: string, after: string, path: string, change: Change): string | null {
  const from = findBlock(before, path);
  const to = findBlock(after, path);
  if (to === null) return 'the result has no frontmatter';
  const known = from === null ? {} : readBlock(before.slice(from.start, from.end), from.format);
  const fault = readsAs(after.slice(to.start, to.end), to.format, applyChange(known, change));
  if (fault !== null) return fault;
  if (before.slice(from?.bodyStart ?? top(before)) !== bodyOf(after, from, to)) return 'the body changed';
  if (isCrlf(before) && /(?<!\r)\n/.test(after)) return 'a line end is no longer CRLF';
  return judgeBytes(before, after, from, change);
}

const top = (text: string) => (text.startsWith('\ufeff') ? 1 : 0);

export const isCrlf = (text: string) => text.includes('\r\n') && !/(?<!\r)\n/.test(text);

/** A file that had no block gets an empty line between its new one and its body. */
function bodyOf(after: string, from: Block | null, to: Block): string {
  const rest = after.slice(to.bodyStart);
  return from === null ? rest.replace(/^\r?\n/, '') : rest;
}

/** Why a source does not read as wanted; null when it does. */
export function readsAs(source: string, format: Block['format'], wanted: unknown): string | null {
  try {
    return isDeepStrictEqual(readBlock(source, format), wanted) ? null : 'reads as something else than wanted';
  } catch (error) {
    return `cannot be read: ${error instanceof Error ? error.message.split('\n')[0] : error}`;
  }
}

function judgeBytes(before: string, after: string, from: Block | null, change: Change): string | null {
  const { head, tail } = common(before, after);
  if (change.op === 'set' && !hasPath(before, from, change)) {
    const isEmpty = from !== null && /^[\s{}]*$/.test(before.slice(from.start, from.end));
    return head + tail < before.length && !isEmpty ? 'an addition changed what was there' : null;
  }
  if (change.op === 'remove' && isKey(change) && head + tail < after.length) return 'a removal changed what stays';
  if (from === null) return null;
  const region = regionsOf(before.slice(from.start, from.end), from.format, change.path);
  // Where the libraries do not tell the place, all that can be said is that the block alone has changed.
  const { start, end } = region === null ? { start: 0, end: from.end - from.start } : ownOf(region, change);
  const [first, last] = [from.start + start, before.length - (from.start + end)];
  const isInside = head >= first && tail >= last && after.length >= first + last;
  if (!isInside) return 'bytes outside of the changed key changed';
  const keeps = change.op === 'insert' || change.op === 'move';
  return keeps && losesComment(before, after, from) ? 'a comment was lost' : null;
}

const isKey = ({ path }: Change) => typeof path.at(-1) === 'string';

function losesComment(before: string, after: string, { format, start }: Block): boolean {
  const left = commentsIn(after.slice(start), format);
  return commentsIn(before.slice(start), format).some((text) => {
    const at = left.indexOf(text);
    if (at !== -1) left.splice(at, 1);
    return at === -1;
  });
}

/** Comments as the library's lexer finds them; of TOML those that have a line of their own. Text below the block has to stay as well. */
function commentsIn(text: string, format: Block['format']): string[] {
  if (format === 'json') return [];
  if (format === 'toml') return text.match(/^[ \t]*#[^\r\n]*/gm) ?? [];
  return [...new Lexer().lex(text)].filter((lexeme) => lexeme.startsWith('#'));
}

const ownOf = ({ value, lines }: { value: Region; lines: Region }, change: Change) => {
  if (change.op === 'remove' && isKey(change)) return lines;
  return change.op === 'set' ? value : { start: value.start, end: Math.max(value.end, lines.end) };
};

function hasPath(before: string, from: Block | null, { path }: Change): boolean {
  if (from === null) return false;
  let here: unknown = readBlock(before.slice(from.start, from.end), from.format);
  for (const name of path) {
    if (typeof here !== 'object' || here === null || !Object.hasOwn(here, name)) return false;
    here = (here as Record<string | number, unknown>)[name];
  }
  return true;
}

/** How many characters two texts have in common at the beginning, and how many at the end. */
function common(before: string, after: string): { head: number; tail: number } {
  const shorter = Math.min(before.length, after.length);
  let head = 0;
  while (head < shorter && before[head] === after[head]) head++;
  let tail = 0;
  while (tail < shorter && before.at(-1 - tail) === after.at(-1 - tail)) tail++;
  return { head, tail };
}
