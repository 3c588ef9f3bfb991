import { filterYielding, forEachYielding, mapYielding } from '../../../lib/concurrency.ts';
import type { Snapshot } from '../../../ports/git-records.ts';
import type { CollectionIndex, IndexedEntry } from '../content/collection-index.ts';
import type { EntryFacts } from '../content/entry-facts.ts';
import type { SiteIndex } from '../content/site-index.ts';
import { directoryOf } from '../frameworks/routing/paths.ts';
import type { CollectionSchema } from '../schema/collection-schema.ts';
import type { Warning } from '../schema/schema.schema.ts';
import { joinPath } from '../schema/site-layout.ts';
import type { StudioContext } from '../studio.ts';
import { type EntryRoutes, expandPattern } from './entry-routes.ts';
import { type PublishedPages, pathOf } from './published-pages.ts';
import { longestPattern, type RoutePattern } from './routes.schema.ts';
import type { SiteRoutes } from './routes-cache.ts';

/** A collection with what is known of its entries. */
interface CheckedCollection {
  index: CollectionIndex;
  facts: readonly EntryFacts[];
  /** By the site's rule; null when it knows none. */
  pattern: RoutePattern | null;
}

/** How well a collection's addresses are listed. */
interface PatternCheck {
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
async function publishable(
  routes: SiteRoutes,
  { index, facts, pattern }: CheckedCollection,
  now: Date,
): Promise<Publishable[]> {
  const found: Publishable[] = [];
  await forEachYielding(index.entries.entries(), ([at, entry]) => {
    const { frontmatter = null, draft = false } = facts[at] ?? {};
    if (frontmatter === null || draft) return;
    const file = { path: entry.path, frontmatter };
    // What the rule knows to be no page is not missed in a sitemap.
    if (pattern?.source && routes.urlOf(file) === null) return;
    if (routes.isDue(file, now)) found.push({ entry, frontmatter });
  });
  return found;
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
 * Compares the addresses of a collection with listed ones. The pattern with the most hits wins, the site's own among equals; its
 * confidence is hits / entries.
 */
async function checkPatterns(
  routes: SiteRoutes,
  collection: CheckedCollection,
  listed: ReadonlySet<string>,
  now: Date,
): Promise<PatternCheck> {
  const pages = await publishable(routes, collection, now);
  const addressBy = (pattern: RoutePattern | null, { entry, frontmatter }: Publishable): string | null => {
    if (pattern === null) return null;
    if (pattern.source) return routes.urlOf({ path: entry.path, frontmatter });
    return expandPattern(pattern, { ...entry, frontmatter }) ?? null;
  };
  const isHit = (url: string | null) => url !== null && listed.has(pathOf(url));
  const hitsOf = async (pattern: RoutePattern) =>
    (await filterYielding(pages, (page) => isHit(addressBy(pattern, page)))).length;
  let pattern = collection.pattern;
  let hits = pattern ? await hitsOf(pattern) : 0;
  if (hits < pages.length) {
    for (const candidate of candidates(collection)) {
      const its = await hitsOf(candidate);
      if (its > hits) [pattern, hits] = [candidate, its];
    }
  }
  const chosen = pattern;
  const addresses = await mapYielding(pages, (page) => ({ path: page.entry.path, url: addressBy(chosen, page) }));
  const misses = addresses.filter(({ url }) => !isHit(url));
  const found = addresses.flatMap(({ url }) => (url !== null && isHit(url) ? [pathOf(url)] : []));
  if (pattern !== null && pages.length > 0) pattern = { ...pattern, confidence: rate(hits, pages.length) };
  return { pattern, entries: pages.length, hits, misses, found };
}

/** A share with three decimals; 0 of nothing. */
const rate = (part: number, of: number): number => (of === 0 ? 0 : Math.round((part / of) * 1000) / 1000);

/** Names that no site has: what becomes of them tells how addresses are made. */
const probe = { slug: 'portico-probe', year: '2917', month: '10', day: '29', title: 'portico-title' };
const date = `${probe.year}-${probe.month}-${probe.day}`;
/** Fields that decide about a page instead of being part of its address. */
const deciding = new Set([
  'slug',
  'url',
  'permalink',
  'path',
  'id',
  'draft',
  'layout',
  'category',
  'categories',
  'tags',
  'date',
]);

const fieldProbe = (name: string) => `portico-field-${name.toLowerCase().replace(/[^a-z0-9]/g, '')}`;

/** Frontmatter whose every text can be recognised in an address. */
function probeFrontmatter({ fields }: CollectionSchema): Record<string, unknown> {
  const texts = fields.filter(({ name, type, list }) => !list && !deciding.has(name) && type === 'string');
  return { ...Object.fromEntries(texts.map(({ name }) => [name, fieldProbe(name)])), title: probe.title, date };
}

/** The address of a file that is not there, with names in the place of what was made up for it; null when it would be no page. */
function probeUrl(routes: SiteRoutes, schema: CollectionSchema, directory: string, stem: string): string | null {
  const frontmatter = probeFrontmatter(schema);
  for (const extension of schema.extensions) {
    const path = joinPath(directory, `${stem}.${extension}`);
    const url = schema.matches(path) ? routes.urlOf({ path, frontmatter }) : null;
    if (url === null) continue;
    const named = schema.fields.reduce((text, { name }) => text.replaceAll(fieldProbe(name), `{${name}}`), url);
    return named
      .replace(date, '{year}-{month}-{day}')
      .replaceAll(probe.slug, '{slug}')
      .replaceAll(probe.title, '{title}')
      .replace(new RegExp(`(?<![\\w])${probe.year}(?![\\w])`), '{year}')
      .replace(new RegExp(`(?<![\\w])${probe.month}(?![\\w])`), '{month}')
      .replace(new RegExp(`(?<![\\w])${probe.day}(?![\\w])`), '{day}');
  }
  return null;
}

/** How many entries are looked at where no page is made of a file that is not there. */
const mostProbed = 100;

/** The pattern of entries that are there, when files of other names beside them are no pages; null when they are none either. */
function patternOfEntries(routes: SiteRoutes, { schema, entries }: CollectionIndex): string | null {
  const frontmatter = probeFrontmatter(schema);
  for (const { path, slug } of entries.slice(0, mostProbed)) {
    const url = routes.urlOf({ path, frontmatter });
    if (url !== null) return url.replace(slug.slice(slug.lastIndexOf('/') + 1), '{slug}');
  }
  return null;
}

/** The pattern of a collection, as the site's rule has it; null when its entries are no pages. */
function patternOf(routes: SiteRoutes, collection: CollectionIndex): RoutePattern | null {
  const { schema, entries } = collection;
  const inDirectory = (directory: string) =>
    probeUrl(routes, schema, directory, probe.slug) ??
    probeUrl(routes, schema, directory, `${date}-${probe.slug}`) ??
    probeUrl(routes, schema, directory, `${probe.slug}/index`);
  // Posts may be in any directory, and sections decide about what is below them.
  const directories = new Set([schema.path, ...entries.slice(0, mostProbed).map(({ path }) => directoryOf(path))]);
  const home = [...directories].find((directory) => inDirectory(directory) !== null);
  const url_pattern = home === undefined ? patternOfEntries(routes, collection) : inDirectory(home);
  const evidence = routes.evidenceOf(entries[0]?.path ?? joinPath(schema.path, `x.${schema.extensions[0]}`));
  if (url_pattern === null || url_pattern.length > longestPattern || evidence === null) return null;
  const index = probeUrl(routes, schema, home ?? schema.path, `${probe.slug}/index`);
  const [first] = entries;
  const one = first?.locale !== undefined && entries.every(({ locale }) => locale === first.locale);
  const many = schema.extensions.length > 1;
  return {
    collection: schema.collection,
    content_glob: joinPath(schema.path, `**/*.${many ? `{${schema.extensions.join(',')}}` : schema.extensions[0]}`),
    url_pattern,
    index_rule: index === null || !/index/.test(index) ? 'directory' : 'file',
    trailing_slash: url_pattern.endsWith('/'),
    ...(one && { locale: first.locale }),
    confidence: evidence.confidence,
    source: evidence.source,
  };
}

type Context = Pick<StudioContext, 'git' | 'services' | 'studio'>;

/**
 * The site whose entries are routed: that of the project, unless another directory is given or was found.
 * @param root.given the caller's input
 */
export async function siteAt(
  { git, studio }: Context,
  snapshot: Snapshot,
  root: { given: string | undefined; found: string },
): Promise<{ site: SiteIndex; warnings: Warning[] }> {
  const usual = await studio.content.site(git, snapshot);
  const wanted = root.given ?? root.found;
  if (usual.discovery.contentRoot === wanted) return { site: usual, warnings: [] };
  const message = `Entries are read from "${usual.discovery.contentRoot || '/'}"; set content_root to "${wanted}" for them to have these addresses`;
  return {
    site: await studio.content.below(wanted).site(git, snapshot),
    warnings: [{ code: 'content_root_differs', message }],
  };
}

const maxSamples = 10;

/** The patterns of all collections that have pages, by the site's rule. */
export const patternsOf = (routes: SiteRoutes, site: SiteIndex): RoutePattern[] =>
  [...site.collections.values()].flatMap((index) => patternOf(routes, index) ?? []);

/** Misses, and surplus, that a comparison lists. */
const mostListed = 100;

/** Patterns after a comparison with the pages that are there, and how many of them were right. */
export async function confirmPatterns(
  { git, services, studio }: Context,
  snapshot: Snapshot,
  { routes, site, published }: { routes: SiteRoutes; site: SiteIndex; published: PublishedPages },
) {
  const { addresses, pages } = published;
  const patterns: RoutePattern[] = [];
  const misses: { path: string; url: string | null }[] = [];
  const found = new Set<string | undefined>();
  let [entries, hits] = [0, 0];
  for (const index of site.collections.values()) {
    const facts = await studio.content.collectionFacts(git, snapshot, index);
    const collection = { index, facts, pattern: patternOf(routes, index) };
    const check = await checkPatterns(routes, collection, new Set(addresses.keys()), services.clock.now());
    // Without a rule a directory has pages only when some of them are there.
    if (check.pattern === null) continue;
    patterns.push(check.pattern);
    entries += check.entries;
    hits += check.hits;
    misses.push(...check.misses);
    for (const address of check.found) found.add(addresses.get(address));
  }
  const surplus = pages.filter((page) => !found.has(page));
  const check = {
    urls: pages.length,
    entries,
    hits,
    hit_rate: rate(hits, entries),
    misses: misses.slice(0, mostListed),
    surplus: surplus.slice(0, mostListed),
    surplus_count: surplus.length,
  };
  return { patterns, check };
}

/** Entries of every collection with a pattern, spread over them, as they are predicted. */
export async function samplesOf(
  { git, studio }: Context,
  snapshot: Snapshot,
  { site, patterns, routes }: { site: SiteIndex; patterns: readonly RoutePattern[]; routes: EntryRoutes },
) {
  const each = Math.max(1, Math.floor(maxSamples / Math.max(1, patterns.length)));
  const places = patterns.flatMap(({ collection }) => {
    const entries = site.collections.get(collection)?.entries ?? [];
    const count = Math.min(each, entries.length);
    return Array.from({ length: count }, (_, at) => {
      const entry = entries[Math.floor((at * entries.length) / count)];
      return entry ? [{ ...entry, collection }] : [];
    }).flat();
  });
  const facts = await studio.content.facts(git, snapshot, places.slice(0, maxSamples));
  return places.slice(0, maxSamples).flatMap((place, at) => {
    const url = routes.urlOf(place.collection, place, facts[at]?.frontmatter ?? null);
    return url === undefined ? [] : [{ path: place.path, url }];
  });
}
