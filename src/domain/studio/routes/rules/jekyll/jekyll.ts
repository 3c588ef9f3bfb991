import type { Frontmatter } from '../../../frontmatter/types.ts';
import { below, extensionOf } from '../../../schema/site-layout.ts';
import { inZone, momentOf, readDate } from '../dates.ts';
import { directoryOf, nameOf, urlPath, withoutExtension } from '../paths.ts';
import { lessUnknown, type RouteReading, type RouteRule } from '../rule.ts';
import { styleOf, suffixOf } from './jekyll-names.ts';
import { type JekyllSettings, readJekyllSettings } from './jekyll-settings.ts';
import { categoriesOf, expandPermalink, type Placeholders } from './jekyll-url.ts';

const markdown = new Set(['markdown', 'mkdown', 'mkdn', 'mkd', 'md']);
const datedName = /^(\d{2,4})-(\d{1,2})-(\d{1,2})-(.*)$/;

/** Jekyll: the page's own permalink, else that of its collection, else that of the site. */
export async function readJekyllRule(reading: RouteReading): Promise<RouteRule> {
  const site = await readJekyllSettings(reading);
  const { config } = reading.detected;
  return {
    base: site.base,
    urlOf: ({ path, frontmatter }) => {
      const relative = below(site.source, path);
      return relative === null ? null : addressOf(relative, frontmatter, site);
    },
    evidenceOf: () => ({
      confidence: lessUnknown(config === null ? 0.7 : 0.9, site.settings.unknown),
      source: { path: site.settings.path },
    }),
    isDue({ path, frontmatter }, now) {
      const relative = below(site.source, path) ?? '';
      if (postDirectory(relative, site) === null) return true;
      const moment = dateOf(nameOf(relative), frontmatter, undefined);
      return moment === null || moment <= now;
    },
  };
}

function addressOf(relative: string, own: Frontmatter, site: JekyllSettings): string | null {
  if (own.published === false) return null;
  const above = postDirectory(relative, site);
  if (above !== null) return datedName.test(nameOf(relative)) ? postUrl(relative, above, own, site) : null;
  const within = below(site.collectionsDirectory, relative);
  const [first = ''] = (within ?? '').split('/');
  const name = first.startsWith('_') ? first.slice(1) : '';
  const collection = site.collections.get(name);
  if (within !== null && collection) return documentUrl(within.slice(first.length + 1), name, relative, own, site);
  return site.isExcluded(relative) ? null : pageUrl(relative, own, site);
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

/** The moment of a post; that of its name unless its frontmatter has one. */
function dateOf(name: string, { date }: Frontmatter, timeZone: string | undefined): Date | null {
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
    slug: textOf(frontmatter.slug) ?? basename.replace(/\.+$/, ''),
    categories: [...above, ...categoriesOf(frontmatter)],
    date,
    extension: outputOf(relative),
  };
  const template = textOf(frontmatter.permalink) ?? styleOf(site.postsPermalink ?? site.permalink);
  return expandPermalink(template, values);
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
    path: stem.replace(/\.+$/, ''),
    basename: name,
    slug: textOf(frontmatter.slug) ?? basename,
    categories: categoriesOf(frontmatter),
    date: dateOf(name, frontmatter, site.timeZone),
    extension: outputOf(path),
  };
  const usual = `/:collection/:path${suffixOf(site.permalink)}`;
  return expandPermalink(
    textOf(frontmatter.permalink) ?? (permalink === undefined ? usual : styleOf(permalink)),
    values,
  );
}

/** Pages keep their path; their permalinks are written out. A file without frontmatter is copied as it is. */
function pageUrl(relative: string, own: Frontmatter, site: JekyllSettings): string | null {
  if (Object.keys(own).length === 0 && !site.optionalFrontmatter) return null;
  const extension = outputOf(relative);
  const stem = withoutExtension(nameOf(relative));
  const directory = directoryOf(relative);
  const values: Placeholders = {
    collection: '',
    path: directory,
    basename: stem,
    slug: stem,
    categories: [],
    date: null,
    extension,
  };
  const permalink = textOf(own.permalink);
  if (permalink !== undefined) return expandPermalink(permalink, values);
  if (extension !== '.html') return urlPath(directory, `${stem}${extension}`);
  if (stem === 'index') return urlPath(directory, '/');
  return expandPermalink(`/:path/:basename${suffixOf(site.permalink)}`, values);
}
