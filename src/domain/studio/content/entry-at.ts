import { assignSlugs } from '../assign-slugs.ts';
import type { CollectionSchema } from '../schema/collection-schema.ts';
import type { SiteIndex } from './site-index.ts';

/** The collection a path belongs to, whether a file is there or not. */
export function schemaAt({ discovery }: SiteIndex, path: string): CollectionSchema | undefined {
  return discovery.schemas.find((schema) => schema.matches(path));
}

/** The entry a path is, or would be when no file is there; null when no collection takes it. */
export function entryAt(site: SiteIndex, path: string): { collection: string; slug: string } | null {
  const schema = schemaAt(site, path);
  if (!schema) return null;
  const { collection } = schema;
  const known = site.collections.get(collection)?.entries.find((entry) => entry.path === path);
  const slug = known?.slug ?? assignSlugs(schema, [path]).entries[0]?.slug;
  return slug === undefined ? null : { collection, slug };
}
