/**
 * Rewrites of paths by patterns with `:name`, `:name*`, `:name+` and `(.*)`: the first that fits decides. They come from repositories, so they
 * are matched segment by segment and never become a backtracking RegExp.
 */
type Segment =
  | { text: string }
  | { name: string; many: boolean; least: number }
  | { before: string; name: string; after: string };

const whole = /^:(\w+)(?:\(\.[*+]\))?([*+])?$/;
const part = /^([^:()*+]*):(\w+)([^:()*+]*)$/;

function parse(pattern: string): Segment[] | null {
  const segments: Segment[] = [];
  for (const text of pattern.split('/').filter(Boolean)) {
    const [, name, count] = whole.exec(text) ?? [];
    const inside = part.exec(text);
    if (name !== undefined)
      segments.push({ name, many: count !== undefined || text.includes('('), least: count === '*' ? 0 : 1 });
    else if (inside) segments.push({ before: inside[1] ?? '', name: inside[2] ?? '', after: inside[3] ?? '' });
    else if (/[:()*+]/.test(text)) return null;
    else segments.push({ text });
  }
  // Several open ends could be matched in many ways.
  return segments.filter((one) => 'many' in one && one.many).length > 1 ? null : segments;
}

function matchOne(segment: Segment, text: string | undefined, found: Map<string, string>): boolean {
  if (text === undefined) return false;
  if ('text' in segment) return segment.text === text;
  if (!('before' in segment)) {
    found.set(segment.name, text);
    return true;
  }
  const { before, after } = segment;
  const middle = text.slice(before.length, text.length - after.length);
  found.set(segment.name, middle);
  return middle !== '' && text === before + middle + after;
}

function match(segments: readonly Segment[], path: readonly string[]): Map<string, string> | null {
  const found = new Map<string, string>();
  const open = segments.findIndex((one) => 'many' in one && one.many);
  const head = open === -1 ? segments.length : open;
  const tail = open === -1 ? 0 : segments.length - open - 1;
  if (open === -1 ? path.length !== head : path.length < head + tail) return null;
  for (let at = 0; at < head; at++) if (!matchOne(segments[at] as Segment, path[at], found)) return null;
  const many = segments[open];
  if (many === undefined || !('many' in many)) return found;
  const middle = path.slice(head, path.length - tail);
  if (middle.length < many.least) return null;
  found.set(many.name, middle.join('/'));
  for (let at = 0; at < tail; at++)
    if (!matchOne(segments[open + 1 + at] as Segment, path[path.length - tail + at], found)) return null;
  return found;
}

/** @param onUnknown told of each rule that is not understood; it is left out */
export function rewriter(
  rules: readonly (readonly [string, string | undefined])[],
  onUnknown: () => void,
): (path: string) => string {
  const known = rules.flatMap(([from, to]) => {
    const segments = parse(from);
    if (segments === null || to === undefined) onUnknown();
    return segments === null || to === undefined ? [] : [{ segments, to }];
  });
  return (path) => {
    for (const { segments, to } of known) {
      const found = match(segments, path.split('/'));
      if (found)
        return to
          .replace(/:(\w+)(?:\(\.[*+]\))?[*+]?/g, (_, name: string) => found.get(name) ?? '')
          .replace(/\/{2,}/g, '/')
          .replace(/^\//, '');
    }
    return path;
  };
}
