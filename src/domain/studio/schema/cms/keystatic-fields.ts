import type { SchemaField } from '../schema.schema.ts';
import { at, entriesOf, itemsOf, numberOf, textAt } from '../static/read-value.ts';
import { placeOf, type Value } from '../static/values.ts';
import { enumOf, field, unionOf } from '../zod/field-algebra.ts';
import {
  annotate,
  bounded,
  choice,
  isRequired,
  manyOf,
  nowhere,
  objectOf,
  optional,
  type Warn,
} from './field-tools.ts';

type Call = Extract<Value, { kind: 'call' }>;
type Kind = (options: Value | undefined, call: Call, warn: Warn) => SchemaField;

/** The name of a `fields.<name>(…)` call; null for anything else. */
export function fieldCall(value: Value | undefined): { name: string; call: Call } | null {
  if (value?.kind !== 'call') return null;
  const { callee } = value;
  if (callee.kind === 'member') {
    const known = callee.object.kind === 'external' && callee.object.name === 'fields';
    // `fields.markdoc.inline(…)` stores its text in the entry.
    const inline = callee.object.kind === 'member' && callee.property === 'inline';
    if (known) return { name: callee.property, call: value };
    return inline ? { name: 'text', call: value } : null;
  }
  return null;
}

const validation = (options: Value | undefined) => at(options, 'validation');
const needed = (options: Value | undefined, one: SchemaField) => {
  const rules = validation(options);
  const required =
    rules !== undefined && (isRequired(rules, 'isRequired') || (numberOf(at(rules, 'length', 'min')) ?? 0) > 0);
  return required ? one : optional(one);
};

const text: Kind = (options) => {
  const pattern = at(validation(options), 'pattern', 'regex');
  const type = at(options, 'multiline') ? 'text' : 'string';
  const one = needed(options, bounded(field(type), at(validation(options), 'length')));
  if (pattern?.kind !== 'pattern') return one;
  const flags = [...pattern.flags].filter((flag) => 'ims'.includes(flag)).join('');
  return { ...one, pattern: (flags ? `(?${flags})` : '') + pattern.source };
};

const typed =
  (one: SchemaField): Kind =>
  (options) =>
    needed(options, bounded(one, validation(options)));

const relation = (options: Value | undefined, many: boolean): SchemaField => {
  const collection = textAt(options, 'collection');
  const one =
    collection === undefined ? field('string') : field('reference', { relation: { collection, multiple: many } });
  return many ? optional(bounded(manyOf(one), at(validation(options), 'length'))) : needed(options, one);
};

/** The element is the first argument, so labels and bounds are in the second. */
const array: Kind = (element, { args }, warn) =>
  optional(bounded(manyOf(keystaticField(element, warn)), at(validation(args[1]), 'length')));

/** `{discriminant, value}`: a select or checkbox, and for each of its values another field. */
const conditional: Kind = (_options, { args }, warn) => {
  const variants = entriesOf(args[1]).map(([name, value]): SchemaField => {
    const literal = name === 'true' || name === 'false' ? name === 'true' : name;
    const tag: SchemaField = { ...enumOf([literal]), name: 'discriminant' };
    return objectOf([tag, { ...optional(keystaticField(value, warn)), name: 'value' }]);
  });
  return optional(variants.length === 1 ? (variants[0] ?? field('object')) : field('object', { variants }));
};

const blocks: Kind = (options, _call, warn) => {
  const variants = entriesOf(options).map(([name, value]): SchemaField => {
    const tag: SchemaField = { ...enumOf([name]), name: 'discriminant' };
    return objectOf([tag, { ...optional(keystaticField(at(value, 'schema'), warn)), name: 'value' }]);
  });
  const [first = field('object')] = variants;
  return optional(manyOf(variants.length > 1 ? field('object', { variants }) : first));
};

const image = objectOf([
  { ...field('image'), name: 'src' },
  ...['alt', 'height', 'width'].map((name) => ({ ...optional(field('any')), name })),
]);

const kinds = new Map<string, Kind>([
  ['text', text],
  // The field that names the entry stores its text; any other stores `{name, slug}`.
  ['slug', () => optional(unionOf([field('string'), field('object')]))],
  ['number', typed(field('number'))],
  ['integer', typed(field('integer'))],
  ['checkbox', () => optional(field('boolean'))],
  ['date', typed(field('date'))],
  ['datetime', typed(field('datetime'))],
  ['url', typed(field('link'))],
  ['image', typed(field('image'))],
  ['file', typed(field('file'))],
  ['pathReference', typed(field('string'))],
  ['cloudImage', () => optional(image)],
  ['select', (options) => optional(choice(itemsOf(at(options, 'options'))))],
  ['multiselect', (options) => optional(manyOf(choice(itemsOf(at(options, 'options')))))],
  ['relationship', (options) => relation(options, false)],
  ['multiRelationship', (options) => relation(options, true)],
  ['array', array],
  ['object', (options, _call, warn) => optional(objectOf(keystaticFields(options, warn)))],
  ['conditional', conditional],
  ['blocks', blocks],
  ['empty', () => optional(field('any'))],
  ['ignored', () => optional(field('any'))],
  ['child', () => optional(field('any'))],
]);

/** Fields whose text stands in a file of its own: the body of the entry, or one beside it. */
export const contentKinds = new Set(['document', 'mdx', 'markdoc', 'emptyContent', 'emptyDocument']);

export function keystaticField(value: Value | undefined, warn: Warn): SchemaField {
  const found = fieldCall(value);
  const kind = found && kinds.get(found.name);
  if (!found || !kind) {
    const reason = value?.kind === 'unknown' ? `: ${value.reason}` : '';
    warn('field_unknown', `A field is not known${reason}; any value is accepted`, value && placeOf(value, nowhere));
    return optional(field('any'));
  }
  const [options] = found.call.args;
  const one = kind(options, found.call, warn);
  const described =
    found.name === 'array' || found.name === 'object' || found.name === 'blocks' ? found.call.args[1] : options;
  const made = described
    ? annotate(one, described, { label: 'label', description: 'description', default: 'defaultValue' })
    : one;
  return made.default === undefined ? made : optional(made);
}

/** The fields of a schema object, without those whose text stands elsewhere. */
export function keystaticFields(schema: Value | undefined, warn: Warn): SchemaField[] {
  if (schema?.kind === 'record' && schema.parts.some(([name]) => name === null)) {
    warn('schema_unknown', 'Some keys of the schema are not known', schema.place);
  }
  return entriesOf(schema).flatMap(([name, value]) => {
    const call = fieldCall(value);
    return call && contentKinds.has(call.name) ? [] : [{ ...keystaticField(value, warn), name }];
  });
}
