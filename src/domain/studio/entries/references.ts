import type { ProjectContext } from '../../operation.ts';
import type { Snapshot } from '../../ports/git-records.ts';
import type { SiteIndex } from '../content/site-index.ts';
import { pointerTo } from '../frontmatter/values.ts';
import { referenceIds } from '../schema/reference-ids.ts';
import type { SchemaField } from '../schema/schema.schema.ts';

/** A place in an entry that points to another entry. */
export interface Reference {
  collection: string;
  slug: string;
  path: string;
  /** JSON Pointer into the frontmatter. */
  field: string;
  required: boolean;
  /** The text that names the entry: its slug, or another of its `referenceIds`. */
  id: string;
}

function* pointersTo(
  fields: readonly SchemaField[],
  value: unknown,
  target: { collection: string; ids: ReadonlySet<string> },
  prefix: string,
): Generator<{ field: string; required: boolean; id: string }> {
  if (value === null || typeof value !== 'object') return;
  for (const field of fields) {
    const held = (value as Record<string, unknown>)[field.name];
    const items = Array.isArray(held) ? held : [held];
    for (const [at, item] of items.entries()) {
      const own = pointerTo(prefix, field.name);
      const here = Array.isArray(held) ? `${own}/${at}` : own;
      const written = item as { id?: unknown; slug?: unknown } | null | undefined;
      const id = typeof item === 'string' ? item : (written?.id ?? written?.slug);
      if (field.relation?.collection === target.collection && typeof id === 'string' && target.ids.has(id))
        yield { field: here, required: field.required, id };
      if (field.fields) yield* pointersTo(field.fields, item, target, here);
      // Kinds of one object share keys: the alternatives may find the same place twice.
      const inner = (field.variants ?? []).flatMap((one) => [...pointersTo(one.fields ?? [], item, target, here)]);
      yield* new Map(inner.map((pointer) => [pointer.field, pointer])).values();
    }
  }
}

const mentions = (fields: readonly SchemaField[], collection: string): boolean =>
  fields.some(
    (field) =>
      field.relation?.collection === collection ||
      mentions(field.fields ?? [], collection) ||
      mentions(field.variants ?? [], collection),
  );

/** An entry by all the texts that name it, whether it is still there or not. */
interface Named {
  collection: string;
  ids: ReadonlySet<string>;
}

export function namedIn(site: SiteIndex, { collection, slug }: { collection: string; slug: string }): Named {
  const index = site.collections.get(collection);
  const entry = index?.entries[index.positions.get(slug) ?? -1];
  return { collection, ids: new Set(index && entry ? referenceIds(index.schema, entry) : []) };
}

/** Entries whose schema-declared relations point to one entry; only collections that can point there are read. */
export async function referencesTo(
  { services, git }: Pick<ProjectContext, 'services' | 'git'>,
  { tree, site }: { tree: Snapshot; site: SiteIndex },
  target: Named,
): Promise<Reference[]> {
  const found: Reference[] = [];
  for (const { schema, entries } of site.collections.values()) {
    if (target.ids.size === 0 || !mentions(schema.fields, target.collection)) continue;
    const facts = await services.content.facts(git, tree, entries);
    for (const [at, entry] of entries.entries()) {
      for (const pointer of pointersTo(schema.fields, facts[at]?.frontmatter, target, '')) {
        found.push({ collection: schema.collection, slug: entry.slug, path: entry.path, ...pointer });
      }
    }
  }
  return found;
}
