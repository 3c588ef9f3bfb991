import type { CollectionSchema } from '../schema/collection-schema.ts';
import type { SchemaSourceKind } from '../schema/schema.schema.ts';

/** Where frameworks look for the addresses an entry had before. */
const ofFramework: Partial<Record<SchemaSourceKind, string>> = { hugo: 'aliases', jekyll: 'redirect_from' };
const usual = new Set(['aliases', 'redirect_from', 'alias', 'redirects']);

/** A suggestion for an entry that was renamed. */
export interface Redirect {
  /** JSON Pointer of the frontmatter key that makes the site redirect. */
  field: string;
  /** The slug the entry had. */
  slug: string;
  /** The address it had, when the schema defines it. */
  url?: string;
}

/** What would keep an entry's old address alive; null where neither the schema nor the framework has a key for it. */
export function redirectFor(
  { fields, source, url_pattern }: Pick<CollectionSchema, 'fields' | 'source' | 'url_pattern'>,
  slug: string,
): Redirect | null {
  const name = fields.find((field) => usual.has(field.name))?.name ?? ofFramework[source.kind];
  if (name === undefined) return null;
  const url = url_pattern?.replaceAll('{slug}', slug);
  return { field: `/${name}`, slug, ...(url !== undefined && !url.includes('{') && { url }) };
}
