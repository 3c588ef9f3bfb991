import { pointerTo } from '../frontmatter/values.ts';
import type { SchemaField } from '../schema/schema.schema.ts';

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
export const relatesTo = (fields: readonly SchemaField[], collection: string): boolean =>
  fields.some(
    (field) =>
      field.relation?.collection === collection ||
      relatesTo(field.fields ?? [], collection) ||
      relatesTo(field.variants ?? [], collection),
  );
