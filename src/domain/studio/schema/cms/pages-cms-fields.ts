import type { SchemaField } from '../schema.schema.ts';
import { at, isFalse, isTrue, itemsOf, textAt } from '../static/read-value.ts';
import { textOf, type Value } from '../static/values.ts';
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

/** What fields need of the whole configuration: `components` are named parts of it. */
export interface PagesContext {
  components: Value | undefined;
  warn: Warn;
  depth: number;
}

type Kind = (value: Value, context: PagesContext) => SchemaField;

const text: Kind = (value) => {
  const pattern = textAt(value, 'pattern') ?? textAt(value, 'pattern', 'regex');
  const options = at(value, 'options');
  const one = bounded(field('string'), options, 'minlength', 'maxlength');
  return pattern === undefined ? one : { ...one, pattern };
};

const multiple = (value: Value) => {
  const many = at(value, 'options', 'multiple');
  return many !== undefined && !isFalse(many);
};
const many = (value: Value, one: SchemaField) =>
  multiple(value) ? bounded(manyOf(one), at(value, 'options', 'multiple')) : one;

const select: Kind = (value) => {
  const values = itemsOf(at(value, 'options', 'values'));
  const open = isTrue(at(value, 'options', 'creatable')) || values.length === 0;
  return many(value, open ? field('string') : choice(values));
};

/** The path of the entry is what a reference stores, unless a template says otherwise. */
const reference: Kind = (value) => {
  const collection = textAt(value, 'options', 'collection');
  const stored = textAt(value, 'options', 'value') ?? '{path}';
  if (collection === undefined || !/^\{?path\}?$/.test(stored)) return many(value, field('string'));
  return many(value, field('reference', { relation: { collection, multiple: multiple(value) } }));
};

const date: Kind = (value) => {
  const format = textAt(value, 'options', 'format');
  return format === undefined || /^yyyy-MM-dd/.test(format) ? field('date', { coerce: true }) : field('string');
};

const block: Kind = (value, context) => {
  const kinds = itemsOf(at(value, 'blocks') ?? at(value, 'options', 'blocks')).flatMap((one) => {
    const whole = withComponent(one, context);
    const name = textAt(whole, 'name') ?? textAt(whole, 'component');
    return name === undefined ? [] : [{ name, label: textAt(whole, 'label'), fields: inner(whole, context) }];
  });
  return blockOf(kinds, textAt(value, 'blockKey') ?? '_block');
};

const kinds = new Map<string, Kind>([
  ['string', text],
  ['text', (value, context) => ({ ...text(value, context), type: 'text' })],
  ['rich-text', () => field('markdown')],
  ['code', () => field('text')],
  ['number', (value) => bounded(field('number'), at(value, 'options'))],
  ['boolean', () => field('boolean')],
  ['date', date],
  ['image', (value) => many(value, field('image'))],
  ['file', (value) => many(value, field('file'))],
  ['select', select],
  ['reference', reference],
  ['object', (value, context) => objectOf(inner(value, context))],
  ['block', block],
  ['uuid', () => field('string')],
]);

/** A field that names a component is that component with the field's own keys over it. */
function withComponent(value: Value, { components }: PagesContext): Value {
  const name = textAt(value, 'component');
  const component = name === undefined ? undefined : at(components, name);
  if (component?.kind !== 'record' || value.kind !== 'record') return value;
  return { kind: 'record', parts: [...component.parts, ...value.parts], place: value.place };
}

function inner(value: Value, context: PagesContext): SchemaField[] {
  return pagesFields(itemsOf(at(value, 'fields')), { ...context, depth: context.depth + 1 });
}

/** The fields of one level. */
export function pagesFields(values: readonly Value[], context: PagesContext): SchemaField[] {
  if (context.depth > MAX_DEPTH) return [];
  return values.flatMap((given) => {
    const value = withComponent(given, context);
    const name = textAt(value, 'name');
    if (name === undefined) return [];
    const type = at(value, 'type');
    const names = type?.kind === 'list' ? [] : [textOf(type) ?? 'string'];
    const kind = kinds.get(names[0] ?? '');
    const one = kind ? kind(value, context) : unknownField(name, value, context.warn);
    const list = at(value, 'list');
    const whole = list === undefined || isFalse(list) ? one : bounded(manyOf(one), list);
    const made = annotate(whole, value, { label: 'label', description: 'description', default: 'default' });
    const required = isRequired(value) && made.default === undefined;
    return [{ ...(required ? made : optional(made)), name }];
  });
}
