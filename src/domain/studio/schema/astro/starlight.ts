import type { SchemaField } from '../schema.schema.ts';
import { enumOf, field, listOf, mergeFields, unionOf } from '../zod/field-algebra.ts';

type Shape = Record<string, SchemaField>;

const optional = (one: SchemaField): SchemaField => ({ ...one, required: false });
const object = (shape: Shape): SchemaField =>
  field('object', { fields: Object.entries(shape).map(([name, one]) => ({ ...one, name })) });
const list = (item: SchemaField): SchemaField => listOf(item) ?? field('any', { list: true });
const or = (...alternatives: SchemaField[]) => optional(unionOf(alternatives));

const text = field('string');
const flag = field('boolean');
const heading = optional(field('integer', { min: 1, max: 6 }));
const variant = optional(enumOf(['note', 'danger', 'success', 'caution', 'tip', 'default']));
const badge = or(text, object({ text, variant, class: optional(text) }));
const link = or(flag, text, object({ link: optional(text), label: optional(text) }));
const action = object({
  text,
  link: text,
  variant: optional(enumOf(['primary', 'secondary', 'minimal'])),
  icon: optional(text),
  attrs: optional(field('object')),
});

/** Frontmatter of a Starlight page, as its reference documents it. */
const docsShape: Shape = {
  title: text,
  description: optional(text),
  slug: optional(text),
  editUrl: or(field('link'), flag, text),
  head: optional(list(object({ tag: text, attrs: optional(field('object')), content: optional(text) }))),
  tableOfContents: or(flag, object({ minHeadingLevel: heading, maxHeadingLevel: heading })),
  template: optional({ ...enumOf(['doc', 'splash']), default: 'doc' }),
  hero: optional(
    object({
      title: optional(text),
      tagline: optional(text),
      image: optional(field('any')),
      actions: optional(list(action)),
    }),
  ),
  banner: optional(object({ content: text })),
  lastUpdated: or(field('date', { coerce: true }), flag),
  prev: link,
  next: link,
  pagefind: optional(flag),
  draft: optional({ ...flag, default: false }),
  sidebar: optional(
    object({
      order: optional(field('number')),
      label: optional(text),
      hidden: optional({ ...flag, default: false }),
      badge: badge,
      attrs: optional(field('object')),
    }),
  ),
};

/** `docsSchema({extend})`. */
export function starlightDocs(extend: readonly SchemaField[]): SchemaField {
  const base = object(docsShape);
  return { ...base, fields: mergeFields(base.fields ?? [], extend) };
}
