import type { Frontmatter } from '../../frontmatter/values.ts';
import { codeExtensions, findConfig, readCodeConfig, readDataConfig } from '../../schema/config/config-file.ts';
import { compileGlob } from '../../schema/glob.ts';
import { below, joinPath } from '../../schema/site-layout.ts';
import { resolvePath } from '../../schema/static/module-graph.ts';
import {
  at,
  entriesOf,
  isFalse,
  isTrue,
  itemsOf,
  textAt,
  textOf,
  textsOf,
  type Value,
} from '../../schema/static/values.ts';
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
  /** Directory, relative to the site. */
  path: string;
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

function instance(kind: ContentKind, options: Value | undefined, settings: Settings): Instance {
  const text = (name: string) => {
    const value = at(options, name);
    const found = textOf(value);
    if (value !== undefined && found === undefined && value.kind !== 'scalar') settings.warn(`${kind}.${name}`, value);
    return found;
  };
  return {
    kind,
    id: text('id') ?? 'default',
    path: clean(text('path') ?? usual[kind].path),
    route: clean(text('routeBasePath') ?? usual[kind].route),
    options,
  };
}

/** Neither options nor something that is switched on or off. */
const isUnclear = ({ kind }: Value) => kind !== 'record' && kind !== 'scalar' && kind !== 'list';

/**
 * The instances of presets and plug-ins; the classic preset has one of each kind unless it is switched off. What has options that cannot be
 * told is left out with a warning: its pages may be anywhere.
 */
function instancesOf(settings: Settings): Instance[] {
  const found: Instance[] = [];
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
      else if (!(own && isFalse(own))) found.push(instance(kind, own, settings));
    }
  }
  for (const plugin of settings.items('plugins')) {
    const [name, options] = plugin.kind === 'list' ? itemsOf(plugin) : [plugin, undefined];
    const kind = textOf(name)?.match(/(?:^|plugin-)content-(docs|blog|pages)$/)?.[1] as ContentKind | undefined;
    if (name?.kind === 'unknown' || (kind && options && isUnclear(options))) settings.warn('plugins', options ?? name);
    else if (kind) found.push(instance(kind, options, settings));
  }
  return found.length > 0 || presets.length > 0 ? found : kinds.map((kind) => instance(kind, undefined, settings));
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
async function versionsOf(instance: Instance, reading: RouteContext): Promise<Version[]> {
  const { root } = reading.layout;
  const prefix = instance.id === 'default' ? '' : `${instance.id}_`;
  const path = joinPath(root, `${prefix}versions.json`);
  const disabled = isTrue(at(instance.options, 'disableVersioning')) || !reading.present.has(path);
  const released = disabled ? [] : textsOf((await readDataConfig(path, reading)) ?? undefined);
  const includesCurrent = !isFalse(at(instance.options, 'includeCurrentVersion') ?? { kind: 'scalar', value: true });
  const only = textsOf(at(instance.options, 'onlyIncludeVersions'));
  const last = textAt(instance.options, 'lastVersion') ?? released[0] ?? 'current';
  const settings = new Map(entriesOf(at(instance.options, 'versions')));
  const names = [...(includesCurrent ? ['current'] : []), ...released];
  return names
    .filter((name) => only.length === 0 || only.includes(name))
    .map((name) => {
      const own = textAt(settings.get(name), 'path');
      const route = own ?? (name === last ? '' : name === 'current' ? 'next' : name);
      const released = joinPath(root, `${prefix}versioned_docs`, `version-${name}`);
      return { name, directory: name === 'current' ? joinPath(root, instance.path) : released, route };
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
  const hidden = /(^|\/)(_|__tests__\/)|\.test\.[jt]sx?$|\.d\.ts$/.test(rest) || area.excluded(rest);
  if (!page.test(rest) || hidden || frontmatter.draft === true) return null;
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

async function areasOf(settings: Settings, reading: RouteContext): Promise<Area[]> {
  const { root } = reading.layout;
  const fallback = settings.text('i18n', 'defaultLocale') ?? 'en';
  const locales = settings.texts('i18n', 'locales').filter((locale) => locale !== fallback);
  const areas: Area[] = [];
  for (const instance of instancesOf(settings)) {
    const { kind, id, route, options } = instance;
    const globs = textsOf(at(options, 'exclude')).flatMap((pattern) => compileGlob(pattern) ?? []);
    const excluded = (rest: string) => globs.some((glob) => glob.matches(rest));
    const parser = at(options, 'numberPrefixParser');
    const isOwn = parser !== undefined && parser.kind !== 'scalar';
    if (isOwn) settings.warn(`${kind}.numberPrefixParser`, parser);
    const shared = { kind, excluded, stripsNumbers: isOwn ? null : !(parser && isFalse(parser)) };
    const plugin = `docusaurus-plugin-content-${kind}${id === 'default' ? '' : `-${id}`}`;
    const versions =
      kind === 'docs'
        ? await versionsOf(instance, reading)
        : [{ name: '', directory: joinPath(root, instance.path), route: '' }];
    for (const version of versions) {
      areas.push({ ...shared, directory: version.directory, route: urlPath(route, version.route) });
      const folder = version.name === '' ? '' : version.name === 'current' ? 'current' : `version-${version.name}`;
      for (const locale of locales) {
        const directory = joinPath(root, 'i18n', locale, plugin, folder);
        areas.push({ ...shared, directory, route: urlPath(locale, route, version.route) });
      }
    }
  }
  // The deepest directory owns a file.
  return areas.sort((a, b) => b.directory.length - a.directory.length);
}
