import { Pace } from '../../../lib/concurrency.ts';
import { pointerTo } from '../../../lib/json-pointer.ts';
import type { Snapshot } from '../../../ports/git-records.ts';
import type { SiteIndex } from '../content/site-index.ts';
import { referenceIds } from '../schema/reference-ids.ts';
import type { SchemaField } from '../schema/schema.schema.ts';
import type { StudioContext } from '../studio.ts';

/** A value that names an entry, as the schema says. */
export interface Relation {
  /** Collection of the entry that is named. */
  collection: string;
  /** JSON Pointer into the frontmatter. */
  field: string;
  required: boolean;
  /** The text that names the entry: its slug, or another of its `referenceIds`. */
  id: string;
}

/** All relations in the frontmatter of an entry. @param prefix JSON Pointer of `value` */
export function* relationsIn(fields: readonly SchemaField[], value: unknown, prefix = ''): Generator<Relation> {
  if (value === null || typeof value !== 'object') return;
  for (const field of fields) {
    const held = (value as Record<string, unknown>)[field.name];
    const items = Array.isArray(held) ? held : [held];
    for (const [at, item] of items.entries()) {
      const own = pointerTo(prefix, field.name);
      const here = Array.isArray(held) ? `${own}/${at}` : own;
      const written = item as { id?: unknown; slug?: unknown } | null | undefined;
      const id = typeof item === 'string' ? item : (written?.id ?? written?.slug);
      if (field.relation && typeof id === 'string')
        yield { collection: field.relation.collection, field: here, required: field.required, id };
      if (field.fields) yield* relationsIn(field.fields, item, here);
      // Kinds of one object share keys: the alternatives may find the same place twice.
      const inner = (field.variants ?? []).flatMap((one) => [...relationsIn(one.fields ?? [], item, here)]);
      yield* new Map(inner.map((relation) => [relation.field, relation])).values();
    }
  }
}

/** Whether entries with these fields can name entries of a collection. */
const relatesTo = (fields: readonly SchemaField[], collection: string): boolean =>
  fields.some(
    (field) =>
      field.relation?.collection === collection ||
      relatesTo(field.fields ?? [], collection) ||
      relatesTo(field.variants ?? [], collection),
  );

/** A place in an entry that points to another entry. */
interface Reference extends Relation {
  /** The entry that points. */
  slug: string;
  path: string;
}

/** An entry by all the texts that name it, whether it is still there or not. */
interface Named {
  collection: string;
  ids: ReadonlySet<string>;
}

export function namedIn(site: SiteIndex, { collection, slug }: { collection: string; slug: string }): Named {
  const index = site.collections.get(collection);
  const entry = index?.find(slug);
  return { collection, ids: new Set(index && entry ? referenceIds(index.schema, entry) : []) };
}

/** Entries whose schema-declared relations point to one of some entries; only collections that can point there are read. */
export async function referencesTo(
  { studio, git }: Pick<StudioContext, 'studio' | 'git'>,
  { tree, site }: { tree: Snapshot; site: SiteIndex },
  ...targets: readonly Named[]
): Promise<Reference[]> {
  const found: Reference[] = [];
  const pace = new Pace();
  const wanted = targets.filter(({ ids }) => ids.size > 0);
  for (const { schema, entries } of site.collections.values()) {
    if (!wanted.some(({ collection }) => relatesTo(schema.fields, collection))) continue;
    const facts = await studio.content.facts(git, tree, entries);
    for (const [at, entry] of entries.entries()) {
      if (pace.isDue) await pace.yield();
      for (const relation of relationsIn(schema.fields, facts[at]?.frontmatter)) {
        if (!wanted.some(({ collection, ids }) => relation.collection === collection && ids.has(relation.id))) continue;
        found.push({ ...relation, collection: schema.collection, slug: entry.slug, path: entry.path });
      }
    }
  }
  return found;
}
