import { posix } from 'node:path';
import { isRecord } from '../../../../lib/objects.ts';
import { normalized } from '../../../../lib/text.ts';
import type { Frontmatter } from '../../frontmatter/values.ts';
import { compileGlob } from '../../schema/glob.ts';
import { dayNames, momentOf, monthNames, pad, readDate, yearDay } from '../routing/dates.ts';
import { directoryOf, urlPath } from '../routing/paths.ts';
import {
  fillTemplate,
  mostAliases,
  type PageFile,
  partOf,
  penalizeUnknown,
  type RouteContext,
  type RouteRule,
} from '../routing/route-rule.ts';
import { member, readHugoCascade } from './cascade.ts';
import { HugoContent, type HugoPage } from './content.ts';
import { type HugoSettings, type Permalink, readHugoSettings } from './settings.ts';

const allowed = /[\p{L}\p{Nd}\p{M}./\\_#+~@-]/u;

/**
 * A path or title as Hugo writes it in URLs: letters, digits, marks and a few signs stay, spaces become one hyphen, the rest goes.
 * @param lower whether letters become small
 */
function sanitize(text: string, lower: boolean): string {
  return partOf(text, (part) => sanitizePart(part, lower));
}

function sanitizePart(text: string, lower: boolean): string {
  let result = '';
  let pending = false;
  let hyphen = false;
  for (const char of normalized(text)) {
    if (allowed.test(char)) {
      hyphen = char === '-';
      if (pending && !hyphen) result += '-';
      pending = false;
      result += char;
    } else if (result !== '' && !hyphen && /\s/u.test(char)) pending = true;
  }
  return lower ? result.toLowerCase() : result;
}

/** What the tokens of a permalink stand for. */
interface TokenValues {
  date: Date | null;
  title: string;
  slug: string | undefined;
  /** Names of the sections the page lies in, the top one first. */
  sections: readonly string[];
  /** The file's name, of a bundle its directory's. */
  name: string;
}

/** A page without a date has Go's zero date. */
const zero = new Date(Date.UTC(2000, 0, 1));

/** `[1:]`, `[:2]`, `[last]`, `[0]` of the sections. */
function sectionRange(sections: readonly string[], text: string | undefined): readonly string[] {
  if (text === undefined) return sections;
  const position = (part: string, otherwise: number) =>
    part === '' ? otherwise : part === 'last' ? sections.length - 1 : Number.parseInt(part, 10) || 0;
  const [from = '', to] = text.split(':');
  const start = position(from, 0);
  return to === undefined ? sections.slice(start, start + 1) : sections.slice(start, position(to, sections.length));
}

function dateToken(name: string, date: Date | null): string | undefined {
  const day = date ?? zero;
  const month = monthNames[day.getUTCMonth()] ?? '';
  const tokens: Record<string, string> = {
    year: date === null ? '0001' : pad(day.getUTCFullYear(), 4),
    month: pad(day.getUTCMonth() + 1),
    monthname: month,
    day: pad(day.getUTCDate()),
    weekday: String(day.getUTCDay()),
    weekdayname: dayNames[day.getUTCDay()] ?? '',
    yearday: String(yearDay(day)),
    2006: pad(day.getUTCFullYear(), 4),
    '06': pad(day.getUTCFullYear() % 100),
    '01': pad(day.getUTCMonth() + 1),
    1: String(day.getUTCMonth() + 1),
    '02': pad(day.getUTCDate()),
    2: String(day.getUTCDate()),
    '15': pad(day.getUTCHours()),
    '04': pad(day.getUTCMinutes()),
    '05': pad(day.getUTCSeconds()),
    Jan: month.slice(0, 3),
    January: month,
  };
  return Object.hasOwn(tokens, name) ? tokens[name] : undefined;
}

const token = /:([A-Za-z]+|\d+)(?:\[([^\]]*)\])?/g;

/** A pattern with its tokens replaced; `clean` makes a path of a value. Unknown tokens stay. */
function expandTokens(pattern: string, values: TokenValues, clean: (text: string) => string): string {
  return fillTemplate(pattern, token, ([whole, name = '', range]) => {
    const dated = dateToken(name, values.date);
    if (dated !== undefined) return clean(dated);
    switch (name) {
      case 'section':
      case 'sectionslug':
        return clean(values.sections[0] ?? '');
      case 'sections':
      case 'sectionslugs':
        return sectionRange(values.sections, range).map(clean).join('/');
      case 'title':
        return clean(values.title);
      case 'slug':
        return clean(values.slug || values.title);
      case 'contentbasename':
      case 'filename':
        return clean(values.name);
      case 'slugorcontentbasename':
      case 'slugorfilename':
        return clean(values.slug || values.name);
      default:
        return whole;
    }
  });
}

const dated = /^(\d{4}-\d{2}-\d{2})[-_]?(.*)$/;

/** Hugo: `url` of the page, else the permalinks of the configuration, else the path with `slug` as its last part. */
export async function readHugoRule(reading: RouteContext): Promise<RouteRule> {
  const hugo = await readHugoSettings(reading);
  const content = new HugoContent(hugo, reading.paths);
  const cascade = await readHugoCascade(content, hugo, reading);
  const shown = (file: PageFile) => {
    const page = content.page(file.path);
    if (page === null || hugo.elsewhere.has(page.language)) return null;
    const frontmatter = cascade.complete(page, file.frontmatter);
    if (hiddenBy(page, frontmatter) !== null || cascade.above(page).some(isDraft)) return null;
    return { page, frontmatter, url: addressOf(page, frontmatter, hugo, content) };
  };
  return {
    base: hugo.base,
    held: cascade.held,
    urlOf: (file) => shown(file)?.url ?? null,
    aliasesOf(file) {
      const found = shown(file);
      if (found === null) return [];
      const own = aliasPaths(found.url, member(found.frontmatter, 'aliases'), hugo.ugly === 'all');
      return [...languageAliases(found.page, hugo), ...own];
    },
    whyNone(file) {
      const page = content.page(file.path);
      if (page === null)
        return 'Hugo makes no page of it: it is a resource of the page beside it, or lies outside the content';
      if (hugo.elsewhere.has(page.language)) return 'Its language is published on a host of its own';
      if (cascade.above(page).some(isDraft)) return 'A section above it is a draft';
      return hiddenBy(page, cascade.complete(page, file.frontmatter));
    },
    evidenceOf: () => ({
      confidence: penalizeUnknown(reading.detected.config === null ? 0.7 : 0.9, hugo.settings.unknown),
      source: { path: hugo.settings.path },
    }),
    isDue({ path, frontmatter }, now) {
      const page = content.page(path);
      if (page === null) return true;
      return [cascade.complete(page, frontmatter), ...cascade.above(page)].every((one) => isDue(one, now));
    },
  };
}

const textMember = (frontmatter: Frontmatter, name: string) => {
  const value = member(frontmatter, name);
  return typeof value === 'string' || typeof value === 'number' ? String(value) : undefined;
};

const isDraft = (frontmatter: Frontmatter) => member(frontmatter, 'draft') === true;

/** What keeps a page from being published; null: nothing does. */
function hiddenBy(page: HugoPage, frontmatter: Frontmatter): string | null {
  if (isDraft(frontmatter)) return 'It is a draft';
  if (page.isLeaf && member(frontmatter, 'headless') === true)
    return 'It is a headless bundle: its content is for other pages';
  const build = member(frontmatter, 'build') ?? member(frontmatter, '_build');
  const render = isRecord(build) ? build.render : undefined;
  const isRendered = render !== false && render !== 'never' && render !== 'link';
  return isRendered ? null : `Its build options have "render: ${render}"`;
}

function isDue(frontmatter: Frontmatter, now: Date): boolean {
  const moment = (name: string) => {
    const date = readDate(member(frontmatter, name));
    return date && momentOf(date);
  };
  const published = moment('publishDate') ?? moment('date');
  const expires = moment('expiryDate');
  return (published === null || published <= now) && (expires === null || expires > now);
}

const dateKeys = ['date', 'publishDate', 'pubdate', 'published', 'lastmod', 'modified'];

function dateOf(page: HugoPage, frontmatter: Frontmatter, { datesInNames }: HugoSettings): Date | null {
  const inName = datesInNames ? readDate(dated.exec(page.name)?.[1]) : null;
  const values = dateKeys.map((key) => readDate(member(frontmatter, key)));
  return (inName ?? values.find((date) => date !== null))?.wall ?? null;
}

function addressOf(page: HugoPage, frontmatter: Frontmatter, hugo: HugoSettings, content: HugoContent): string {
  const first = page.language === hugo.defaultLanguage && !hugo.defaultInSubdirectory;
  const language = first || (hugo.languages.size < 2 && !hugo.defaultInSubdirectory) ? '' : page.language;
  const clean = (text: string) => sanitize(text, hugo.lower);
  const nameSlug = hugo.datesInNames ? dated.exec(page.name)?.[2] : undefined;
  const slug = textMember(frontmatter, 'slug') ?? (nameSlug || undefined);
  const expand = (pattern: string) =>
    expandTokens(
      pattern,
      {
        date: dateOf(page, frontmatter, hugo),
        title: textMember(frontmatter, 'title') ?? '',
        slug,
        sections: content.sections(page.directory),
        name: page.name,
      },
      clean,
    );
  const url = textMember(frontmatter, 'url');
  if (url) {
    const path = url.includes(':') ? expand(url) : url;
    return ended(urlPath(url.startsWith('/') ? '' : language, path));
  }
  if (page.kind === 'home') return ended(urlPath(language));
  const section = page.directory.split('/')[0] ?? '';
  const pattern = permalinkFor(page, section, hugo.permalinks(page.language));
  // Hugo reads the expanded pattern as if it were encoded, where a plus is a space.
  const path =
    pattern === undefined
      ? clean([page.directory, page.kind === 'page' ? slug || page.name : ''].filter(Boolean).join('/'))
      : clean(expand(pattern).replaceAll('+', ' '));
  const ugly = hugo.ugly === 'all' || hugo.ugly.has(section);
  const whole = urlPath(language, path);
  return ugly ? `${whole.replace(/\/$/, '')}.html` : ended(whole);
}

/** A path without an extension ends in a slash. */
const ended = (path: string) => (/\.html?$/i.test(path) || path.endsWith('/') ? path : `${path}/`);

/** Where Hugo writes pages that lead on to one: from the top of the site, or beside the page. */
function aliasPaths(url: string, aliases: unknown, ugly: boolean): string[] {
  const texts = [aliases]
    .flat()
    .slice(0, mostAliases)
    .filter((one): one is string => typeof one === 'string' && one !== '');
  const above = directoryOf(url.replace(/\.html$|\/$/g, ''));
  return texts.map((alias) => {
    const path = posix.join('/', alias.startsWith('/') ? '' : above, alias).replace(/(?<=.)\/$/, '');
    return path.endsWith('.html') || path === '/' ? path : `${path}${ugly ? '.html' : '/'}`;
  });
}

/** The home page of the default language is at the top or below its language, and the other path leads on to it. */
function languageAliases({ kind, language }: HugoPage, hugo: HugoSettings): string[] {
  if (kind !== 'home' || language !== hugo.defaultLanguage || hugo.languages.size < 2) return [];
  if (hugo.settings.flag('disableDefaultLanguageRedirect') === true) return [];
  return [hugo.defaultInSubdirectory ? '/' : `/${language}/`];
}

function permalinkFor(page: HugoPage, section: string, permalinks: readonly Permalink[]): string | undefined {
  return permalinks.find((one) => {
    if (one.kind !== page.kind) return false;
    if (one.path === null) return one.section === section || (one.section === '/' && section === '');
    const path = [page.directory, page.name].filter(Boolean).join('/');
    return compileGlob(one.path.replace(/^\//, ''))?.matches(path) ?? false;
  })?.pattern;
}
