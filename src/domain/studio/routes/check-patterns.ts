import type { CollectionIndex, IndexedEntry } from '../content/collection-index.ts';
import type { EntryFacts } from '../content/entry-facts.ts';
import { expandPattern } from './entry-routes.ts';
import { pathOf } from './published-pages.ts';
import type { RoutePattern } from './routes.schema.ts';
import type { SiteRoutes } from './routes-cache.ts';

/** A collection with what is known of its entries. */
export interface CheckedCollection {
  index: CollectionIndex;
  facts: readonly EntryFacts[];
  /** By the site's rule; null when it knows none. */
  pattern: RoutePattern | null;
}

/** How well a collection's addresses are listed. */
export interface PatternCheck {
  pattern: RoutePattern | null;
  /** Entries that should be published. */
  entries: number;
  hits: number;
  /** The others, with the address that is not listed; null: the pattern gives none. */
  misses: { path: string; url: string | null }[];
  /** Listed paths that are an entry's. */
  found: string[];
}

interface Publishable {
  entry: IndexedEntry;
  frontmatter: NonNullable<EntryFacts['frontmatter']>;
}

/** Entries that the site publishes now, as far as their frontmatter tells. */
function publishable(routes: SiteRoutes, { index, facts, pattern }: CheckedCollection, now: Date): Publishable[] {
  return index.entries.flatMap((entry, at) => {
    const { frontmatter = null, draft = false } = facts[at] ?? {};
    if (frontmatter === null || draft) return [];
    const file = { path: entry.path, frontmatter };
    // What the rule knows to be no page is not missed in a sitemap.
    if (pattern?.source && routes.urlOf(file) === null) return [];
    return routes.isDue(file, now) ? [{ entry, frontmatter }] : [];
  });
}

/** Patterns that sites often have, for a collection whose own does not fit. */
function candidates({ index: { schema }, pattern }: CheckedCollection): RoutePattern[] {
  const { collection, path } = schema;
  const directory = path.slice(path.lastIndexOf('/') + 1);
  const stems = new Set(['/{slug}', `/${collection}/{slug}`, `/${directory}/{slug}`, '/blog/{slug}', '/docs/{slug}']);
  const own = pattern && [pattern.url_pattern.replace(/(\.html|\/)$/, '')];
  const base = {
    collection,
    content_glob: pattern?.content_glob ?? `${path}/**`,
    index_rule: 'directory' as const,
    confidence: 0,
    source: null,
  };
  return [...(own ?? []), ...stems].flatMap((stem) =>
    ['/', '', '.html'].map((end) => ({ ...base, url_pattern: stem + end, trailing_slash: end === '/' })),
  );
}

/**
 * Compares the addresses of a collection with those that are listed. The pattern with the most hits wins, the site's own among equals; its
 * confidence is hits / entries.
 */
export function checkPatterns(
  routes: SiteRoutes,
  collection: CheckedCollection,
  listed: ReadonlySet<string>,
  now: Date,
): PatternCheck {
  const pages = publishable(routes, collection, now);
  const addressBy = (pattern: RoutePattern | null, { entry, frontmatter }: Publishable): string | null => {
    if (pattern === null) return null;
    if (pattern.source) return routes.urlOf({ path: entry.path, frontmatter });
    return expandPattern(pattern, { ...entry, frontmatter }) ?? null;
  };
  const isHit = (url: string | null) => url !== null && listed.has(pathOf(url));
  const hitsOf = (pattern: RoutePattern) => pages.filter((page) => isHit(addressBy(pattern, page))).length;
  let pattern = collection.pattern;
  let hits = pattern ? hitsOf(pattern) : 0;
  if (hits < pages.length) {
    for (const candidate of candidates(collection)) {
      const its = hitsOf(candidate);
      if (its > hits) [pattern, hits] = [candidate, its];
    }
  }
  const addresses = pages.map((page) => ({ path: page.entry.path, url: addressBy(pattern, page) }));
  const misses = addresses.filter(({ url }) => !isHit(url));
  const found = addresses.flatMap(({ url }) => (url !== null && isHit(url) ? [pathOf(url)] : []));
  if (pattern !== null && pages.length > 0) pattern = { ...pattern, confidence: rate(hits, pages.length) };
  return { pattern, entries: pages.length, hits, misses, found };
}

/** A share with three decimals; 0 of nothing. */
export const rate = (part: number, of: number): number => (of === 0 ? 0 : Math.round((part / of) * 1000) / 1000);
