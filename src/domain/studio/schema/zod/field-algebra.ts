import { isLonger } from '../../../../lib/objects.ts';
import type { FieldType, SchemaField } from '../schema.schema.ts';

/** A field without a name; an object gives it one. `required: false` stands for optional or defaulted. */
export const field = (type: FieldType, more: Partial<SchemaField> = {}): SchemaField => ({
  name: '',
  type,
  required: true,
  list: false,
  ...more,
});

export const anything = (): SchemaField => field('any');

/** Properties that stay with a list when its item is described apart. */
const ofTheWhole = [
  'name',
  'required',
  'nullable',
  'default',
  'label',
  'description',
  'min_items',
  'max_items',
] as const;

/** A list of such items. A list of lists, or of items that may be null, does not fit into one field: null. */
export function listOf(item: SchemaField): SchemaField | null {
  if (item.list || item.nullable === true) return null;
  const rest: SchemaField = { ...item };
  for (const key of ofTheWhole) delete (rest as Partial<SchemaField>)[key];
  const relation = item.relation ? { relation: { ...item.relation, multiple: true } } : {};
  return { ...rest, ...relation, name: '', required: true, list: true };
}

/** Alternatives whose JSON is surely longer are compared by identity; characters. */
const mostCompared = 4_096;

/** The fields, each that says the same as one before left out. Thousands may refer to one long text, so only short ones are written to compare them. */
const distinct = (fields: readonly SchemaField[]) => [
  ...new Map(fields.map((one) => [isLonger(one, mostCompared) ? one : JSON.stringify(one), one])).values(),
];

const isConstant = (one: SchemaField) => one.type === 'enum' && !one.list;

/**
 * One field that accepts what any of the alternatives accepts: constants become one enum, null makes the rest nullable, the
 * others are kept as variants.
 */
export function unionOf(alternatives: readonly SchemaField[]): SchemaField {
  const nullable = alternatives.some((one) => one.nullable === true);
  const required = alternatives.every((one) => one.required);
  const rest = distinct(alternatives.filter((one) => !isNull(one)));
  const whole = { name: '', required, ...(nullable ? { nullable } : {}) };
  const [first] = rest;
  if (first === undefined) return { ...nothing(), ...whole };
  if (rest.length === 1) return { ...first, ...whole };
  if (rest.every(isConstant)) {
    return { ...field('enum', { options: [...new Set(rest.flatMap((one) => one.options ?? []))] }), ...whole };
  }
  // One alternative that accepts everything leaves nothing to check.
  if (rest.some((one) => one.type === 'any' && !one.list && one.variants === undefined))
    return { ...anything(), ...whole };
  const same = rest.every((one) => one.type === first.type && !one.list);
  const variants = rest.map((one): SchemaField => ({ ...one, required: true }));
  return { ...field(same && first.type !== 'enum' ? first.type : 'any', { variants }), ...whole };
}

/** Only null fits. */
export const nothing = (): SchemaField => field('enum', { options: [], nullable: true });
const isNull = (one: SchemaField) => isConstant(one) && one.options?.length === 0 && one.nullable === true;

/** Fields of the second replace those of the first with the same name. */
export function mergeFields(first: readonly SchemaField[], second: readonly SchemaField[]): SchemaField[] {
  const names = new Set(second.map((one) => one.name));
  return [...first.filter((one) => !names.has(one.name)), ...second];
}

/** Whether a field is an object whose keys are known. */
export const hasFields = (one: SchemaField): one is SchemaField & { fields: SchemaField[] } =>
  one.type === 'object' && !one.list && one.fields !== undefined;

/** A field of an enum with these values. */
export function enumOf(options: readonly unknown[]): SchemaField {
  const present = options.filter((option) => option !== null && option !== undefined);
  return field('enum', {
    options: [...new Set(present)],
    ...(options.includes(null) ? { nullable: true } : {}),
    ...(options.includes(undefined) ? { required: false } : {}),
  });
}
