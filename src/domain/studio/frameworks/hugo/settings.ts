import { readDataConfig } from '../../schema/config/config-file.ts';
import type { SiteReading } from '../../schema/reader.ts';
import { joinPath } from '../../schema/site-layout.ts';
import { at, entriesOf, isTrue, textOf, textsOf, type Value } from '../../schema/static/values.ts';
import type { LocaleRules } from '../../slug.ts';
import { basePath } from '../routing/paths.ts';
import type { RouteContext } from '../routing/route-rule.ts';
import { Settings } from '../routing/settings.ts';

const extensions = ['toml', 'yaml', 'yml', 'json'];

export interface HugoSite {
  /** The file that stands for the configuration. */
  path: string;
  archetypes: string;
  /** Plural names of the taxonomies. */
  taxonomies: string[];
  /** Content directories, by language when each has its own. */
  contents: { directory: string; language: string | null }[];
  locales: LocaleRules | null;
  cascade: Value | undefined;
  permalinks: Value | undefined;
  /** Languages that are not disabled, with their settings. */
  languages: [string, Value][];
  /** The main file; null when it cannot be read. */
  main: Value | null;
}

/** The first file of a name, in the root or in `config/_default`. */
function fileOf({ layout, present }: SiteReading, names: readonly string[]): string | undefined {
  const candidates = names.flatMap((name) => extensions.map((end) => joinPath(layout.root, `${name}.${end}`)));
  return candidates.find((path) => present.has(path));
}

/** Hugo's keys are written in any case. */
const pick = (value: Value | null | undefined, name: string): Value | undefined =>
  entriesOf(value ?? undefined).find(([key]) => key.toLowerCase() === name.toLowerCase())?.[1];
const textPick = (value: Value | null | undefined, name: string) => textOf(pick(value, name));

/** Reads `hugo.*`, `config.*` and the files of `config/_default`; other environments only change how a site is built. */
export async function readHugoSite(reading: SiteReading): Promise<HugoSite | null> {
  const path = fileOf(reading, ['hugo', 'config', 'config/_default/hugo', 'config/_default/config']);
  if (path === undefined) return null;
  const main = await readDataConfig(path, reading);
  const part = async (name: string) => {
    const file = fileOf(reading, [`config/_default/${name}`]);
    return pick(main, name) ?? (file === undefined ? undefined : ((await readDataConfig(file, reading)) ?? undefined));
  };
  const taxonomies = await part('taxonomies');
  const languages = entriesOf(await part('languages')).filter(([, value]) => !isTrue(at(value, 'disabled')));
  const content = textPick(main, 'contentDir') ?? 'content';
  const fallback = textPick(main, 'defaultContentLanguage') ?? 'en';
  const own = languages.flatMap(([language, value]) => {
    const directory = textPick(value, 'contentDir');
    return directory === undefined ? [] : [{ directory: clean(directory), language }];
  });
  const codes = languages.map(([code]) => code);
  const locales: LocaleRules | null =
    codes.length > 1 && own.length === 0
      ? { codes, default: fallback, placement: 'suffix', default_unmarked: true }
      : null;
  const rest =
    own.some(({ directory }) => directory === clean(content)) || (own.length > 0 && own.length === languages.length);
  return {
    path,
    archetypes: clean(textPick(main, 'archetypeDir') ?? 'archetypes'),
    taxonomies: taxonomies ? entriesOf(taxonomies).map(([key, value]) => textOf(value) ?? key) : ['tags', 'categories'],
    contents: [...(rest ? [] : [{ directory: clean(content), language: null }]), ...sorted(own, fallback)],
    locales,
    cascade: await part('cascade'),
    permalinks: await part('permalinks'),
    languages,
    main,
  };
}

const clean = (path: string) => path.replace(/^\.?\/+|\/+$/g, '');
/** The default language first: its collections have the plain names. */
const sorted = <T extends { language: string }>(own: readonly T[], fallback: string) =>
  own.toSorted((a, b) => Number(b.language === fallback) - Number(a.language === fallback));

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
interface Permalink {
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
  contents: { directory: string; language: string | null }[];
  languages: string[];
  defaultLanguage: string;
  defaultInSubdirectory: boolean;
  lower: boolean;
  /** `all`, or the sections whose addresses end in `.html`. */
  ugly: 'all' | ReadonlySet<string>;
  permalinks: Permalink[];
  datesInNames: boolean;
}

/** Reads them all; a site without a configuration has the defaults. */
export async function readHugoSettings(reading: RouteContext): Promise<HugoSettings> {
  const site = await readHugoSite(reading);
  const settings = new Settings(site?.main, site?.path ?? reading.layout.root, reading, true);
  const codes = site?.languages.map(([code]) => code) ?? [];
  const defaultLanguage = settings.text('defaultContentLanguage') ?? 'en';
  const ugly = settings.at('uglyURLs');
  const sections = ugly?.kind === 'record' ? settings.entries('uglyURLs') : [];
  const dates = textsOf(pick(settings.at('frontmatter'), 'date'));
  return {
    settings,
    base: basePath(settings.text('baseURL')),
    contents: site?.contents ?? [{ directory: 'content', language: null }],
    languages: codes.length > 0 ? codes : [defaultLanguage],
    defaultLanguage,
    defaultInSubdirectory: settings.flag('defaultContentLanguageInSubdir') ?? false,
    lower: !(settings.flag('disablePathToLower') ?? false),
    ugly:
      ugly?.kind === 'scalar' && ugly.value === true
        ? 'all'
        : new Set(sections.filter(([, on]) => on.kind === 'scalar' && on.value === true).map(([name]) => name)),
    permalinks: permalinksOf(site?.permalinks),
    datesInNames: dates.some((name) => name.toLowerCase() === ':filename'),
  };
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
