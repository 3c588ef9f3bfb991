import type { Place, Problem } from '../definition/parse-source.ts';
import { ExpressionSyntaxError } from './parse-expression.ts';

/** A string of a definition taken apart: text, and the JSONata between `${{` and `}}` with where it begins. */
export type TemplatePart = { text: string } | { expression: string; offset: number };

const opening = '${{';
const escaped = '$${{';

/**
 * Where the `}}` that closes an expression is. Strings, names in backticks, comments and the expression's own braces are passed over, so
 * that `{"a": {"b": 1}}` ends where it ends.
 */
function closingAt(text: string, from: number): number {
  let depth = 0;
  for (let at = from; at < text.length; at += 1) {
    const char = text[at];
    if (char === '"' || char === "'" || char === '`') {
      at += 1;
      while (at < text.length && text[at] !== char) at += text[at] === '\\' && char !== '`' ? 2 : 1;
    } else if (char === '/' && text[at + 1] === '*') {
      const end = text.indexOf('*/', at + 2);
      at = end === -1 ? text.length : end + 1;
    } else if (char === '{' || char === '(' || char === '[') depth += 1;
    else if (depth > 0 && (char === '}' || char === ')' || char === ']')) depth -= 1;
    else if (char === '}' && text[at + 1] === '}') return at;
  }
  return -1;
}

/**
 * Takes a string apart; `$${{` stands for the characters `${{`.
 * @throws ExpressionSyntaxError at the opening brackets when an expression is not closed
 */
export function parseTemplate(text: string): TemplatePart[] {
  const parts: TemplatePart[] = [];
  let plain = '';
  let at = 0;
  while (at < text.length) {
    const next = text.indexOf(opening, at);
    if (next === -1) break;
    if (next > at && text.startsWith(escaped, next - 1)) {
      plain += text.slice(at, next - 1) + opening;
      at = next + opening.length;
      continue;
    }
    plain += text.slice(at, next);
    const start = next + opening.length;
    const end = closingAt(text, start);
    if (end === -1) throw new ExpressionSyntaxError(`"${opening}" is not closed by "}}"`, next);
    if (plain !== '') parts.push({ text: plain });
    plain = '';
    parts.push({ expression: text.slice(start, end), offset: start });
    at = end + 2;
  }
  plain += text.slice(at);
  if (plain !== '' || parts.length === 0) parts.push({ text: plain });
  return parts;
}

/** An expression of a definition. */
export interface PlacedExpression {
  text: string;
  place: Place;
  /** Where the expression begins within the text at its place. */
  offset: number;
  /** Whether `secrets` may be named in it. */
  maySecret: boolean;
}

/** The expressions in the templates of a value, whatever its shape; a template that is not closed is a problem. */
export function templatesIn(value: unknown, place: Place, problems: Problem[], maySecret = false): PlacedExpression[] {
  if (typeof value === 'string') {
    try {
      return parseTemplate(value).flatMap((part) =>
        'expression' in part ? [{ text: part.expression, place, offset: part.offset, maySecret }] : [],
      );
    } catch (error) {
      if (!(error instanceof ExpressionSyntaxError)) throw error;
      problems.push({ place, code: 'syntax', message: error.message, offset: error.position });
      return [];
    }
  }
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, item]) =>
    templatesIn(item, [...place, Array.isArray(value) ? Number(key) : key], problems, maySecret),
  );
}

/** Whether a string holds an expression at all, closed or not. */
export const hasTemplate = (text: string): boolean => text.replaceAll(escaped, '').includes(opening);

/** What an expression's value is within a text: nothing when it is missing, JSON when it is no text. */
export function asText(value: unknown): string {
  if (value === undefined || value === null) return '';
  return typeof value === 'string' ? value : JSON.stringify(value);
}
