import type { Frontmatter } from '../../frontmatter/values.ts';
import { below, extensionOf } from '../../schema/site-layout.ts';
import { dayNames, inZone, isoWeek, momentAt, momentOf, monthNames, pad, readDate, yearDay } from '../routing/dates.ts';
import { directoryOf, nameOf, urlPath, withoutExtension } from '../routing/paths.ts';
import { fillTemplate, partOf, penalizeUnknown, type RouteContext, type RouteRule } from '../routing/route-rule.ts';
import { type JekyllSettings, readJekyllSettings } from './settings.ts';

/** Text as Jekyll makes names of it: what is no letter, digit or mark becomes a hyphen. */
function slugify(text: string, options: { keepCase?: boolean; pretty?: boolean } = {}): string {
  return partOf(text, (part) => slugOf(part, options));
}

function slugOf(text: string, options: { keepCase?: boolean; pretty?: boolean }): string {
  const dropped = options.pretty ? /[^\p{M}\p{L}\p{Nd}._~!$&'()+,;=@]+/gu : /[^\p{M}\p{L}\p{Nd}]+/gu;
  const slug = text.replace(dropped, '-').replace(/^-|-$/g, '');
  return options.keepCase ? slug : slug.toLowerCase();
}

/** The permalink that a word such as `pretty` stands for; any other text is one already. */
function styleOf(permalink: string): string {
  switch (permalink) {
    case 'pretty':
      return '/:categories/:year/:month/:day/:title/';
    case 'none':
      return '/:categories/:title:output_ext';
    case 'date':
      return '/:categories/:year/:month/:day/:title:output_ext';
    case 'ordinal':
      return '/:categories/:year/:y_day/:title:output_ext';
    case 'weekdate':
      return '/:categories/:year/W:week/:short_day/:title:output_ext';
    default:
      return permalink;
  }
}

/** How pages and documents end that have no permalink of their own, by that of the site. */
function suffixOf(permalink: string): string {
  if (permalink === 'pretty' || permalink.endsWith('/')) return '/';
  return ['date', 'none', 'ordinal', 'weekdate'].includes(permalink) || permalink.endsWith(':output_ext')
    ? ':output_ext'
    : '';
}

/** What the placeholders of a permalink stand for. */
interface Placeholders {
  collection: string;
  /** Path in the collection, or of a page its directory, without extension. */
  path: string;
  /** File name without extension and date. */
  basename: string;
  slug: string;
  categories: readonly string[];
  date: Date | null;
  extension: string;
}

function datePlaceholder(name: string, date: Date): string | undefined {
  const month = monthNames[date.getUTCMonth()] ?? '';
  const day = dayNames[date.getUTCDay()] ?? '';
  const week = isoWeek(date);
  const values: Record<string, string> = {
    year: pad(date.getUTCFullYear(), 4),
    short_year: pad(date.getUTCFullYear() % 100),
    month: pad(date.getUTCMonth() + 1),
    i_month: String(date.getUTCMonth() + 1),
    short_month: month.slice(0, 3),
    long_month: month,
    day: pad(date.getUTCDate()),
    i_day: String(date.getUTCDate()),
    y_day: pad(yearDay(date), 3),
    week: pad(week.week),
    w_year: String(week.year),
    w_day: String(date.getUTCDay() || 7),
    short_day: day.slice(0, 3),
    long_day: day,
    hour: pad(date.getUTCHours()),
    minute: pad(date.getUTCMinutes()),
    second: pad(date.getUTCSeconds()),
  };
  return Object.hasOwn(values, name) ? values[name] : undefined;
}

function placeholder(name: string, values: Placeholders): string | undefined {
  switch (name) {
    case 'collection':
      return values.collection;
    case 'path':
      return values.path;
    case 'basename':
      return values.basename;
    case 'name':
      return slugify(values.basename);
    case 'title':
      return slugify(values.slug, { keepCase: true, pretty: true });
    case 'slug':
      return slugify(values.slug);
    case 'categories':
      return [...new Set(values.categories.map((one) => one.toLowerCase()))].join('/');
    case 'slugified_categories':
      return [...new Set(values.categories.map((one) => slugify(one)))].join('/');
    case 'output_ext':
      return values.extension;
    default:
      return values.date === null ? undefined : datePlaceholder(name, values.date);
  }
}

/** A permalink with its placeholders replaced: the longest known name wins, as in `:year:month` and `:title.html`. Unknown ones stay. */
function expandPermalink(template: string, replacement: (name: string) => string | undefined): string {
  const expanded = fillTemplate(template, /:([a-z_]+)/g, ([whole, name = '']) => {
    for (let end = name.length; end > 0; end--) {
      const value = replacement(name.slice(0, end));
      if (value !== undefined) return value + name.slice(end);
    }
    return whole;
  });
  return `/${expanded}`
    .replaceAll('..', '/')
    .replaceAll('./', '')
    .replace(/\/{2,}/g, '/');
}

/** `category`, else `categories`, each one text or a list; a text of several words is several. */
function categoriesOf(frontmatter: Frontmatter): string[] {
  const { category, categories } = frontmatter;
  const texts = (value: unknown, split: boolean): string[] =>
    Array.isArray(value)
      ? value.flatMap((one) => texts(one, false))
      : typeof value === 'string'
        ? split
          ? value.split(/\s+/).filter(Boolean)
          : [value]
        : typeof value === 'number'
          ? [String(value)]
          : [];
  return [...texts(categories, true), ...texts(category, false)];
}

const markdown = new Set(['markdown', 'mkdown', 'mkdn', 'mkd', 'md']);
const datedName = /^(\d{2,4})-(\d{1,2})-(\d{1,2})-(.*)$/;

/** Jekyll: the page's own permalink, else that of its collection, else that of the site. */
export async function readJekyllRule(reading: RouteContext): Promise<RouteRule> {
  const site = await readJekyllSettings(reading);
  const { config } = reading.detected;
  return {
    base: site.base,
    urlOf: ({ path, frontmatter }) => {
      const relative = below(site.source, path);
      return relative === null ? null : addressOf(relative, frontmatter, site);
    },
    evidenceOf: () => ({
      confidence: penalizeUnknown(config === null ? 0.7 : 0.9, site.settings.unknown),
      source: { path: site.settings.path },
    }),
    isDue({ path, frontmatter }, now) {
      const relative = below(site.source, path) ?? '';
      const type = postDirectory(relative, site) === null ? collectionOf(relative, site)?.name : 'posts';
      if (site.future || type === undefined) return true;
      const { date } = { ...site.defaults(relative, type), ...frontmatter };
      const clock = dateOf(withoutExtension(nameOf(relative)), { date }, site.timeZone);
      return clock === null || momentAt(clock, site.timeZone) <= now;
    },
  };
}

function addressOf(relative: string, own: Frontmatter, site: JekyllSettings): string | null {
  if (own.published === false) return null;
  const above = postDirectory(relative, site);
  if (above !== null) return datedName.test(nameOf(relative)) ? postUrl(relative, above, own, site) : null;
  const collection = collectionOf(relative, site);
  if (collection) return documentUrl(collection.path, collection.name, relative, own, site);
  return site.isExcluded(relative) ? null : pageUrl(relative, own, site);
}

/** The collection a file lies in, but for posts and drafts, with its path there. */
function collectionOf(relative: string, site: JekyllSettings): { name: string; path: string } | null {
  const within = below(site.collectionsDirectory, relative);
  const [first = ''] = (within ?? '').split('/');
  const name = first.startsWith('_') ? first.slice(1) : '';
  return within !== null && site.collections.has(name) ? { name, path: within.slice(first.length + 1) } : null;
}

/** Directories above `_posts` of a post; null for everything else, drafts among it. */
function postDirectory(relative: string, { collectionsDirectory, isExcluded }: JekyllSettings): string[] | null {
  const rest = below(collectionsDirectory, relative);
  const parts = rest?.split('/') ?? [];
  const at = parts.indexOf('_posts');
  if (rest === null || at === -1 || at === parts.length - 1) return null;
  const above = parts.slice(0, at);
  return above.length > 0 && isExcluded(above.join('/')) ? null : above;
}

const outputOf = (path: string) => (markdown.has(extensionOf(path)) ? '.html' : `.${extensionOf(path)}`);

/** What the site's clock shows at the date of a post: that of its name unless its frontmatter has one. */
function dateOf(name: string, { date }: { date?: unknown }, timeZone: string | undefined): Date | null {
  const own = readDate(date);
  // A day alone is that day wherever the site is built.
  if (own) return typeof date === 'string' && /^\s*[\d-]+\s*$/.test(date) ? own.wall : inZone(momentOf(own), timeZone);
  const [, year = '', month = '', day = ''] = datedName.exec(name) ?? [];
  const full = year.length === 2 ? `20${year}` : year.padStart(4, '0');
  return readDate(`${full}-${month}-${day}`)?.wall ?? null;
}

const textOf = (value: unknown) => (typeof value === 'string' && value !== '' ? value : undefined);

function postUrl(relative: string, above: readonly string[], own: Frontmatter, site: JekyllSettings): string | null {
  const frontmatter = { ...site.defaults(relative, 'posts'), ...own };
  if (frontmatter.published === false) return null;
  const name = withoutExtension(nameOf(relative));
  const date = dateOf(name, frontmatter, site.timeZone);
  if (date === null) return null;
  const basename = datedName.exec(name)?.[4] ?? name;
  const values: Placeholders = {
    collection: 'posts',
    path: withoutExtension(relative),
    basename,
    slug: textOf(frontmatter.slug) ?? basename.replace(/(?<!\.)\.+$/, ''),
    categories: [...above, ...categoriesOf(frontmatter)],
    date,
    extension: outputOf(relative),
  };
  const template = textOf(frontmatter.permalink) ?? styleOf(site.postsPermalink ?? site.permalink);
  return expandPermalink(template, (name) => placeholder(name, values));
}

function documentUrl(
  path: string,
  collection: string,
  relative: string,
  own: Frontmatter,
  site: JekyllSettings,
): string | null {
  const { output, permalink } = site.collections.get(collection) ?? { output: false, permalink: undefined };
  const frontmatter = { ...site.defaults(relative, collection), ...own };
  const hidden = path.split('/').some((part) => /^[._#]|~$/.test(part));
  if (!output || hidden || frontmatter.published === false) return null;
  const stem = withoutExtension(path);
  const name = nameOf(stem);
  const basename = datedName.exec(name)?.[4] ?? name;
  const values: Placeholders = {
    collection,
    path: stem.replace(/(?<!\.)\.+$/, ''),
    basename: name,
    slug: textOf(frontmatter.slug) ?? basename,
    categories: categoriesOf(frontmatter),
    date: dateOf(name, frontmatter, site.timeZone),
    extension: outputOf(path),
  };
  const usual = `/:collection/:path${suffixOf(site.permalink)}`;
  const template = textOf(frontmatter.permalink) ?? (permalink === undefined ? usual : styleOf(permalink));
  return expandPermalink(template, (one) => placeholder(one, values));
}

/** Pages keep their path; their permalinks are written out. A file without frontmatter is copied as it is. */
function pageUrl(relative: string, own: Frontmatter, site: JekyllSettings): string | null {
  if (Object.keys(own).length === 0 && !site.optionalFrontmatter) return null;
  const extension = outputOf(relative);
  const stem = withoutExtension(nameOf(relative));
  const directory = directoryOf(relative);
  // Names and dates are for documents.
  const values = new Map([
    ['path', directory],
    ['basename', stem],
    ['output_ext', extension],
  ]);
  const expand = (template: string) => expandPermalink(template, (name) => values.get(name));
  // Of the values by place and type, only this one reaches pages.
  const permalink = textOf(own.permalink) ?? textOf(site.defaults(relative, 'pages').permalink);
  if (permalink !== undefined) return expand(permalink);
  if (extension !== '.html') return urlPath(directory, `${stem}${extension}`);
  if (stem === 'index') return urlPath(directory, '/');
  return expand(`/:path/:basename${suffixOf(site.permalink)}`);
}
