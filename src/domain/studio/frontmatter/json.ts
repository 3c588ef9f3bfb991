import { pointerTo } from '../../../lib/json-pointer.ts';
import { isRecord } from '../../../lib/objects.ts';
import { ContentFault, LossyPointers, limits, type Reading } from './values.ts';
import { numberText } from './yaml/emit.ts';

/** End of the JSON object at the start of `text` (offset after its `}`), or undefined when it never closes. Strings are skipped. */
export function scanJsonObject(text: string): number | undefined {
  let depth = 0;
  for (let at = 0; at < text.length; at++) {
    const char = text[at];
    if (char === '"') {
      at = stringEnd(text, at);
    } else if (char === '{' || char === '[') {
      depth++;
    } else if (char === '}' || char === ']') {
      depth--;
      if (depth === 0) return at + 1;
    }
  }
  return undefined;
}

/** Offset of the quote that closes the string opened at `start`, or the end of the text. */
function stringEnd(text: string, start: number): number {
  for (let at = start + 1; at < text.length; at++) {
    if (text[at] === '\\') at++;
    else if (text[at] === '"') return at;
  }
  return text.length;
}

/** JSON text. With a step, members stand on lines of their own, `indent` being the indentation of the closing bracket. */
export function jsonText(value: unknown, step: string, indent: string, eol: string): string {
  if (typeof value === 'number') return numberText(value);
  if (Array.isArray(value)) return wrap('[', value.map(member), ']');
  if (!isRecord(value)) return JSON.stringify(value);
  return wrap(
    '{',
    Object.entries(value).map(([key, inner]) => `${JSON.stringify(key)}: ${member(inner)}`),
    '}',
  );

  function member(inner: unknown): string {
    return jsonText(inner, step, indent + step, eol);
  }

  function wrap(open: string, members: string[], close: string): string {
    if (members.length === 0) return open + close;
    if (step === '') return open + members.join(', ') + close;
    return [open, members.map((text) => indent + step + text).join(`,${eol}`), indent + close]
      .join(eol)
      .replace(open + eol, open + eol);
  }
}

/** Reads a JSON object. `JSON.parse` decides what is valid; a name given twice and a depth over 64 are refused beside it. */
export function readJson(source: string): Reading {
  if (source.trim() === '') return { ok: true, value: {}, lossy: [] };
  const fault = structureFault(source);
  if (fault !== undefined) return { ok: false, ...fault };
  try {
    const lossy = new LossyPointers();
    const big = new Map<object, string[]>();
    const value: unknown = JSON.parse(
      source,
      function revive(this: object, key, member, context?: { source?: string }) {
        if (typeof member !== 'number' || context?.source === undefined || !isLossy(member, context.source))
          return member;
        const keys = big.get(this);
        if (keys) keys.push(key);
        else big.set(this, [key]);
        return context.source;
      },
    );
    if (!isRecord(value))
      return {
        ok: false,
        message: 'the file holds a list or a single value, not an object',
        offset: 0,
        hasNoFields: true,
      };
    if (big.size > 0) collectLossy(value, '', big, lossy);
    return { ok: true, value, lossy: lossy.found };
  } catch (error) {
    if (error instanceof ContentFault) return { ok: false, message: error.message, offset: error.offset };
    const message = error instanceof Error ? error.message : String(error);
    const offset = Number(/at position (\d+)/.exec(message)?.[1] ?? source.length);
    return { ok: false, message: message.replace(/ in JSON at position.*$/s, ''), offset };
  }
}

function isLossy(value: number, source: string): boolean {
  return !Number.isFinite(value) || (/^-?\d+$/.test(source) && !Number.isSafeInteger(value));
}

function collectLossy(value: unknown, pointer: string, big: Map<object, string[]>, lossy: LossyPointers): void {
  if (typeof value !== 'object' || value === null) return;
  for (const key of big.get(value) ?? []) lossy.add(pointerTo(pointer, key));
  for (const [key, member] of Object.entries(value)) collectLossy(member, pointerTo(pointer, key), big, lossy);
}

/** Faults `JSON.parse` passes over in silence. A name is a string followed by a colon. */
function structureFault(source: string): { message: string; offset: number } | undefined {
  const open: (Set<string> | undefined)[] = [];
  for (let at = 0; at < source.length; at++) {
    const char = source[at];
    if (char === '{' || char === '[') {
      if (open.push(char === '{' ? new Set() : undefined) > limits.depth) {
        return { message: `nested deeper than ${limits.depth} levels`, offset: at };
      }
    } else if (char === '}' || char === ']') {
      open.pop();
    } else if (char === '"') {
      const end = stringEnd(source, at);
      const names = open.at(-1);
      if (names !== undefined && /^\s*:/.test(source.slice(end + 1, end + 64))) {
        const name = unquote(source.slice(at, end + 1));
        if (names.has(name)) return { message: `the key ${name} is given twice`, offset: at };
        names.add(name);
      }
      at = end;
    }
  }
  return undefined;
}

function unquote(text: string): string {
  try {
    return String(JSON.parse(text));
  } catch {
    return text; // not a valid string: JSON.parse of the whole reports it
  }
}
