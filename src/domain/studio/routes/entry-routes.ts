import type { z } from 'zod';
import type { Snapshot } from '../../../ports/git-records.ts';
import type { noUrl } from '../entries/entries.schema.ts';
import { pad, readDate } from '../frameworks/routing/dates.ts';
import { encodePath, nameOf, urlPath } from '../frameworks/routing/paths.ts';
import { type LinkForms, longestAddress } from '../frameworks/routing/route-rule.ts';
import type { Frontmatter } from '../frontmatter/values.ts';
import type { EntryKind } from '../schema/schema.schema.ts';
import type { StudioContext } from '../studio.ts';
import { viewOf } from '../view.ts';
import type { RoutePattern } from './routes.schema.ts';
import type { SiteRoutes } from './routes-cache.ts';

/** What a pattern's names stand for. */
interface PatternEntry {
  slug: string;
  locale?: string;
  frontmatter: Frontmatter;
}

function dateParts({ slug, frontmatter }: PatternEntry): Record<string, string> {
  const inName = /^\d{4}-\d{2}-\d{2}/.exec(nameOf(slug))?.[0];
  const date = (readDate(frontmatter.date) ?? readDate(inName))?.wall;
  if (!date) return {};
  return {
    year: String(date.getUTCFullYear()),
    month: pad(date.getUTCMonth() + 1),
    day: pad(date.getUTCDate()),
  };
}

function fieldText(frontmatter: Frontmatter, name: string): string | undefined {
  const value = Object.hasOwn(frontmatter, name) ? frontmatter[name] : undefined;
  return typeof value === 'string' || typeof value === 'number' ? String(value) : undefined;
}

/**
 * The address of an entry by a pattern alone, percent-encoded; undefined when a name in it has no value, or it would be too long. Different slugs give different
 * addresses wherever the pattern holds `{slug}` once.
 */
export function expandPattern(
  { url_pattern, index_rule }: Pick<RoutePattern, 'url_pattern' | 'index_rule'>,
  entry: PatternEntry,
): string | undefined {
  const dates = dateParts(entry);
  let complete = true;
  const path = url_pattern.replace(/\{([^{}]+)\}/g, (_, name: string) => {
    if (name === 'slug') return index_rule === 'directory' && entry.slug === 'index' ? '' : entry.slug;
    const value = name === 'locale' ? entry.locale : (dates[name] ?? fieldText(entry.frontmatter, name));
    if (value === undefined) complete = false;
    return value ?? '';
  });
  return complete && path.length <= longestAddress ? encodePath(urlPath(path)) : undefined;
}

/** An entry as far as its address goes. */
interface RoutedEntry {
  slug: string;
  path: string;
  locale?: string;
}

/** The addresses of a project's entries at one tree. */
export interface EntryRoutes {
  /** Belongs into the view of whatever shows an address; `''` while the project has saved no routes. */
  key: string;
  /** The path all of the site lies below. */
  base: string;
  /**
   * What the text of an entry writes to name a file or the page of another entry that has this percent-encoded address; undefined: the path
   * from its own file to the other one.
   */
  linkTo(what: keyof LinkForms, address: string): string | undefined;
  /** Percent-encoded path; undefined for entries that are not published, or whose frontmatter cannot be read. */
  urlOf(collection: string, entry: RoutedEntry, frontmatter: Frontmatter | null): string | undefined;
  /** Further paths that lead on to its page. */
  aliasesOf(collection: string, entry: RoutedEntry, frontmatter: Frontmatter | null): string[];
  /** Why an entry has none; null while the project has saved no routes. */
  whyNone(collection: string, entry: RoutedEntry, frontmatter: Frontmatter | null): NoUrl | null;
}

type NoUrl = z.output<typeof noUrl>;

const none: EntryRoutes = {
  key: '',
  base: '',
  linkTo: (_what, address) => address,
  urlOf: () => undefined,
  aliasesOf: () => [],
  whyNone: () => null,
};

/** The directory of a project's site, as its routes or its settings name it; null: it is found by its configuration. */
export const siteRootOf = ({ routes, content_root }: StudioContext['project']['settings']): string | null =>
  routes?.root ?? content_root;

/** Reads the routes a project has saved, as its configuration has them at a tree. */
export async function entryRoutes(
  { git, studio, project }: Pick<StudioContext, 'git' | 'studio' | 'project'>,
  snapshot: Snapshot,
): Promise<EntryRoutes> {
  const { routes: saved } = project.settings;
  if (saved === null || saved.patterns.length === 0) return none;
  const site = await studio.routes.at(git, snapshot, siteRootOf(project.settings));
  return routesWith(saved.patterns, site);
}

const messages: Record<NoUrl['code'], string> = {
  data: 'Its collection is data: the site makes no page of it',
  partial: 'Its collection is parts of pages: the site makes no page of it alone',
  unreadable: 'Its frontmatter cannot be read',
  draft: 'It is a draft',
  no_pattern: 'No saved route pattern is for its collection and language',
  no_page: 'By its configuration the site makes no page of it, or where that page lies cannot be determined',
};

/** Addresses by patterns: those with a source follow the site's rule, the others are as they are written. */
export function routesWith(patterns: readonly RoutePattern[], site: SiteRoutes): EntryRoutes {
  const byCollection = Map.groupBy(patterns, ({ collection }) => collection);
  const patternFor = (collection: string, entry: RoutedEntry) =>
    byCollection.get(collection)?.find(({ locale }) => locale === undefined || locale === entry.locale);
  const base = encodePath(site.base);
  return {
    key: viewOf([site.key, patterns]),
    base: site.base,
    linkTo(what, address) {
      const form = site.links[what];
      if (form === 'relative') return undefined;
      return form === 'below_base' && address.startsWith(`${base}/`) ? address.slice(base.length) : address;
    },
    whyNone(collection, entry, frontmatter) {
      const pattern = patternFor(collection, entry);
      const because = (code: NoUrl['code']): NoUrl => ({ code, message: messages[code] });
      if (frontmatter === null) return because('unreadable');
      if (pattern === undefined) return because('no_pattern');
      if (frontmatter.draft === true) return because('draft');
      const reason = pattern.source && site.whyNone({ path: entry.path, frontmatter });
      return reason ? { code: 'no_page', message: reason } : because('no_page');
    },
    aliasesOf(collection, entry, frontmatter) {
      const isBySite = patternFor(collection, entry)?.source != null;
      return isBySite && frontmatter !== null ? site.aliasesOf({ path: entry.path, frontmatter }) : [];
    },
    urlOf(collection, entry, frontmatter) {
      const pattern = patternFor(collection, entry);
      if (pattern === undefined || frontmatter === null) return undefined;
      if (pattern.source !== null) return site.urlOf({ path: entry.path, frontmatter }) ?? undefined;
      return frontmatter.draft === true ? undefined : expandPattern(pattern, { ...entry, frontmatter });
    },
  };
}

/** The members of an entry's record that say where its page is and how others link to it; nothing when it has none. */
export function urlMember(
  routes: EntryRoutes,
  collection: string,
  entry: RoutedEntry,
  frontmatter: Frontmatter | null,
): { url?: string; link?: string } {
  const url = routes.urlOf(collection, entry, frontmatter);
  if (url === undefined) return {};
  const link = routes.linkTo('pages', url);
  return { url, ...(link !== undefined && { link }) };
}

/** The members of one entry's record that say where its page is, or why it has none. */
export function addressMembers(
  routes: EntryRoutes,
  { collection, kind }: { collection: string; kind: EntryKind },
  entry: RoutedEntry,
  frontmatter: Frontmatter | null,
): { url?: string; link?: string; no_url?: NoUrl } {
  const known = urlMember(routes, collection, entry, frontmatter);
  if (known.url !== undefined) return known;
  if (kind !== 'page') return { no_url: { code: kind, message: messages[kind] } };
  const reason = routes.whyNone(collection, entry, frontmatter);
  return reason === null ? {} : { no_url: reason };
}
