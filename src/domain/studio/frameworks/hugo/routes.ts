import { isRecord } from '../../../../lib/objects.ts';
import type { Frontmatter } from '../../frontmatter/values.ts';
import { compileGlob } from '../../schema/glob.ts';
import { below, joinPath } from '../../schema/site-layout.ts';
import { dayNames, momentOf, monthNames, pad, readDate, yearDay } from '../routing/dates.ts';
import { directoryOf, nameOf, urlPath, withoutExtension } from '../routing/paths.ts';
import { type PageFile, penalizeUnknown, type RouteContext, type RouteRule } from '../routing/route-rule.ts';
import { type HugoSettings, readHugoSettings } from './settings.ts';

const allowed = /[\p{L}\p{Nd}\p{M}./\\_#+~@-]/u;

/**
 * A path or title as Hugo writes it in URLs: letters, digits, marks and a few signs stay, spaces become one hyphen, the rest goes.
 * @param lower whether letters become small
 */
function sanitize(text: string, lower: boolean): string {
  let result = '';
  let pending = false;
  let hyphen = false;
  for (const char of text.normalize('NFC')) {
    if (allowed.test(char)) {
      hyphen = char === '-';
      if (pending && !hyphen) result += '-';
      pending = false;
      result += char;
    } else if (result !== '' && !hyphen && /\s/u.test(char)) pending = true;
  }
  return lower ? result.toLowerCase() : result;
}

/** A content file as Hugo sees it. */
interface HugoPage {
  kind: 'home' | 'section' | 'page';
  language: string;
  /** Directories below the content directory; of a bundle without its own. */
  directory: string;
  /** The file's name without extension and language, of a bundle its directory's. */
  name: string;
}

const contentFile = /\.(md|markdown|mdown|html?|adoc|asciidoc|ad|org|rst|pandoc|pdc)$/i;

/** Which files are pages, and in which sections they lie. */
class HugoContent {
  readonly #settings: HugoSettings;
  readonly #root: string;
  /** Directories of leaf bundles: other files below are their resources. */
  readonly #bundles = new Set<string>();
  /** Directories with a page of their own. */
  readonly #sections = new Set<string>();

  constructor(settings: HugoSettings, root: string, paths: readonly string[]) {
    this.#settings = settings;
    this.#root = root;
    for (const path of paths) {
      const at = contentFile.test(path) ? this.#locate(path) : null;
      if (at === null) continue;
      const base = this.#splitLanguage(nameOf(at.rest))[0];
      if (base === 'index' && at.rest.includes('/')) this.#bundles.add(directoryOf(path));
      if (base === '_index') this.#sections.add(directoryOf(at.rest));
    }
  }

  /** null for what is no page: data, hidden files, resources of bundles. */
  page(path: string): HugoPage | null {
    const at = contentFile.test(path) ? this.#locate(path) : null;
    if (at === null || at.rest.split('/').some((part) => part.startsWith('.'))) return null;
    const directory = directoryOf(at.rest);
    const [base, suffix] = this.#splitLanguage(nameOf(at.rest));
    const language = at.language ?? suffix ?? this.#settings.defaultLanguage;
    if (base === '_index') return { kind: directory === '' ? 'home' : 'section', language, directory, name: '' };
    if (this.#isResource(directoryOf(path), base)) return null;
    if (base !== 'index') return { kind: 'page', language, directory, name: base };
    if (directory === '') return { kind: 'home', language, directory, name: '' };
    return { kind: 'page', language, directory: directoryOf(directory), name: nameOf(directory) };
  }

  /** The sections a directory lies in: the top one, and those below that have a page. */
  sections(directory: string): string[] {
    const parts = directory === '' ? [] : directory.split('/');
    let deepest = Math.min(1, parts.length);
    for (let depth = 2; depth <= parts.length; depth++)
      if (this.#sections.has(parts.slice(0, depth).join('/'))) deepest = depth;
    return parts.slice(0, deepest);
  }

  #isResource(directory: string, base: string): boolean {
    if (this.#bundles.has(directory)) return base !== 'index';
    for (let up = directoryOf(directory); up !== ''; up = directoryOf(up)) if (this.#bundles.has(up)) return true;
    return false;
  }

  #locate(path: string): { rest: string; language: string | null } | null {
    const found = this.#settings.contents
      .map(({ directory, language }) => ({ rest: below(joinPath(this.#root, directory), path), language }))
      .filter((one): one is { rest: string; language: string | null } => one.rest !== null);
    // Of nested content directories the deepest one owns the file.
    return found.sort((a, b) => a.rest.length - b.rest.length)[0] ?? null;
  }

  #splitLanguage(name: string): [string, string | null] {
    const stem = withoutExtension(name);
    const dot = stem.lastIndexOf('.');
    const code = stem.slice(dot + 1).toLowerCase();
    return dot > 0 && this.#settings.languages.includes(code) ? [stem.slice(0, dot), code] : [stem, null];
  }
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
  return pattern.replace(token, (whole, name: string, range: string | undefined) => {
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
  const content = new HugoContent(hugo, reading.layout.root, reading.paths);
  return {
    base: hugo.base,
    urlOf(file) {
      const page = content.page(file.path);
      return page === null || isHidden(file.frontmatter) ? null : addressOf(page, file.frontmatter, hugo, content);
    },
    evidenceOf: () => ({
      confidence: penalizeUnknown(reading.detected.config === null ? 0.7 : 0.9, hugo.settings.unknown),
      source: { path: hugo.settings.path },
    }),
    isDue,
  };
}

/** Frontmatter keys are written in any case. */
function member(frontmatter: Frontmatter, name: string): unknown {
  if (Object.hasOwn(frontmatter, name)) return frontmatter[name];
  return Object.entries(frontmatter).find(([key]) => key.toLowerCase() === name.toLowerCase())?.[1];
}

const textMember = (frontmatter: Frontmatter, name: string) => {
  const value = member(frontmatter, name);
  return typeof value === 'string' || typeof value === 'number' ? String(value) : undefined;
};

function isHidden(frontmatter: Frontmatter): boolean {
  const build = member(frontmatter, 'build') ?? member(frontmatter, '_build');
  const render = isRecord(build) ? build.render : undefined;
  return (
    member(frontmatter, 'draft') === true ||
    member(frontmatter, 'headless') === true ||
    render === false ||
    render === 'never' ||
    render === 'link'
  );
}

function isDue({ frontmatter }: PageFile, now: Date): boolean {
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
  const language = first || (hugo.languages.length < 2 && !hugo.defaultInSubdirectory) ? '' : page.language;
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
  const pattern = permalinkFor(page, section, hugo);
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

function permalinkFor(page: HugoPage, section: string, { permalinks }: HugoSettings): string | undefined {
  return permalinks.find((one) => {
    if (one.kind !== page.kind) return false;
    if (one.path === null) return one.section === section || (one.section === '/' && section === '');
    const path = [page.directory, page.name].filter(Boolean).join('/');
    return compileGlob(one.path.replace(/^\//, ''))?.matches(path) ?? false;
  })?.pattern;
}
