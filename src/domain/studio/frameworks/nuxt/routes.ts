/**
 * Nuxt Content's paths: what a source's pattern begins with, or its `prefix`, and the file's path below, without numbers, `index` and `.draft`, each
 * part slugified. Version 3 reads `content.config`, version 2 the directory `content`. A path is an address where a page of the site shows it.
 */
import { argumentOf, codeExtensions, findConfig, readCodeConfig } from '../../schema/config/config-file.ts';
import { globFiles } from '../../schema/reader.ts';
import { below, joinPath, trimmedPath } from '../../schema/site-layout.ts';
import { at, entriesOf, textAt, textOf, textsOf, unknown, type Value } from '../../schema/static/values.ts';
import { byConvention, codeSettings } from '../conventions/convention.ts';
import { type RouteSegment, routeOfFile, routeSegments } from '../routing/file-routes.ts';
import { basePath, urlPath, withoutExtension } from '../routing/paths.ts';
import type { RouteContext, RouteRule } from '../routing/route-rule.ts';
import type { Settings } from '../routing/settings.ts';

/** Characters of ASCII that have a name. */
const named: Record<string, string> = {
  $: 'dollar',
  '%': 'percent',
  '&': 'and',
  '<': 'less',
  '>': 'greater',
  '|': 'or',
};
const version = /^\d+(?:\.\d+)*(?:\.x)?$/;

/** A part of a path as it is published; null where letters beyond ASCII are replaced by rules not known here. */
function segment(part: string): string | null {
  const text = version.test(part) ? part : part.replace(/^\d+\./, '').replace(/^index(\.draft)?$|\.draft$/, '');
  // biome-ignore lint/suspicious/noControlCharactersInRegex: what is not ASCII
  if (/[^\x00-\x7f]/.test(text)) return null;
  const words = text.replace(/[$%&<>|]/g, (one) => named[one] ?? one).replace(/[^\w\s*+~.()'"!\-:@]+/g, '');
  return words.replaceAll('-', ' ').trim().replace(/\s+/g, '-').toLowerCase();
}

/** A collection's source: its files, with their paths below the prefix. */
interface Source {
  matches(path: string): boolean;
  pathOf(path: string): string;
}

function sourceOf(value: Value, root: string): Source | null {
  const include = (textOf(value) ?? textAt(value, 'include'))?.replace(/^(?:\.{0,2}\/)+/, '');
  const cwd = at(value, 'cwd') === undefined ? 'content' : textAt(value, 'cwd');
  const prefix = at(value, 'prefix');
  if (include === undefined || cwd === undefined || /^[/~]/.test(cwd) || at(value, 'repository')) return null;
  if (prefix !== undefined && textOf(prefix) === undefined) return null;
  const fixed = include.includes('*') ? include.slice(0, include.indexOf('*')) : '';
  const excluded = textsOf(at(value, 'exclude')).map((pattern) => `!${pattern}`);
  const base = joinPath(root, trimmedPath(cwd));
  const files = globFiles(base, '.', [include, ...excluded]);
  // Of a directory whose name is only begun before the first star no file is found.
  if ('unknown' in files || !/^([^{}[\]?!()\\]*\/)?$/.test(fixed)) return null;
  return {
    matches: files.matches,
    pathOf: (path) => `${textOf(prefix) ?? fixed}/${(below(base, path) ?? '').slice(fixed.length)}`,
  };
}

/** The sources of all collections of pages; null: the site declares no collections. */
async function readSources(settings: Settings, reading: RouteContext): Promise<Source[] | null> {
  const path = findConfig(reading, ['content.config'], codeExtensions);
  if (path === undefined) return null;
  const { value } = await readCodeConfig(path, { ...reading, warnings: [] });
  const collections = at(value ?? undefined, 'collections');
  const warn = (name: string) => settings.warn(name, unknown('it is not understood', { path, line: 1 }));
  if (collections?.kind !== 'record' || collections.parts.some(([name]) => name === null)) warn('collections');
  return entriesOf(collections).flatMap(([name, one]) => {
    const definition = argumentOf(one) ?? undefined;
    const type = at(definition, 'type');
    if (textOf(type) === 'data') return [];
    const given = at(definition, 'source');
    const sources = given?.kind === 'list' ? given.items : given ? [given] : [];
    const isPage = definition?.kind === 'record' && (type === undefined || textOf(type) === 'page');
    const found = isPage ? sources.map((source) => sourceOf(source, reading.layout.root)) : [null];
    if (found.includes(null)) warn(`collections.${name}`);
    return found.filter((source) => source !== null);
  });
}

/** Whether a page of the site answers at a path; a site without pages of its own has those of a theme. */
function shownBy({ layout, paths }: RouteContext): (path: string) => boolean {
  const routes = paths.flatMap((path) => {
    const rest = below(layout.root, path)?.replace(/^(app|src)\//, '');
    const page = rest === undefined || !/\.(vue|[jt]sx?)$/.test(rest) ? null : below('pages', rest);
    return page === null ? [] : [routeSegments(routeOfFile(page))];
  });
  const answers = (segments: readonly RouteSegment[], parts: readonly string[]): boolean => {
    const isWhole = segments.some((one) => 'rest' in one && one.rest)
      ? segments.length - 1 <= parts.length
      : segments.length === parts.length;
    return isWhole && segments.every((one, index) => ('text' in one ? one.text === parts[index] : true));
  };
  return (path) => {
    const parts = path.split('/').filter(Boolean);
    return routes.length === 0 || routes.some((route) => route === null || answers(route, parts));
  };
}

export async function readNuxtRule(reading: RouteContext): Promise<RouteRule> {
  const settings = await codeSettings(reading, ['nuxt.config']);
  const { root } = reading.layout;
  const isOld = /^\D{0,2}[012]\b/.test(reading.detected.framework?.version ?? '');
  const sources = isOld ? null : await readSources(settings, reading);
  const usual = sourceOf({ kind: 'scalar', value: '**' }, root);
  const pages = sources ?? (usual ? [usual] : []);
  // These move paths, or take them from elsewhere.
  const moving = isOld ? ['sources', 'locales', 'ignores'] : ['build.pathMeta'];
  const moved = moving.filter((name) => settings.at('content', ...name.split('.')) !== undefined);
  for (const name of moved)
    settings.warn(`content.${name}`, unknown('it changes paths', { path: settings.path, line: 1 }));
  const isShown = shownBy(reading);
  return byConvention(
    settings,
    {
      base: basePath(settings.text('app', 'baseURL')),
      links: { files: 'below_base', pages: 'below_base' },
      undetermined: settings.firstUnknown('app.baseURL'),
    },
    ({ path, frontmatter }) => {
      if (moved.length > 0 || !path.endsWith('.md')) return null;
      const source = pages.find((one) => one.matches(path));
      if (source === undefined) return null;
      const stem = withoutExtension(source.pathOf(path));
      // Version 2 publishes no drafts and no parts of pages.
      if (isOld && (/\.draft$/.test(stem) || /(^|\/)_/.test(stem) || frontmatter._draft === true)) return null;
      const own = isOld ? frontmatter._path : frontmatter.path;
      const parts = stem.split('/').map(segment);
      if (parts.includes(null)) return null;
      const url =
        own === undefined || own === null ? urlPath(...parts.map((part) => part ?? '')).replace(/(?<=.)\/$/, '') : own;
      return typeof url === 'string' && url.startsWith('/') && isShown(url) ? url : null;
    },
  );
}
