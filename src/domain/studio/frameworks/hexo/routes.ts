/**
 * Hexo's addresses, by the rules of Hexo 8: posts by `permalink`, filled with what their frontmatter, their file's name (read by `new_post_name`)
 * and the configuration say; pages by their path or their own `permalink`. Where Hexo's answer depends on more than these, there is no address:
 * `:id` of the database, the date a file was made at, categories in several hierarchies, plug-ins and scripts that change permalinks.
 */
import { createHash } from 'node:crypto';
import { literally } from '../../../../lib/text.ts';
import type { Frontmatter } from '../../frontmatter/values.ts';
import { readDataConfig } from '../../schema/config/config-file.ts';
import { compileGlob } from '../../schema/glob.ts';
import { below, extensionOf, joinPath, trimmedPath } from '../../schema/site-layout.ts';
import { dataOf, textOf, unknown, type Value } from '../../schema/static/values.ts';
import { momentAt, momentOf, pad, readDate } from '../routing/dates.ts';
import { basePath, nameOf, urlPath, withoutExtension } from '../routing/paths.ts';
import { penalizeUnknown, type RouteContext, type RouteRule } from '../routing/route-rule.ts';
import { Settings } from '../routing/settings.ts';

/** Extensions Hexo's renderers of Markdown register. */
export const hexoMarkdown = ['md', 'markdown', 'mkd', 'mkdn', 'mdwn', 'mdtxt', 'mdtext'];
const markdown = new Set(hexoMarkdown);

const hidden = /(^|\/)[_.]/;
/** Scripts that are looked into; where there are more, permalinks are not known. */
const mostScripts = 50;

const temporary = /[%~]$/;
/** `:name` in a rule; a name never ends in an underscore. */
const parameter = /:(\w*[^_\W])/g;

/** Latin letters that are no letter of ASCII with a mark. */
const latin: Record<string, string> = {
  ...{ Æ: 'AE', æ: 'ae', Œ: 'OE', œ: 'oe', Ø: 'O', ø: 'o', Đ: 'D', đ: 'd', Ł: 'L', ł: 'l', ß: 's' },
};
const special = /[\s~`!@#$%^&*()\-_+=[\]{}|\\;:"'<>,.?/]+/g;

/** A name without accents and punctuation; null where it has Latin letters whose replacement is not known here. */
export function hexoSlug(text: string): string | null {
  let known = true;
  const plain = text.replace(/(?![a-zA-Z])[\p{Script=Latin}\u008c\u009c\u24b6-\u24ea\u212b]/gu, (letter) => {
    const replaced = latin[letter] ?? letter.normalize('NFD').charAt(0);
    known &&= letter < '\u1f00' && /^[A-Za-z]+$/.test(replaced);
    return replaced;
  });
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is removed
  const bare = plain.replace(/[\u0000-\u001f]/g, '').replace(special, '-');
  return known ? bare.replace(/^-+|-+$/g, '') : null;
}

const inName: Record<string, string> = {
  year: '(\\d{4})',
  month: '(\\d{2})',
  day: '(\\d{2})',
  i_month: '(\\d{1,2})',
  i_day: '(\\d{1,2})',
  hash: '([0-9a-f]{12})',
};

/** Reads values out of the path of a post, by `new_post_name`; without a `title` where the path is of another form. */
async function nameReader(rule: string): Promise<(rest: string) => Record<string, string>> {
  const names: string[] = [];
  const pattern = literally(withoutExtension(rule)).replace(parameter, (_, name: string) => {
    names.push(name);
    return (Object.hasOwn(inName, name) ? inName[name] : undefined) ?? '(.+?)';
  });
  // The rule comes from the repository: a pattern that backtracks could take for ever.
  const { RE2JS } = await import('re2js');
  const compiled = RE2JS.compile(`^${pattern}$`);
  return (rest) => {
    const matcher = compiled.matcher(withoutExtension(rest));
    if (!matcher.find()) return {};
    return Object.fromEntries(names.map((name, at) => [name, matcher.group(at + 1) ?? '']));
  };
}

const asText = (value: unknown): string | undefined =>
  typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean' ? String(value) : undefined;

/** The digits of a date as Hexo reads them: written with an offset, those of UTC. */
function wallOf(value: unknown): Date | null {
  const date = readDate(typeof value === 'string' ? value.replace(/^(\d{4})\/(\d{1,2})\//, '$1-$2-') : value);
  return date && momentOf(date);
}

const dateInName = ({ year, month, day }: Record<'year' | 'month' | 'day', string | undefined>): Date | null =>
  year && month && day ? new Date(Date.UTC(Number(year), Number(month) - 1, Number(day))) : null;

const inDate: Record<string, (wall: Date) => string> = {
  year: (wall) => pad(wall.getUTCFullYear(), 4),
  month: (wall) => pad(wall.getUTCMonth() + 1),
  day: (wall) => pad(wall.getUTCDate()),
  i_month: (wall) => String(wall.getUTCMonth() + 1),
  i_day: (wall) => String(wall.getUTCDate()),
  hour: (wall) => pad(wall.getUTCHours()),
  minute: (wall) => pad(wall.getUTCMinutes()),
  second: (wall) => pad(wall.getUTCSeconds()),
};

/** Names whose values are made of more than one value of the frontmatter. */
const composed = new Set(['tags', 'photos', 'updated', 'date', 'content', 'source', 'raw', 'path', 'permalink']);

/** A path of the output as it is served. @param html `.html` is shown at the end of addresses */
function address(path: string, html: boolean): string | null {
  const [plain = ''] = path.replaceAll('\\', '/').split('?');
  if (/(^|\/)\.\.?(\/|$)/.test(plain)) return null;
  const url = urlPath(plain).replace(/\/index\.html$/, '/');
  return html ? url : url.replace(/\.html$/, '');
}

/** Whether a path below the source directory fits one of the globs of a setting; what they say is not certain: `otherwise`. */
function globs(settings: Settings, name: string, otherwise: boolean): (path: string) => boolean {
  const compiled = settings.texts(name).map((pattern) => (pattern.startsWith('!') ? null : compileGlob(pattern)));
  if (compiled.includes(null)) {
    settings.warn(name, settings.at(name));
    return () => otherwise;
  }
  return (path) => compiled.some((glob) => glob?.matches(path));
}

/** The plug-in, or the script of the site or its theme, that makes permalinks in a way of its own. */
async function overridingPermalinks({ detected, layout, paths, site, dependencies }: RouteContext) {
  const plugin = detected.manifest?.dependencies.find(({ name }) => /^hexo-.*(permalink|pinyin)/.test(name));
  if (plugin) return plugin.name;
  const scripts = paths.filter((path) => /^(themes\/[^/]+\/)?scripts\/.*\.js$/.test(below(layout.root, path) ?? ''));
  for (const path of scripts.slice(0, mostScripts)) {
    dependencies.add(path);
    if ((await site.read(path))?.includes('post_permalink')) return path;
  }
  return scripts[mostScripts];
}

const longestRule = 1000;

/** A rule with names in it; one that is too long to be one has a name without a value. */
function shortRule(settings: Settings, name: string, usual: string): string {
  const rule = settings.text(name) || usual;
  if (rule.length <= longestRule) return rule;
  settings.warn(name, unknown('it is too long', { path: settings.path, line: 1 }));
  return ':updated';
}

interface PostRules {
  permalink: string;
  /** Values for names that nothing else gives one. */
  defaults: ReadonlyMap<string, Value>;
  timeZone: string | undefined;
  category: { usual: string; renamed: ReadonlyMap<string, Value>; letters: number };
}

const postRules = (settings: Settings): PostRules => ({
  permalink: shortRule(settings, 'permalink', ':year/:month/:day/:title/'),
  defaults: new Map(settings.entries('permalink_defaults')),
  timeZone: settings.text('timezone') || undefined,
  category: {
    usual: settings.text('default_category') ?? 'uncategorized',
    renamed: new Map(settings.entries('category_map')),
    letters: Number(dataOf(settings.at('filename_case')) ?? 0),
  },
});

/** The last category of a post, with those it is in; null for several hierarchies, whose order depends on all posts. */
function categoryPath({ categories, category }: Frontmatter, { usual, renamed, letters }: PostRules['category']) {
  const isNamed = (one: unknown) => one !== null && one !== undefined && one !== '';
  const given = [categories || category || []].flat().filter(isNamed);
  const chains = given.some(Array.isArray) ? given.map((one) => [one].flat().filter(isNamed)) : [given];
  const [chain = [], ...others] = chains.filter((one) => one.length > 0);
  if (others.length > 0) return null;
  if (chain.length === 0) return usual;
  const slugs = chain.map((one) => {
    const name = asText(one);
    const slug = name === undefined ? null : hexoSlug(textOf(renamed.get(name)) || name);
    return letters === 1 ? slug?.toLowerCase() : letters === 2 ? slug?.toUpperCase() : slug;
  });
  return slugs.includes(null) || slugs.includes(undefined) ? null : slugs.join('/');
}

/** The value of a name in `permalink`; null: it is not known. @param wall the digits of the post's date */
function textFor(
  name: string,
  { slug, wall, data }: { slug: string | null; wall: Date | null; data: Frontmatter },
  { timeZone, category, defaults }: PostRules,
): string | null {
  if (name === 'title') return slug;
  if (name === 'name') return slug === null ? null : nameOf(slug);
  if (name === 'post_title') return hexoSlug(asText(data.title) ?? '')?.toLowerCase() ?? null;
  if (name === 'id') return asText(data.id || undefined) ?? null;
  if (name === 'category') return categoryPath(data, category);
  if (name === 'layout') return asText(data.layout ?? 'post') ?? null;
  const digits = inDate[name];
  const moment = wall && momentAt(wall, timeZone);
  // Hexo writes them as the clock of the machine shows them. Most machines are set to UTC or to the zone of the site: both have to agree.
  if (digits) return wall && moment && digits(moment) === digits(wall) ? digits(wall) : null;
  if (name === 'timestamp' || name === 'hash') {
    // Without a time zone the moment is that of the machine that builds the site.
    if (moment === null || timeZone === undefined || slug === null) return null;
    const seconds = String(Math.floor(moment.getTime() / 1000));
    return name === 'timestamp'
      ? seconds
      : createHash('sha1')
          .update(slug + seconds)
          .digest('hex')
          .slice(0, 12);
  }
  if (composed.has(name) || readDate(data[name])) return null;
  return asText(Object.hasOwn(data, name) ? data[name] : dataOf(defaults.get(name))) ?? null;
}

/** Hexo: posts by the permalink of the site, pages by their path. */
export async function readHexoRule(reading: RouteContext): Promise<RouteRule> {
  const { config } = reading.detected;
  const value = config === null ? null : await readDataConfig(config, reading);
  const settings = new Settings(value, config ?? reading.layout.root, reading);
  const source = joinPath(reading.layout.root, trimmedPath(settings.text('source_dir') ?? 'source'));
  const rules = postRules(settings);
  const newPost = shortRule(settings, 'new_post_name', ':title.md');
  const readName = await nameReader(newPost);
  const withAssets = settings.flag('post_asset_folder') ?? false;
  const showsHtml = settings.flag('pretty_urls', 'trailing_html') ?? true;
  const showsDrafts = settings.flag('render_drafts') ?? false;
  const showsFuture = settings.flag('future') ?? true;
  // Of its renderers the usual one puts the base before images, but not before links.
  const imagesAddBase =
    reading.detected.manifest?.dependencies.some(({ name }) => name === 'hexo-renderer-marked') === true &&
    settings.flag('marked', 'prependRoot') !== false &&
    settings.flag('relative_link') !== true;
  const isCopied = globs(settings, 'skip_render', true);
  const isExcluded = globs(settings, 'exclude', true);
  const isIncluded = globs(settings, 'include', false);
  const isIgnored = globs(settings, 'ignore', true);
  const place = { path: settings.path, line: 1 };
  if (rules.timeZone !== undefined && rules.timeZone !== 'UTC' && /:(i_)?(year|month|day|hour)/.test(rules.permalink))
    settings.warn(
      'timezone',
      unknown(
        'permalinks have the date of the machine that builds; posts whose date is another one in UTC have no address',
        place,
      ),
    );
  const override = await overridingPermalinks(reading);
  if (override !== undefined) settings.warn('permalink', unknown(`${override} may change it`, place));

  const readPost = (rest: string, frontmatter: Frontmatter) => {
    const { title, year, month, i_month, day, i_day, hash: _, ...named } = readName(rest);
    const data: Frontmatter = { ...frontmatter, ...named };
    const inFile = dateInName({ year, month: month ?? i_month, day: day ?? i_day });
    return { slug: title ?? hexoSlug(withoutExtension(rest)), wall: data.date ? wallOf(data.date) : inFile, data };
  };

  /** @param rest path below `_posts` or `_drafts` */
  const postUrl = (rest: string, frontmatter: Frontmatter): string | null => {
    if (hidden.test(rest) || (withAssets && extensionOf(rest) !== extensionOf(newPost))) return null;
    if (override !== undefined) return null;
    const post = readPost(rest, frontmatter);
    const own = frontmatter.permalink || undefined;
    let isKnown = own === undefined || typeof own === 'string';
    const filled = rules.permalink.replace(parameter, (_, name: string) => {
      const text = textFor(name, post, rules);
      isKnown &&= own !== undefined || text !== null;
      return text ?? '';
    });
    const path = typeof own === 'string' ? own : filled;
    if (!isKnown) return null;
    return address(withAssets && !/(\/|\.html)$/.test(path) ? `${path}/` : path, showsHtml);
  };

  const pageUrl = (rest: string, { permalink }: Frontmatter): string | null => {
    if (isExcluded(rest) || (hidden.test(rest) && !isIncluded(rest))) return null;
    if (!permalink) return address(`${withoutExtension(rest)}.html`, showsHtml);
    if (typeof permalink !== 'string') return null;
    const path = permalink.endsWith('/') ? `${permalink}index` : permalink;
    return address(/[^/.]\.[^/.]*$/.test(path) ? path : `${path}.html`, showsHtml);
  };

  return {
    base: basePath(settings.text('root') || settings.text('url')),
    links: { files: imagesAddBase ? 'below_base' : 'address', pages: 'address' },
    urlOf({ path, frontmatter }) {
      const rest = below(source, path);
      if (rest === null || !markdown.has(extensionOf(rest)) || temporary.test(rest)) return null;
      if (isCopied(rest) || isIgnored(`/${path}`)) return null;
      const post = below('_posts', rest);
      const { published } = frontmatter;
      const isPublished = published === undefined || published === true;
      if (post !== null) return isPublished || showsDrafts ? postUrl(post, frontmatter) : null;
      const draft = below('_drafts', rest);
      if (draft !== null) return showsDrafts ? postUrl(draft, frontmatter) : null;
      return pageUrl(rest, frontmatter);
    },
    evidenceOf: () => ({ confidence: penalizeUnknown(0.9, settings.unknown), source: { path: settings.path } }),
    isDue({ path, frontmatter }, now) {
      const post = below(joinPath(source, '_posts'), path);
      const wall = post === null ? wallOf(frontmatter.date) : readPost(post, frontmatter).wall;
      return showsFuture || wall === null || momentAt(wall, rules.timeZone) <= now;
    },
  };
}
