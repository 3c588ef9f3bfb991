import type { SchemaField } from '../schema.schema.ts';
import { at, isTrue, itemsOf, textAt, textsOf } from '../static/read-value.ts';
import type { Value } from '../static/values.ts';
import { field } from '../zod/field-algebra.ts';
import {
  annotate,
  blockOf,
  bounded,
  choice,
  isRequired,
  MAX_DEPTH,
  manyOf,
  objectOf,
  optional,
  unknownField,
  type Warn,
} from './field-tools.ts';

export interface FrontMatterContext {
  /** `frontMatter.taxonomy.fieldGroups`: named lists of fields. */
  groups: readonly Value[];
  draft: Value | undefined;
  warn: Warn;
  depth: number;
}

type Kind = (value: Value, context: FrontMatterContext) => SchemaField;

const many = (value: Value, one: SchemaField) => (isTrue(at(value, 'multiple')) ? manyOf(one) : one);
const words: Kind = () => manyOf(field('string', { coerce: true }));

const groupOf = (name: string, { groups }: FrontMatterContext) => groups.find((group) => textAt(group, 'id') === name);
const deeper = (context: FrontMatterContext) => ({ ...context, depth: context.depth + 1 });

const block: Kind = (value, context) => {
  const names = textsOf(at(value, 'fieldGroup'));
  const kinds = names.map((name) => ({
    name,
    fields: frontMatterFields(at(groupOf(name, context), 'fields'), deeper(context)),
  }));
  return manyOf(names.length === 1 ? objectOf(kinds[0]?.fields ?? []) : blockOf(kinds, 'fieldGroup'));
};

const draft: Kind = (_value, context) =>
  textAt(context.draft, 'type') === 'choice' ? choice(itemsOf(at(context.draft, 'choices'))) : field('boolean');

const relationship: Kind = (value) => {
  const collection = textAt(value, 'contentTypeName');
  const bySlug = textAt(value, 'contentTypeValue') === 'slug';
  if (collection === undefined || !bySlug) return many(value, field('string'));
  return many(value, field('string', { description: `Slug of an entry of type ${collection}` }));
};

const kinds = new Map<string, Kind>([
  [
    'string',
    (value) => ({ ...field('string'), ...(isTrue(at(value, 'wysiwyg')) ? { type: 'markdown' as const } : {}) }),
  ],
  ['number', (value) => bounded(field('number'), at(value, 'numberOptions'))],
  [
    'datetime',
    (value) => (textAt(value, 'dateFormat') === undefined ? field('date', { coerce: true }) : field('string')),
  ],
  ['boolean', () => field('boolean')],
  ['image', (value) => many(value, field('image'))],
  ['file', (value) => many(value, field('file'))],
  ['choice', (value) => many(value, choice(itemsOf(at(value, 'choices')), 'id'))],
  ['tags', words],
  ['categories', words],
  ['taxonomy', words],
  ['list', words],
  ['draft', draft],
  ['slug', () => field('string')],
  ['fields', (value, context) => objectOf(frontMatterFields(at(value, 'fields'), deeper(context)))],
  ['block', block],
  ['json', () => field('json')],
  ['contentRelationship', relationship],
  ['dataFile', (value) => many(value, field('string'))],
  ['customField', () => field('any')],
]);

/** Fields of a content type; dividers and headings only order the form, and a field collection stands for a group's fields. */
export function frontMatterFields(list: Value | undefined, context: FrontMatterContext): SchemaField[] {
  if (context.depth > MAX_DEPTH) return [];
  return itemsOf(list).flatMap((value) => {
    const type = textAt(value, 'type') ?? '';
    if (type === 'divider' || type === 'heading') return [];
    if (type === 'fieldCollection') {
      return frontMatterFields(at(groupOf(textAt(value, 'fieldGroup') ?? '', context), 'fields'), deeper(context));
    }
    const name = textAt(value, 'name');
    if (name === undefined) return [];
    const kind = kinds.get(type);
    const plain = kind ? kind(value, context) : unknownField(name, value, context.warn);
    const one = annotate(plain, value, {
      label: 'title',
      description: 'description',
      default: 'default',
    });
    // Placeholders such as {{now}} are no values.
    if (typeof one.default === 'string' && one.default.includes('{{')) delete one.default;
    return [{ ...(isRequired(value) && one.default === undefined ? one : optional(one)), name }];
  });
}
