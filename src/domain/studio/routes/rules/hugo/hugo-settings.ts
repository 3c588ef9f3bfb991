import { pick, readHugoSite } from '../../../schema/framework/hugo-config.ts';
import { textsOf } from '../../../schema/static/read-value.ts';
import { textOf, type Value } from '../../../schema/static/values.ts';
import { basePath } from '../paths.ts';
import type { RouteReading } from '../rule.ts';
import { Settings } from '../settings.ts';

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
export async function readHugoSettings(reading: RouteReading): Promise<HugoSettings> {
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
