import type { CollectionSchema } from './collection-schema.ts';

type Target = Pick<CollectionSchema, 'path' | 'source'>;

/** A path segment as GitHub makes anchors: letters, digits, `_`, `-`, in lower case. */
const githubSlug = (text: string) =>
  text
    .toLowerCase()
    .replace(/[^\p{L}\p{M}\p{N}\p{Pc}\- ]/gu, '')
    .replaceAll(' ', '-');

/**
 * The texts that name an entry in other entries' references, in the same order for every entry of a collection, the framework's own
 * form first: its slug, its path without extension (Decap with path templates), Astro's id (each segment slugified, a trailing index
 * gone), and its path (Tina, Pages CMS). Some may be equal.
 */
export function referenceIds(collection: Target, entry: { slug: string; path: string }): string[] {
  const inside = collection.path === '' ? entry.path : entry.path.slice(collection.path.length + 1);
  const stem = inside.replace(/(?<=[^/])\.[^./]+$/, '');
  const astro = stem
    .split('/')
    .map(githubSlug)
    .join('/')
    .replace(/\/index$/, '');
  const others = [entry.slug, stem, entry.path];
  return collection.source.kind === 'astro' ? [astro, ...others] : [...others, astro];
}

/**
 * Whether the entries of a collection are all known by path, so that a reference to none of them is a fault: not of a collection
 * whose items lie in one file, or come from a loader that was not understood.
 */
export function namesEntries(schema: Pick<CollectionSchema, 'items_in_file' | 'warnings'> | undefined): boolean {
  return (
    schema !== undefined && !schema.items_in_file && !schema.warnings.some(({ code }) => code === 'loader_unknown')
  );
}
