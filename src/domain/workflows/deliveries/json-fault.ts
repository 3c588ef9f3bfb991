const maxDepth = 200;

/** What is wrong with a text as JSON, and where: an offset in UTF-16 units. */
export interface JsonFault {
  message: string;
  position: number;
}

/** The place of the bracket that nests too deep; null when none does. Text that is no JSON may be judged either way. */
export function tooDeepAt(text: string): number | null {
  let depth = 0;
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code === 0x22) {
      for (at += 1; at < text.length && text.charCodeAt(at) !== 0x22; at += 1)
        if (text.charCodeAt(at) === 0x5c) at += 1;
    } else if (code === 0x5b || code === 0x7b) {
      depth += 1;
      if (depth > maxDepth) return at;
    } else if (code === 0x5d || code === 0x7d) depth -= 1;
  }
  return null;
}

const space = /[ \t\n\r]*/y;
// biome-ignore lint/suspicious/noControlCharactersInRegex: RFC 8259 7 excludes exactly these from strings
const string = /"(?:[^"\\\u0000-\u001f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*"/y;
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
  /** Closing brackets still owed, the innermost last. */
  const open: string[] = [];
  const key = () => {
    take(space);
    if (!take(string)) return false;
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
    } else if (!take(string) && !take(scalar)) return at;
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

/** Parses JSON nested at most 200 deep. */
export function parseJson(text: string): { value: unknown } | { fault: JsonFault } {
  const deep = tooDeepAt(text);
  if (deep !== null) return { fault: { message: `is nested more than ${maxDepth} levels deep`, position: deep } };
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
