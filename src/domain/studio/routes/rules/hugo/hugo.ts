import type { Frontmatter } from '../../../frontmatter/types.ts';
import { isRecord } from '../../../frontmatter/values.ts';
import { compileGlob } from '../../../schema/glob.ts';
import { momentOf, readDate } from '../dates.ts';
import { urlPath } from '../paths.ts';
import { lessUnknown, type PageFile, type RouteReading, type RouteRule } from '../rule.ts';
import { HugoContent, type HugoPage } from './hugo-content.ts';
import { type HugoSettings, readHugoSettings } from './hugo-settings.ts';
import { sanitize } from './names.ts';
import { expandTokens } from './permalink-tokens.ts';

const dated = /^(\d{4}-\d{2}-\d{2})[-_]?(.*)$/;

/** Hugo: `url` of the page, else the permalinks of the configuration, else the path with `slug` as its last part. */
export async function readHugoRule(reading: RouteReading): Promise<RouteRule> {
  const hugo = await readHugoSettings(reading);
  const content = new HugoContent(hugo, reading.layout.root, reading.paths);
  return {
    base: hugo.base,
    urlOf(file) {
      const page = content.page(file.path);
      return page === null || isHidden(file.frontmatter) ? null : addressOf(page, file.frontmatter, hugo, content);
    },
    evidenceOf: () => ({
      confidence: lessUnknown(reading.detected.config === null ? 0.7 : 0.9, hugo.settings.unknown),
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
