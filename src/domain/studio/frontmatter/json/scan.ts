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
export function stringEnd(text: string, start: number): number {
  for (let at = start + 1; at < text.length; at++) {
    if (text[at] === '\\') at++;
    else if (text[at] === '"') return at;
  }
  return text.length;
}
