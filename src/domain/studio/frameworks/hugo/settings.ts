import type { SiteReading } from '../../schema/reader.ts';
import { joinPath } from '../../schema/site-layout.ts';
import { at, entriesOf, isTrue, textOf, textsOf, type Value } from '../../schema/static/values.ts';
import type { LocaleRules } from '../../slug.ts';
import { basePath } from '../routing/paths.ts';
import type { RouteContext } from '../routing/route-rule.ts';
import { Settings } from '../routing/settings.ts';
import { pick, readHugoConfig } from './config.ts';
import { type ContentMount, contentDirectory, mountsOn } from './mounts.ts';

export interface HugoSite {
  /** The file that stands for the configuration. */
  path: string;
  archetypes: string;
  /** Directories of values that templates show, and of their texts by language. */
  data: string[];
  translations: string[];
  /** Plural names of the taxonomies. */
  taxonomies: string[];
  /** Where the content lies, by language when each has its own. */
  contents: ContentMount[];
  locales: LocaleRules | null;
  cascade: Value | undefined;
  permalinks: Value | undefined;
  /** Languages that are not disabled, with their settings. */
  languages: [string, Value][];
  /** Codes of the others: their files are no pages of any language. */
  disabledLanguages: string[];
  /** The whole configuration; null when it cannot be read. */
  main: Value | null;
}

const textPick = (value: Value | null | undefined, name: string) => textOf(pick(value, name));

/**
 * Reads the configuration for builds, of which `hugo.*` or `config.*` is the main file.
 * @param onUnknown called with each setting that cannot be determined
 */
export async function readHugoSite(
  reading: SiteReading,
  onUnknown: (name: string, value: Value) => void = () => {},
): Promise<HugoSite | null> {
  const config = await readHugoConfig(reading);
  if (config === null) return null;
  const { path, value: main } = config;
  const taxonomies = pick(main, 'taxonomies');
  const allLanguages = entriesOf(pick(main, 'languages'));
  const disabled = new Set(textsOf(pick(main, 'disableLanguages')).map((code) => code.toLowerCase()));
  const languages = allLanguages.filter(
    ([code, value]) => !isTrue(pick(value, 'disabled')) && !disabled.has(code.toLowerCase()),
  );
  const fallback = textPick(main, 'defaultContentLanguage') ?? 'en';
  const codes = languages.map(([code]) => code);
  const mounts = mountsOn('content', main, reading.layout.root, onUnknown);
  const contents = mounts.length > 0 ? mounts : directoriesOf(main, languages, fallback, reading.layout.root);
  const locales: LocaleRules | null =
    codes.length > 1 && contents.every(({ language }) => language === null)
      ? { codes, default: fallback, placement: 'suffix', default_unmarked: true }
      : null;
  return {
    path,
    archetypes: clean(textPick(main, 'archetypeDir') ?? 'archetypes'),
    data: valuesOf('data', textPick(main, 'dataDir') ?? 'data', main, reading.layout.root),
    translations: valuesOf('i18n', textPick(main, 'i18nDir') ?? 'i18n', main, reading.layout.root),
    taxonomies: taxonomies ? entriesOf(taxonomies).map(([key, value]) => textOf(value) ?? key) : ['tags', 'categories'],
    contents,
    locales,
    cascade: pick(main, 'cascade'),
    permalinks: pick(main, 'permalinks'),
    languages,
    disabledLanguages: allLanguages.map(([code]) => code).filter((code) => !codes.includes(code)),
    main,
  };
}

/** Mounted directories of values: each file of the site is compared with each of them. */
const mostValueDirectories = 100;

/** The directories mounted as data or texts, the first hundred of them; a mount whose source cannot be determined is left out. */
function valuesOf(component: 'data' | 'i18n', usual: string, main: Value | null, root: string): string[] {
  const mounts = mountsOn(component, main, root, () => {}).slice(0, mostValueDirectories);
  return mounts.length > 0 ? mounts.map(({ source }) => source) : [joinPath(root, clean(usual))];
}

const clean = (path: string) => path.replace(/^\.?\/+|(?<!\/)\/+$/g, '');

/** `contentDir` of the site and of its languages; the default language first: its collections have the plain names. */
function directoriesOf(
  main: Value | null,
  languages: readonly [string, Value][],
  fallback: string,
  root: string,
): ContentMount[] {
  const content = contentDirectory(root, textPick(main, 'contentDir') ?? 'content', null);
  const own = languages
    .flatMap(([language, value]) => {
      const directory = textPick(value, 'contentDir');
      return directory === undefined ? [] : [contentDirectory(root, directory, language)];
    })
    .sort((a, b) => Number(b.language === fallback) - Number(a.language === fallback));
  const replaced =
    own.some(({ source }) => source === content.source) || (own.length > 0 && own.length === languages.length);
  return replaced ? own : [content, ...own];
}

/** Values that a `cascade` gives to all pages below; one with a target is for some of them only. */
export function cascadeValues(cascade: Value | undefined): [string, Value][] {
  const all = cascade?.kind === 'list' ? cascade.items : cascade ? [cascade] : [];
  return all.flatMap((one) => {
    if (at(one, '_target') ?? at(one, 'target')) return [];
    const inner = entriesOf(one).filter(([key]) => key !== 'params');
    return [...inner, ...entriesOf(at(one, 'params'))];
  });
}

/** One rule of `permalinks`; the first that fits a page decides. */
export interface Permalink {
  kind: 'page' | 'section';
  /** Top section; null: a rule of paths below. */
  section: string | null;
  /** Glob of logical paths such as `/posts/**`. */
  path: string | null;
  pattern: string;
}

/** What decides where Hugo writes a page. */
export interface HugoSettings {
  settings: Settings;
  base: string;
  contents: ContentMount[];
  languages: ReadonlySet<string>;
  disabledLanguages: ReadonlySet<string>;
  /** Languages on a host of their own: their addresses are not below the site's. */
  elsewhere: ReadonlySet<string>;
  defaultLanguage: string;
  defaultInSubdirectory: boolean;
  lower: boolean;
  /** `all`, or the sections whose addresses end in `.html`. */
  ugly: 'all' | ReadonlySet<string>;
  /** Those of a language stand in the place of the site's. */
  permalinks(language: string): readonly Permalink[];
  cascade: Value | undefined;
  datesInNames: boolean;
}

/** Reads them all; a site without a configuration has the defaults. */
export async function readHugoSettings(reading: RouteContext): Promise<HugoSettings> {
  const unknown: [string, Value][] = [];
  const site = await readHugoSite(reading, (...one) => unknown.push(one));
  const settings = new Settings(site?.main, site?.path ?? reading.layout.root, reading, true);
  for (const [name, value] of unknown) settings.warn(name, value);
  const codes = site?.languages.map(([code]) => code) ?? [];
  const defaultLanguage = (settings.text('defaultContentLanguage') ?? 'en').toLowerCase();
  const ugly = settings.at('uglyURLs');
  const sections = ugly?.kind === 'record' ? settings.entries('uglyURLs') : [];
  const dates = textsOf(pick(settings.at('frontmatter'), 'date'));
  const shared = permalinksOf(site?.permalinks);
  const byLanguage = new Map(
    (site?.languages ?? []).flatMap(([code, value]) => {
      const own = pick(value, 'permalinks');
      return own === undefined ? [] : [[code.toLowerCase(), permalinksOf(own)] as const];
    }),
  );
  return {
    settings,
    base: basePath(settings.text('baseURL')),
    contents: site?.contents ?? [contentDirectory(reading.layout.root, 'content', null)],
    languages: new Set(codes.length > 0 ? codes.map((code) => code.toLowerCase()) : [defaultLanguage]),
    disabledLanguages: new Set(site?.disabledLanguages.map((code) => code.toLowerCase())),
    elsewhere: ownHosts(site?.languages ?? [], defaultLanguage, settings),
    defaultLanguage,
    defaultInSubdirectory: settings.flag('defaultContentLanguageInSubdir') ?? false,
    lower: !(settings.flag('disablePathToLower') ?? false),
    ugly:
      ugly?.kind === 'scalar' && ugly.value === true
        ? 'all'
        : new Set(sections.filter(([, on]) => on.kind === 'scalar' && on.value === true).map(([name]) => name)),
    permalinks: (language) => byLanguage.get(language) ?? shared,
    cascade: site?.cascade,
    datesInNames: dates.some((name) => name.toLowerCase() === ':filename'),
  };
}

/** Languages with a `baseURL` of their own, but for the default one, whose host is taken for the site's. */
function ownHosts(languages: readonly [string, Value][], fallback: string, settings: Settings): Set<string> {
  const found = new Set<string>();
  for (const [code, value] of languages) {
    const base = pick(value, 'baseURL');
    if (base === undefined || code.toLowerCase() === fallback) continue;
    settings.warn(`languages.${code}.baseURL`, base);
    found.add(code.toLowerCase());
  }
  return found;
}

/** The three forms: sections, kinds with sections, and a list of targets. */
function permalinksOf(value: Value | undefined): Permalink[] {
  if (value?.kind === 'list') {
    return value.items.flatMap((one) => {
      const pattern = textOf(pick(one, 'pattern'));
      const target = pick(one, 'target');
      const kind = textOf(pick(target, 'kind')) ?? 'page';
      if (pattern === undefined || (kind !== 'page' && kind !== 'section')) return [];
      return [{ kind, section: null, path: textOf(pick(target, 'path')) ?? '/**', pattern }];
    });
  }
  if (value?.kind !== 'record') return [];
  return value.parts.flatMap(([name, part]): Permalink[] => {
    if (name === null) return [];
    const pattern = textOf(part);
    if (pattern !== undefined) return [{ kind: 'page', section: name, path: null, pattern }];
    const kind = name.toLowerCase();
    if (part.kind !== 'record' || (kind !== 'page' && kind !== 'section')) return [];
    return part.parts.flatMap(([section, inner]) => {
      const text = textOf(inner);
      return section === null || text === undefined ? [] : [{ kind, section, path: null, pattern: text }];
    });
  });
}
