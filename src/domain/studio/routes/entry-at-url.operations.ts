import { LRUCache } from 'lru-cache';
import { z } from 'zod';
import { type ProjectContext, projectOperation } from '../../operation.ts';
import type { Snapshot } from '../../ports/git-records.ts';
import { refInput, snapshotOf } from '../repository/refs.ts';
import { entryRoutes } from './entry-routes.ts';
import { pageKey } from './page-address.ts';

/** Which entry an address shows. */
export interface EntryPlace {
  collection: string;
  slug: string;
  path: string;
}

type ReverseIndex = ReadonlyMap<string, EntryPlace>;
const indexes = new LRUCache<string, Promise<ReverseIndex>>({ max: 16 });

/**
 * The entry whose page an address shows, by the project's saved routes: with or without origin, slash at the end and `index.html`; null when
 * no entry has it.
 */
export async function entryAtUrl(
  context: Pick<ProjectContext, 'git' | 'services' | 'project'>,
  snapshot: Snapshot,
  url: string,
): Promise<EntryPlace | null> {
  const routes = await entryRoutes(context, snapshot);
  if (routes.key === '') return null;
  const { git, project } = context;
  const key = JSON.stringify([git.id, project.settings.content_root, snapshot.tree, routes.key]);
  const known = indexes.get(key) ?? readIndex(context, snapshot);
  indexes.set(key, known);
  known.catch(() => indexes.delete(key));
  return (await known).get(pageKey(url)) ?? null;
}

async function readIndex(
  context: Pick<ProjectContext, 'git' | 'services' | 'project'>,
  snapshot: Snapshot,
): Promise<ReverseIndex> {
  const { git, services } = context;
  const routes = await entryRoutes(context, snapshot);
  const site = await services.content.site(git, snapshot);
  const found = new Map<string, EntryPlace>();
  for (const [collection, index] of site.collections) {
    const facts = await services.content.collectionFacts(git, snapshot, index);
    for (const [at, entry] of index.entries.entries()) {
      const url = routes.urlOf(collection, entry, facts[at]?.frontmatter ?? null);
      const key = url === undefined ? undefined : pageKey(url);
      // Two entries at one address are a fault of the site; the first keeps it here, so that the answer is always the same.
      if (key !== undefined && !found.has(key)) found.set(key, { collection, slug: entry.slug, path: entry.path });
    }
  }
  return found;
}

export const findEntryByUrl = projectOperation({
  name: 'studio.findEntryByUrl',
  kind: 'query',
  permission: 'browse_studio',
  summary: 'The entry whose page an address shows',
  input: z.object({ url: z.string().min(1, 'must not be empty').max(4096), ...refInput }),
  output: z.object({ collection: z.string(), slug: z.string(), path: z.string() }).nullable(),
  async execute(context, { url, ...at }) {
    return entryAtUrl(context, await snapshotOf(context.git, at), url);
  },
});
