import type { ProjectContext } from '../../operation.ts';
import type { Snapshot } from '../../ports/git.ts';
import type { SiteIndex } from '../content/site-index.ts';
import type { SchemaField } from '../schema/schema.schema.ts';

/** A place in an entry that points to another entry. */
export interface Reference {
  collection: string;
  slug: string;
  path: string;
  /** JSON Pointer into the frontmatter. */
  field: string;
  required: boolean;
}

function* pointersTo(
  fields: readonly SchemaField[],
  value: unknown,
  target: { collection: string; slug: string },
  prefix: string,
): Generator<{ field: string; required: boolean }> {
  if (value === null || typeof value !== 'object') return;
  for (const field of fields) {
    const held = (value as Record<string, unknown>)[field.name];
    const items = Array.isArray(held) ? held : [held];
    for (const [at, item] of items.entries()) {
      const here = Array.isArray(held) ? `${prefix}/${field.name}/${at}` : `${prefix}/${field.name}`;
      const named = typeof item === 'string' ? item : (item as { id?: unknown; slug?: unknown } | null)?.id;
      if (field.relation?.collection === target.collection && named === target.slug)
        yield { field: here, required: field.required };
      if (field.fields) yield* pointersTo(field.fields, item, target, here);
    }
  }
}

const mentions = (fields: readonly SchemaField[], collection: string): boolean =>
  fields.some((field) => field.relation?.collection === collection || mentions(field.fields ?? [], collection));

/** Entries whose schema-declared relations point to one entry; only collections that can point there are read. */
export async function referencesTo(
  { services, git }: Pick<ProjectContext, 'services' | 'git'>,
  snapshot: Snapshot,
  site: SiteIndex,
  target: { collection: string; slug: string },
): Promise<Reference[]> {
  const found: Reference[] = [];
  for (const { schema, entries } of site.collections.values()) {
    if (!mentions(schema.fields, target.collection)) continue;
    const facts = await services.content.facts(git, snapshot, entries);
    for (const [at, entry] of entries.entries()) {
      for (const pointer of pointersTo(schema.fields, facts[at]?.frontmatter, target, '')) {
        found.push({ collection: schema.collection, slug: entry.slug, path: entry.path, ...pointer });
      }
    }
  }
  return found;
}
