import type { Snapshot } from '../../../ports/git-records.ts';
import type { ProjectContext } from '../../operation.ts';
import type { CollectionIndex } from '../content/collection-index.ts';
import { siteFilesOf } from '../content/site-files.ts';
import type { SiteIndex } from '../content/site-index.ts';
import { environmentDefaults } from '../frameworks/environment-defaults.ts';
import type { CollectionSchema } from '../schema/collection-schema.ts';
import type { Warning } from '../schema/schema.schema.ts';
import { joinPath } from '../schema/site-layout.ts';
import { checkPatterns, rate } from './check-patterns.ts';
import type { PublishedPages } from './published-pages.ts';
import type { RoutePattern } from './routes.schema.ts';
import type { SiteRoutes } from './routes-cache.ts';

/** Names that no site has: what becomes of them tells how addresses are made. */
const probe = { slug: 'portico-probe', year: '2917', month: '10', day: '29', title: 'portico-title' };
const date = `${probe.year}-${probe.month}-${probe.day}`;
/** Fields that decide about a page instead of being part of its address. */
const deciding = new Set([
  'slug',
  'url',
  'permalink',
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
function probeUrl(routes: SiteRoutes, schema: CollectionSchema, stem: string): string | null {
  const frontmatter = probeFrontmatter(schema);
  for (const extension of schema.extensions) {
    const path = joinPath(schema.path, `${stem}.${extension}`);
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

/** The pattern of a collection, as the site's rule has it; null when its entries are no pages. */
function patternOf(routes: SiteRoutes, { schema, entries }: CollectionIndex): RoutePattern | null {
  const url_pattern =
    probeUrl(routes, schema, probe.slug) ??
    probeUrl(routes, schema, `${date}-${probe.slug}`) ??
    probeUrl(routes, schema, `${probe.slug}/index`);
  const evidence = routes.evidenceOf(entries[0]?.path ?? joinPath(schema.path, `x.${schema.extensions[0]}`));
  if (url_pattern === null || evidence === null) return null;
  const index = probeUrl(routes, schema, `${probe.slug}/index`);
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

type Context = Pick<ProjectContext, 'git' | 'services'>;

/**
 * The site whose entries are routed: that of the project, unless another directory is asked for or was found.
 * @param root.given what the caller asked for
 */
export async function siteAt(
  { git, services }: Context,
  snapshot: Snapshot,
  root: { given: string | undefined; found: string },
): Promise<{ site: SiteIndex; warnings: Warning[] }> {
  const usual = await services.content.site(git, snapshot);
  const wanted = root.given ?? root.found;
  if (usual.discovery.contentRoot === wanted) return { site: usual, warnings: [] };
  const message = `Entries are read from "${usual.discovery.contentRoot || '/'}"; set content_root to "${wanted}" for them to have these addresses`;
  return {
    site: await services.content.below(wanted).site(git, snapshot),
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
  { git, services }: Context,
  snapshot: Snapshot,
  { routes, site, published }: { routes: SiteRoutes; site: SiteIndex; published: PublishedPages },
) {
  const { addresses, pages } = published;
  const patterns: RoutePattern[] = [];
  const misses: { path: string; url: string | null }[] = [];
  const found = new Set<string | undefined>();
  let [entries, hits] = [0, 0];
  for (const index of site.collections.values()) {
    const facts = await services.content.collectionFacts(git, snapshot, index);
    const collection = { index, facts, pattern: patternOf(routes, index) };
    const check = checkPatterns(routes, collection, new Set(addresses.keys()), services.clock.now());
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
  { git, services }: Context,
  snapshot: Snapshot,
  { site, patterns, urlOf }: { site: SiteIndex; patterns: readonly RoutePattern[]; urlOf: SampleUrl },
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
  const facts = await services.content.facts(git, snapshot, places.slice(0, maxSamples));
  return places.slice(0, maxSamples).flatMap((place, at) => {
    const url = urlOf(place.collection, place, facts[at]?.frontmatter ?? null);
    return url === undefined ? [] : [{ path: place.path, url }];
  });
}

type SampleUrl = (
  collection: string,
  entry: { slug: string; path: string; locale?: string },
  frontmatter: Record<string, unknown> | null,
) => string | undefined;

/** The commands that build the site of a tree. */
export const defaultsAt = async ({ git }: Context, snapshot: Snapshot, { detected }: SiteRoutes) =>
  environmentDefaults(await siteFilesOf(git, snapshot), detected);
