import { VersionCache } from '../../../lib/version-cache.ts';
import type { Snapshot } from '../../../ports/git-records.ts';
import type { StudioContext } from '../studio.ts';
import type { EntryRoutes } from './entry-routes.ts';
import { pageKey } from './published-pages.ts';

/** Which entry an address shows. */
export interface EntryPlace {
  collection: string;
  slug: string;
  path: string;
}

type ReverseIndex = ReadonlyMap<string, EntryPlace>;
const indexes = new VersionCache<ReverseIndex>({ versions: 16, subjects: 1 });

/**
 * The entry whose page an address shows or leads on to: with or without origin, slash at the end and `index.html`; null when no entry has it.
 * @param routes the project's saved ones, or those of its framework
 */
export async function entryAtUrl(
  context: Pick<StudioContext, 'git' | 'studio' | 'project'>,
  snapshot: Snapshot,
  routes: EntryRoutes,
  url: string,
): Promise<EntryPlace | null> {
  if (routes.key === '') return null;
  const { git, project } = context;
  const subject = JSON.stringify([git.id, project.settings.content_root]);
  const index = await indexes.of(subject, `${snapshot.tree} ${routes.key}`, () => readIndex(context, snapshot, routes));
  return index.get(pageKey(url)) ?? null;
}

async function readIndex(
  context: Pick<StudioContext, 'git' | 'studio' | 'project'>,
  snapshot: Snapshot,
  routes: EntryRoutes,
): Promise<ReverseIndex> {
  const { git, studio } = context;
  const site = await studio.content.site(git, snapshot);
  const found = new Map<string, EntryPlace>();
  const aliases: [string, EntryPlace][] = [];
  for (const [collection, index] of site.collections) {
    const facts = await studio.content.collectionFacts(git, snapshot, index);
    for (const [at, entry] of index.entries.entries()) {
      const frontmatter = facts[at]?.frontmatter ?? null;
      const url = routes.urlOf(collection, entry, frontmatter);
      if (url === undefined) continue;
      const place = { collection, slug: entry.slug, path: entry.path };
      // Two entries at one address are a fault of the site; the first keeps it here, so that the answer is always the same.
      if (!found.has(pageKey(url))) found.set(pageKey(url), place);
      for (const alias of routes.aliasesOf(collection, entry, frontmatter)) aliases.push([pageKey(alias), place]);
    }
  }
  // A page of its own stands where an alias does, too.
  for (const [key, place] of aliases) if (!found.has(key)) found.set(key, place);
  return found;
}
