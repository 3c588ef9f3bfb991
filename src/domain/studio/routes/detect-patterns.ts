import type { ProjectContext } from '../../operation.ts';
import type { Snapshot } from '../../ports/git-records.ts';
import { siteFilesOf } from '../content/site-files.ts';
import type { SiteIndex } from '../content/site-index.ts';
import type { Warning } from '../schema/schema.schema.ts';
import { environmentDefaults } from './framework/environment-defaults.ts';
import { pathOf } from './page-address.ts';
import { patternOf } from './patterns.ts';
import type { SiteRoutes } from './read-routes.ts';
import type { RoutePattern } from './routes.schema.ts';
import { checkPatterns } from './sitemap/check-patterns.ts';

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

/** Patterns after a comparison with the addresses a sitemap lists, and how many of them were right. */
export async function confirmPatterns(
  { git, services }: Context,
  snapshot: Snapshot,
  { routes, site, listed }: { routes: SiteRoutes; site: SiteIndex; listed: readonly string[] },
) {
  const known = new Set(listed.map(pathOf));
  const patterns: RoutePattern[] = [];
  let [entries, hits] = [0, 0];
  for (const index of site.collections.values()) {
    const facts = await services.content.collectionFacts(git, snapshot, index);
    const collection = { index, facts, pattern: patternOf(routes, index) };
    const check = checkPatterns(routes, collection, known, services.clock.now());
    // Without a rule a directory has pages only when some of them are there.
    if (check.pattern === null) continue;
    patterns.push(check.pattern);
    entries += check.entries;
    hits += check.hits;
  }
  const hit_rate = entries === 0 ? 0 : Math.round((hits / entries) * 1000) / 1000;
  return { patterns, sitemap: { urls: listed.length, entries, hits, hit_rate } };
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
    return Array.from({ length: Math.min(each, entries.length) }, (_, at) => {
      const entry = entries[Math.floor((at * entries.length) / each)] ?? entries[at];
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
