import { directoryOf, nameOf, urlPath, withoutExtension } from './paths.ts';

/** A segment of a route that files define: fixed, or a parameter with what stands around it. */
export type RouteSegment = { text: string } | { before: string; name: string; rest: boolean; after: string };

const parameter = /^([^[\]]*)\[+(\.\.\.)?(\w[\w=]*)\]+([^[\]]*)$/;

/** `a/[b]/[...c]` as segments; null when a segment is not understood. */
export function routeSegments(path: string): RouteSegment[] | null {
  const segments: RouteSegment[] = [];
  for (const text of path.split('/').filter(Boolean)) {
    const [, before = '', rest, name, after = ''] = parameter.exec(text) ?? [];
    if (name !== undefined) {
      segments.push({ before, name: name.replace(/=.*/, ''), rest: rest !== undefined, after });
    } else if (/[[\]]/.test(text)) return null;
    else segments.push({ text });
  }
  return segments;
}

/** The path of a file below the directory of pages, without extension and index. */
export function routeOfFile(rest: string): string {
  const stem = withoutExtension(nameOf(rest));
  return stem === 'index' ? directoryOf(rest) : [directoryOf(rest), stem].filter(Boolean).join('/');
}

/** A route with values for its parameters; null when one is missing, or has several segments where one is expected. */
export function fillRoute(
  segments: readonly RouteSegment[],
  value: (name: string) => string | undefined,
): string | null {
  const parts: string[] = [];
  for (const segment of segments) {
    if ('text' in segment) parts.push(segment.text);
    else {
      const text = value(segment.name);
      if (text === undefined || (!segment.rest && (text === '' || text.includes('/')))) return null;
      parts.push(segment.before + text + segment.after);
    }
  }
  return urlPath(...parts.filter(Boolean));
}
