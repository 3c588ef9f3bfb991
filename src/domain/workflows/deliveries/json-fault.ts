const maxDepth = 200;
/** 25 MiB may hold ten million values, which take a parser seconds and a gigabyte; what people push has some 10,000. */
export const maxValues = 200_000;

/** What is wrong with a text as JSON, and where: an offset in UTF-16 units. */
export interface JsonFault {
  message: string;
  position: number;
}

/**
 * Where a text nests too deep or begins a value too many, judged before a parser makes objects of it; null: nowhere. Text that is no JSON may
 * be judged either way.
 */
export function excessAt(text: string): JsonFault | null {
  let depth = 0;
  let values = 1;
  /** The bracket before was an opening one: whatever else follows is the first value in it. */
  let opened = false;
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code === 0x20 || code === 0x0a || code === 0x0d || code === 0x09) continue;
    const isEnd = code === 0x5d || code === 0x7d;
    if (code === 0x2c || (opened && !isEnd)) {
      values += 1;
      if (values > maxValues) return { message: `has more than ${maxValues} values`, position: at };
    }
    opened = false;
    if (code === 0x22) {
      for (at += 1; at < text.length && text.charCodeAt(at) !== 0x22; at += 1)
        if (text.charCodeAt(at) === 0x5c) at += 1;
    } else if (code === 0x5b || code === 0x7b) {
      opened = true;
      depth += 1;
      if (depth > maxDepth) return { message: `is nested more than ${maxDepth} levels deep`, position: at };
    } else if (isEnd) depth -= 1;
  }
  return null;
}

const space = /[ \t\n\r]*/y;
const escapeSequence = /\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})/y;
const scalar = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null/y;

/**
 * Where a text stops being JSON (RFC 8259); null when it does not. Only for texts that a parser has refused: parsers do not tell the place of
 * every fault.
 */
export function jsonFaultAt(text: string): number | null {
  let at = 0;
  const take = (pattern: RegExp) => {
    pattern.lastIndex = at;
    if (!pattern.test(text)) return false;
    at = pattern.lastIndex;
    return true;
  };
  /** A loop, since a pattern that repeats a choice runs out of stack in a string of some megabytes. */
  const takeString = () => {
    const began = at;
    if (text[at] !== '"') return false;
    for (at += 1; at < text.length; ) {
      const code = text.charCodeAt(at);
      // RFC 8259 7 excludes control characters from strings.
      if (code < 0x20 || (code === 0x5c && !take(escapeSequence))) break;
      if (code === 0x5c) continue;
      at += 1;
      if (code === 0x22) return true;
    }
    at = began;
    return false;
  };
  /** Closing brackets still owed, the innermost last. */
  const open: string[] = [];
  const key = () => {
    take(space);
    if (!takeString()) return false;
    take(space);
    if (text[at] !== ':') return false;
    at += 1;
    return true;
  };
  for (;;) {
    // A value.
    take(space);
    const bracket = text[at];
    if (bracket === '[' || bracket === '{') {
      at += 1;
      take(space);
      const end = bracket === '[' ? ']' : '}';
      if (text[at] === end) at += 1;
      else {
        open.push(end);
        if (bracket === '{' && !key()) return at;
        continue;
      }
    } else if (!takeString() && !take(scalar)) return at;
    // What may stand behind a value.
    for (;;) {
      take(space);
      const owed = open.at(-1);
      if (owed === undefined) return at === text.length ? null : at;
      if (text[at] === owed) {
        at += 1;
        open.pop();
        continue;
      }
      if (text[at] !== ',') return at;
      at += 1;
      if (owed === '}' && !key()) return at;
      break;
    }
  }
}

/** Parses JSON nested at most 200 deep, of at most 200,000 values. */
export function parseJson(text: string): { value: unknown } | { fault: JsonFault } {
  const fault = excessAt(text);
  if (fault !== null) return { fault };
  try {
    return { value: JSON.parse(text) };
  } catch {
    return { fault: { message: 'is not valid JSON', position: jsonFaultAt(text) ?? 0 } };
  }
}

/** Removes keys that assignments would take for the prototype, at any depth. @returns whether there were any */
export function dropProtoKeys(value: unknown): boolean {
  let dropped = false;
  const left = [value];
  while (left.length > 0) {
    const next = left.pop();
    if (next === null || typeof next !== 'object') continue;
    if (Object.hasOwn(next, '__proto__')) {
      dropped = true;
      Reflect.deleteProperty(next, '__proto__');
    }
    for (const item of Array.isArray(next) ? next : Object.values(next)) left.push(item);
  }
  return dropped;
}
