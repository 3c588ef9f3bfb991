import type { SchemaField } from '../schema.schema.ts';
import { type Place, plain, type Value } from '../static/values.ts';
import { anything, enumOf, field, hasFields, listOf, mergeFields, nothing, unionOf } from './field-algebra.ts';
import type { Folder } from './fold.ts';

/** Patterns in RE2 syntax for formats that have no field type; more lenient than Zod's, never stricter. */
export const formatPatterns = {
  email: '^[^@\\s]+@[^@\\s]+\\.[^@\\s]+$',
  uuid: '^[0-9A-Fa-f]{8}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{12}$',
  url: '^[A-Za-z][A-Za-z0-9+.-]*:.',
} as const;

type Constructor = (args: readonly Value[], fold: Folder, place: Place) => SchemaField;

const is = (make: () => SchemaField): Constructor => make;
/** A wrapper around the schema in its first argument. */
const inner =
  (change: Partial<SchemaField>): Constructor =>
  ([first], fold, place) => ({ ...fold.fold(first, place), ...change });

const object =
  (strict: boolean): Constructor =>
  ([first], fold, place) => {
    const fields = first === undefined ? [] : fold.shape(first, place);
    if (fields === null) return fold.give('The keys of the object are not known', place);
    return field('object', { fields, ...(strict ? { strict } : {}) });
  };

const array: Constructor = ([first], fold, place) => {
  const item = first === undefined ? anything() : fold.fold(first, place);
  return listOf(item) ?? listWithout(fold, place);
};

function listWithout(fold: Folder, place: Place): SchemaField {
  fold.note('The items of a list of lists, or of items that may be null, are not checked', place);
  return field('any', { list: true });
}

const tuple: Constructor = ([items, rest], fold, place) => {
  if (items?.kind !== 'list') return fold.give('The items of the tuple are not known', place);
  const folded = items.items.map((item) => fold.fold(item, place));
  if (rest) folded.push(fold.fold(rest, place));
  const list = listOf(unionOf(folded)) ?? listWithout(fold, place);
  return { ...list, min_items: items.items.length, ...(rest ? {} : { max_items: items.items.length }) };
};

const union: Constructor = ([first], fold, place) => {
  if (first?.kind !== 'list') return fold.give('The alternatives are not known', place);
  return unionOf(first.items.map((item) => fold.fold(item, place)));
};

/** Both must hold: of two objects the fields of both; other combinations do not fit into one field. */
export function both(left: SchemaField, right: SchemaField, fold: Folder, place: Place): SchemaField {
  if (hasFields(left) && hasFields(right)) return { ...left, fields: mergeFields(left.fields, right.fields) };
  return fold.give('An intersection of other things than objects is not followed', place);
}

const enumeration: Constructor = ([first], fold, place) => {
  const data = first && plain(first);
  if (Array.isArray(data)) return enumOf(data);
  if (typeof data === 'object' && data !== null) return enumOf(Object.values(data));
  return fold.give('The values of the enum are not known', place);
};

const literal: Constructor = ([first], fold, place) => {
  if (first?.kind === 'scalar') return first.value === null ? nothing() : enumOf([first.value]);
  const data = first && plain(first);
  return Array.isArray(data) ? enumOf(data) : fold.give('The literal is not known', place);
};

const optionalAny: Constructor = is(() => field('any', { required: false }));
const text = is(() => field('string'));

const constructors = new Map<string, Constructor>(
  Object.entries({
    string: text,
    templateLiteral: text,
    number: is(() => field('number')),
    float32: is(() => field('number')),
    float64: is(() => field('number')),
    nan: is(anything),
    int: is(() => field('integer')),
    int32: is(() => field('integer')),
    uint32: is(() => field('integer', { min: 0 })),
    bigint: is(() => field('integer')),
    boolean: is(() => field('boolean')),
    stringbool: text,
    date: is(() => field('date')),
    any: optionalAny,
    unknown: optionalAny,
    undefined: optionalAny,
    void: optionalAny,
    lazy: optionalAny,
    never: optionalAny,
    null: is(nothing),
    json: is(() => field('json')),
    email: is(() => field('string', { pattern: formatPatterns.email })),
    uuid: is(() => field('string', { pattern: formatPatterns.uuid })),
    guid: is(() => field('string', { pattern: formatPatterns.uuid })),
    url: is(() => field('link', { pattern: formatPatterns.url })),
    httpUrl: is(() => field('link', { pattern: formatPatterns.url })),
    literal,
    enum: enumeration,
    nativeEnum: enumeration,
    array,
    tuple,
    object: object(false),
    looseObject: object(false),
    interface: object(false),
    strictObject: object(true),
    record: is(() => field('object')),
    partialRecord: is(() => field('object')),
    looseRecord: is(() => field('object')),
    union,
    xor: union,
    discriminatedUnion: (args: readonly Value[], fold: Folder, place: Place) => union(args.slice(1), fold, place),
    intersection: ([left, right]: readonly Value[], fold: Folder, place: Place) =>
      both(fold.fold(left, place), fold.fold(right, place), fold, place),
    optional: inner({ required: false }),
    nullable: inner({ nullable: true }),
    nullish: inner({ required: false, nullable: true }),
    readonly: inner({}),
    // The function may accept more than the schema behind it.
    preprocess: ([, second]: readonly Value[], fold: Folder, place: Place) => ({
      ...fold.fold(second, place),
      coerce: true,
    }),
    pipe: inner({}),
  } satisfies Record<string, Constructor>),
);

const isoTypes = new Map([
  ['date', 'date'],
  ['datetime', 'datetime'],
  ['time', 'string'],
  ['duration', 'string'],
] as const);

/** The field of `z.<name>(…)`, `z.coerce.<name>(…)` or `z.iso.<name>(…)`; null when Zod has no such constructor here. */
export function construct(
  name: string,
  family: '' | 'coerce' | 'iso',
  args: readonly Value[],
  fold: Folder,
  place: Place,
): SchemaField | null {
  if (family === 'iso') {
    const type = [...isoTypes].find(([known]) => known === name)?.[1];
    return type === undefined ? null : field(type);
  }
  const made = constructors.get(name)?.(args, fold, place) ?? null;
  return made !== null && family === 'coerce' ? { ...made, coerce: true } : made;
}
