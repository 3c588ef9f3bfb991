import { codeExtensions, findConfig, readCodeConfig } from '../../schema/config/config-file.ts';
import { compileGlob } from '../../schema/glob.ts';
import { below, joinPath } from '../../schema/site-layout.ts';
import { at, textOf } from '../../schema/static/values.ts';
import { basePath, urlPath } from '../routing/paths.ts';
import { penalizeUnknown, type RouteContext, type RouteRule } from '../routing/route-rule.ts';
import { Settings } from '../routing/settings.ts';

/**
 * Rewrites of paths by patterns with `:name`, `:name*`, `:name+` and `(.*)`: the first that fits decides. They come from repositories, so they
 * are matched segment by segment and never become a backtracking RegExp.
 */
type Segment =
  | { text: string }
  | { name: string; many: boolean; least: number }
  | { before: string; name: string; after: string };

const whole = /^:(\w+)(?:\(\.[*+]\))?([*+])?$/;
const part = /^([^:()*+]*):(\w+)(?!\w)([^:()*+]*)$/;

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

/**
 * @param onUnknown called for each rule that is not understood
 * @returns the path that is published; null: a rule that is not understood may decide about it
 */
function rewriter(
  rules: readonly (readonly [string, string | undefined])[],
  onUnknown: () => void,
): (path: string) => string | null {
  const read = rules.map(([from, to]) => ({ segments: parse(from), to }));
  for (const { segments, to } of read) if (segments === null || to === undefined) onUnknown();
  return (path) => {
    for (const { segments, to } of read) {
      if (segments === null || (to === undefined && match(segments, path.split('/')))) return null;
      if (to === undefined) continue;
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

/** VitePress: the path below `srcDir` after its rewrites, `.html` unless addresses are clean. */
export async function readVitepressRule(reading: RouteContext): Promise<RouteRule> {
  const path = findConfig(reading, ['.vitepress/config', '.vitepress/config/index'], codeExtensions);
  const read = path === undefined ? null : await readCodeConfig(path, reading);
  const settings = new Settings(read?.value, path ?? reading.layout.root, reading);
  const clean = settings.flag('cleanUrls') ?? false;
  const source = (settings.text('srcDir') ?? '').replace(/^\.?\/*|(?<!\/)\/+$/g, '');
  const directory = joinPath(reading.layout.root, source.includes('..') ? '' : source);
  const excluded = settings.texts('srcExclude').map((pattern) => compileGlob(pattern.replace(/^\/+/, '')));
  if (excluded.includes(null)) settings.warn('srcExclude');
  const rewrites = at(settings.value, 'rewrites');
  const isUnclear = rewrites !== undefined && settings.at('rewrites')?.kind !== 'record';
  if (isUnclear) settings.warn('rewrites', rewrites);
  const rules = settings.entries('rewrites').map(([from, to]) => [from, textOf(to)] as const);
  const rewrite = rewriter(rules, () => settings.warn('rewrites'));
  return {
    base: basePath(settings.text('base')),
    links: { files: 'below_base', pages: 'below_base' },
    undetermined: settings.firstUnknown('base', 'cleanUrls', 'srcDir'),
    urlOf(file) {
      const rest = below(directory, file.path);
      if (rest === null || !rest.endsWith('.md') || /\[\w+\]/.test(rest)) return null;
      if (rest.split('/').some((part) => part.startsWith('.') || part === 'node_modules')) return null;
      if (excluded.some((glob) => glob?.matches(rest))) return null;
      const target = isUnclear ? undefined : rewrite(rest)?.replace(/\.md$/, '');
      if (target === undefined) return null;
      if (target === 'index' || target.endsWith('/index')) return urlPath(target.slice(0, -'index'.length));
      return urlPath(clean ? target : `${target}.html`);
    },
    evidenceOf: () => ({
      confidence: penalizeUnknown(path === undefined || read?.value == null ? 0.7 : 0.9, settings.unknown),
      source: { path: settings.path },
    }),
  };
}
