import type { Frontmatter } from '../../frontmatter/values.ts';
import { codeExtensions, findConfig, readCodeConfig, readDataConfig } from '../../schema/config/config-file.ts';
import { compileGlob } from '../../schema/glob.ts';
import { below, joinPath } from '../../schema/site-layout.ts';
import { resolvePath } from '../../schema/static/module-graph.ts';
import { at, entriesOf, isFalse, isTrue, itemsOf, textOf, textsOf, type Value } from '../../schema/static/values.ts';
import { routeOfFile } from '../routing/file-routes.ts';
import { basePath, directoryOf, nameOf, urlPath, withoutExtension } from '../routing/paths.ts';
import { penalizeUnknown, type RouteContext, type RouteRule } from '../routing/route-rule.ts';
import { Settings } from '../routing/settings.ts';

const dateLike = /^(\d{2}|\d{4})[-_.]\d{2}([-_.](\d{2}|\d{4}))?(.*)$/;
const versionLike = /^\d+[-_.]\d+.*$/;
const numbered = /^\d+\s*[-_.]+\s*([^-_.\s].*)$/;

/** `01-intro` → `intro`; dates and versions keep their numbers. */
function stripNumber(name: string): string {
  if (dateLike.test(name) || versionLike.test(name)) return name;
  return numbered.exec(name)?.[1] ?? name;
}

const nonEmpty = (value: unknown) => (typeof value === 'string' && value !== '' ? value : undefined);

/** Path of a document below the route of its version. */
function documentPath(rest: string, frontmatter: Frontmatter, strips: boolean): string {
  const strip = (name: string) => (strips ? stripNumber(name) : name);
  const directory = directoryOf(rest).split('/').filter(Boolean).map(strip).join('/');
  const slug = nonEmpty(frontmatter.slug);
  if (slug !== undefined) {
    const resolved = slug.startsWith('/') ? slug : (resolvePath(directory, slug) ?? '');
    return urlPath(slug.endsWith('/') ? `${resolved}/` : resolved);
  }
  const written = withoutExtension(nameOf(rest));
  const parent = nameOf(directoryOf(rest));
  const own = nonEmpty(frontmatter.id);
  const isIndex =
    /^(index|readme)$/i.test(written) || (parent !== '' && written.toLowerCase() === parent.toLowerCase());
  if (isIndex && own === undefined) return directory === '' ? '/' : urlPath(directory, '/');
  return urlPath(directory, own ?? strip(written));
}

const datedPost = /^(.*?)(\d{4}[-/]\d{1,2}[-/]\d{1,2})[-/]?(.*?)(?:\/index)?\.mdx?$/;

/** Path of a blog post below the route of the blog. */
function postPath(rest: string, frontmatter: Frontmatter): string {
  const slug = nonEmpty(frontmatter.slug);
  if (slug !== undefined) return urlPath(slug);
  const [, folder = '', date, text = ''] = datedPost.exec(rest) ?? [];
  if (date === undefined) return urlPath(rest.replace(/(?:\/index)?\.mdx?$/, ''));
  return urlPath(date.replaceAll('-', '/'), folder + text);
}

type ContentKind = 'docs' | 'blog' | 'pages';

/** One instance of a content plug-in. */
interface Instance {
  kind: ContentKind;
  id: string;
  /** Directory, from the repository's root. */
  directory: string;
  /** Without slashes at its ends. */
  route: string;
  options: Value | undefined;
}

const usual: Record<ContentKind, { path: string; route: string }> = {
  docs: { path: 'docs', route: 'docs' },
  blog: { path: 'blog', route: 'blog' },
  pages: { path: 'src/pages', route: '' },
};
const kinds = ['docs', 'blog', 'pages'] as const;
const clean = (path: string) => path.replace(/^(\.?\/)+|(?<!\/)\/+$/g, '');

/** The instance with these options; null, with a warning, when its place or its name is computed. */
function instance(kind: ContentKind, options: Value | undefined, settings: Settings, root: string): Instance | null {
  let isKnown = true;
  const text = (name: string) => {
    const value = at(options, name);
    const found = textOf(value);
    if (value === undefined || found !== undefined || value.kind === 'scalar') return found;
    settings.warn(`${kind}.${name}`, value);
    isKnown = false;
    return undefined;
  };
  const id = text('id') ?? 'default';
  const route = clean(text('routeBasePath') ?? usual[kind].route);
  const path = text('path') ?? usual[kind].path;
  const directory = resolvePath(root, path);
  if (directory === null) settings.warn(`${kind}.path`, at(options, 'path'));
  return isKnown && directory !== null ? { kind, id, directory, route, options } : null;
}

/** Neither options nor something that is switched on or off. */
const isUnclear = ({ kind }: Value) => kind !== 'record' && kind !== 'scalar' && kind !== 'list';

/**
 * The instances of presets and plug-ins; the classic preset has one of each kind unless it is switched off. What has options that cannot be
 * determined is left out with a warning: its pages may be anywhere.
 */
function instancesOf(settings: Settings, root: string): Instance[] {
  const found: Instance[] = [];
  const add = (kind: ContentKind, options: Value | undefined) => {
    const one = instance(kind, options, settings, root);
    if (one !== null) found.push(one);
  };
  const before = settings.unknown;
  const presets = settings.items('presets');
  if (settings.unknown > before) return [];
  for (const preset of presets) {
    const options = preset.kind === 'list' ? preset.items[1] : undefined;
    if (preset.kind === 'unknown' || (options && isUnclear(options))) {
      settings.warn('presets', options ?? preset);
      continue;
    }
    for (const kind of kinds) {
      const own = at(options, kind);
      if (own && isUnclear(own)) settings.warn(`presets.${kind}`, own);
      else if (!(own && isFalse(own))) add(kind, own);
    }
  }
  for (const plugin of settings.items('plugins')) {
    const [name, options] = plugin.kind === 'list' ? itemsOf(plugin) : [plugin, undefined];
    const kind = textOf(name)?.match(/(?:^|plugin-)content-(docs|blog|pages)$/)?.[1] as ContentKind | undefined;
    if (name?.kind === 'unknown' || (kind && options && isUnclear(options))) settings.warn('plugins', options ?? name);
    else if (kind) add(kind, options);
  }
  if (found.length === 0 && presets.length === 0 && settings.unknown === before)
    for (const kind of kinds) add(kind, undefined);
  return found;
}

/** A version of the docs: where its files lie, and its part of the address. */
interface Version {
  /** `current`, or the version's name. */
  name: string;
  /** From the repository's root. */
  directory: string;
  route: string;
}

/** The versions of an instance of the docs: the current ones are `next` as soon as there is a released one, and the last has no part of its own. */
async function versionsOf(instance: Instance, own: Settings, reading: RouteContext): Promise<Version[]> {
  const { root } = reading.layout;
  const prefix = instance.id === 'default' ? '' : `${instance.id}_`;
  const path = joinPath(root, `${prefix}versions.json`);
  const disabled = isTrue(at(instance.options, 'disableVersioning')) || !reading.present.has(path);
  const released = disabled ? [] : textsOf((await readDataConfig(path, reading)) ?? undefined);
  const includesCurrent = !isFalse(at(instance.options, 'includeCurrentVersion') ?? { kind: 'scalar', value: true });
  const only = textsOf(at(instance.options, 'onlyIncludeVersions'));
  const chosen = at(instance.options, 'lastVersion');
  const paths = at(instance.options, 'versions');
  for (const [name, value] of [
    ['lastVersion', chosen],
    ['versions', paths],
  ] as const) {
    if (value === undefined || !isUnclear(value)) continue;
    own.warn(`docs.${name}`, value);
    if (released.length > 0) return [];
  }
  const last = textOf(chosen) ?? released[0] ?? 'current';
  const settings = new Map(entriesOf(paths));
  const names = [...(includesCurrent ? ['current'] : []), ...released];
  return names
    .filter((name) => only.length === 0 || only.includes(name))
    .flatMap((name) => {
      const path = at(settings.get(name), 'path');
      if (path && path.kind !== 'scalar') own.warn(`docs.versions.${name}.path`, path);
      if (path && path.kind !== 'scalar') return [];
      const route = textOf(path) ?? (name === last ? '' : name === 'current' ? 'next' : name);
      const released = joinPath(root, `${prefix}versioned_docs`, `version-${name}`);
      return [{ name, directory: name === 'current' ? instance.directory : released, route: clean(route) }];
    });
}

/** A directory of content and the route its files are published below. */
interface Area {
  directory: string;
  route: string;
  kind: ContentKind;
  /** null: by a function of the site's own. */
  stripsNumbers: boolean | null;
  excluded: (rest: string) => boolean;
}

/** Docusaurus: documents, posts and pages of every instance, version and language. */
export async function readDocusaurusRule(reading: RouteContext): Promise<RouteRule> {
  const path = findConfig(reading, ['docusaurus.config'], codeExtensions);
  const read = path === undefined ? null : await readCodeConfig(path, reading);
  const settings = new Settings(read?.value, path ?? reading.layout.root, reading);
  const slash = settings.flag('trailingSlash');
  const areas = await areasOf(settings, reading);
  return {
    base: basePath(settings.text('baseUrl')),
    links: { files: 'below_base', pages: 'below_base' },
    undetermined: settings.firstUnknown('baseUrl', 'trailingSlash'),
    urlOf({ path: file, frontmatter }) {
      for (const area of areas) {
        const rest = below(area.directory, file);
        if (rest === null) continue;
        const address = addressIn(area, rest, frontmatter);
        return address === null ? null : ended(urlPath(area.route, address), slash);
      }
      return null;
    },
    evidenceOf: () => ({
      confidence: penalizeUnknown(read?.value == null ? 0.7 : 0.9, settings.unknown),
      source: { path: settings.path },
    }),
  };
}

function addressIn(area: Area, rest: string, frontmatter: Frontmatter): string | null {
  const page = area.kind === 'pages' ? /\.(mdx?|jsx?|tsx?)$/ : /\.mdx?$/;
  if (!page.test(rest) || rest.endsWith('.d.ts') || area.excluded(rest) || frontmatter.draft === true) return null;
  if (area.kind === 'docs') {
    const { stripsNumbers } = area;
    const isNumbered = rest.split('/').some((name) => /^\d/.test(name));
    return stripsNumbers === null && isNumbered ? null : documentPath(rest, frontmatter, stripsNumbers ?? true);
  }
  if (area.kind === 'blog') return postPath(rest, frontmatter);
  const slug = frontmatter.slug;
  if (typeof slug === 'string' && slug !== '') return urlPath(slug);
  return /(^|\/)index\.\w+$/.test(rest) ? urlPath(routeOfFile(rest), '/') : urlPath(routeOfFile(rest));
}

/** `undefined` leaves the path as it is: documents without a slash, indexes with one. */
function ended(path: string, slash: boolean | undefined): string {
  if (path === '/' || slash === undefined) return path;
  return slash ? `${path.replace(/\/$/, '')}/` : path.replace(/\/$/, '');
}

/** Whether a path fits the patterns of an option; null when it is not given. Patterns that are computed match nothing, with a warning. */
function patterns(name: 'include' | 'exclude', { kind, options }: Instance, settings: Settings) {
  const value = at(options, name);
  if (value === undefined) return null;
  const texts = textsOf(value);
  const globs = texts.flatMap((pattern) => compileGlob(pattern) ?? []);
  if (value.kind !== 'list' || globs.length < value.items.length) settings.warn(`${kind}.${name}`, value);
  return (rest: string) => globs.some((glob) => glob.matches(rest));
}

async function areasOf(settings: Settings, reading: RouteContext): Promise<Area[]> {
  const { root } = reading.layout;
  const fallback = settings.text('i18n', 'defaultLocale') ?? 'en';
  const isKnown = settings.firstUnknown('i18n.defaultLocale') === null;
  const locales = isKnown ? settings.texts('i18n', 'locales').filter((locale) => locale !== fallback) : [];
  const areas: Area[] = [];
  for (const instance of instancesOf(settings, root)) {
    const { kind, id, route, options } = instance;
    const included = patterns('include', instance, settings);
    const left = patterns('exclude', instance, settings);
    const excluded = (rest: string) =>
      (included?.(rest) ?? true) === false || (left?.(rest) ?? /(^|\/)(_|__tests__\/)|\.test\.[jt]sx?$/.test(rest));
    const parser = at(options, 'numberPrefixParser');
    const isOwn = parser !== undefined && parser.kind !== 'scalar';
    if (isOwn) settings.warn(`${kind}.numberPrefixParser`, parser);
    const shared = { kind, excluded, stripsNumbers: isOwn ? null : !(parser && isFalse(parser)) };
    const plugin = `docusaurus-plugin-content-${kind}${id === 'default' ? '' : `-${id}`}`;
    const versions =
      kind === 'docs'
        ? await versionsOf(instance, settings, reading)
        : [{ name: '', directory: instance.directory, route: '' }];
    for (const version of versions) {
      areas.push({ ...shared, directory: version.directory, route: urlPath(route, version.route) });
      const folder = version.name === '' ? '' : version.name === 'current' ? 'current' : `version-${version.name}`;
      for (const locale of locales) {
        const own = settings.text('i18n', 'localeConfigs', locale, 'path') ?? locale;
        const directory = joinPath(root, clean(settings.text('i18n', 'path') ?? 'i18n'), own, plugin, folder);
        areas.push({ ...shared, directory, route: urlPath(locale, route, version.route) });
      }
    }
  }
  // The deepest directory owns a file.
  return areas.sort((a, b) => b.directory.length - a.directory.length);
}
