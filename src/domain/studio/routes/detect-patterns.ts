import type { ProjectContext } from '../../operation.ts';
import type { Snapshot } from '../../ports/git-records.ts';
import { siteFilesOf } from '../content/site-files.ts';
import type { SiteIndex } from '../content/site-index.ts';
import type { Warning } from '../schema/schema.schema.ts';
import { environmentDefaults } from './framework/environment-defaults.ts';
import { patternOf } from './patterns.ts';
import type { PublishedPages } from './published-pages.ts';
import type { SiteRoutes } from './read-routes.ts';
import type { RoutePattern } from './routes.schema.ts';
import { checkPatterns, rate } from './sitemap/check-patterns.ts';

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
