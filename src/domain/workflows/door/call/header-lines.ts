/** The values of all lines of one name, which is given in lower case. */
export function headerLines(rawHeaders: readonly string[], name: string): string[] {
  const lines: string[] = [];
  for (let at = 0; at + 1 < rawHeaders.length; at += 2)
    if (rawHeaders[at]?.toLowerCase() === name) lines.push(rawHeaders[at + 1] ?? '');
  return lines;
}

/** All headers by their names in lower case; repeated lines are joined as RFC 9110 5.3 says. */
export function joinedHeaders(rawHeaders: readonly string[]): Map<string, string> {
  const joined = new Map<string, string>();
  for (let at = 0; at + 1 < rawHeaders.length; at += 2) {
    const name = (rawHeaders[at] ?? '').toLowerCase();
    const known = joined.get(name);
    const value = rawHeaders[at + 1] ?? '';
    joined.set(name, known === undefined ? value : `${known}, ${value}`);
  }
  return joined;
}
