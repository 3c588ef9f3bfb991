import type { FieldError } from '../../errors.ts';
import { dateKind } from './dates.ts';
import type { PatternTest } from './patterns.ts';
import type { SchemaField } from './schema.schema.ts';

/** What a validation collects, and what it may ask. */
export interface Check {
  errors: FieldError[];
  warnings: FieldError[];
  patterns: ReadonlyMap<string, PatternTest>;
  references: ((collection: string, slug: string) => boolean) | undefined;
  files: ((path: string) => boolean) | undefined;
}

type Fault = (code: string, message: string) => void;

const isMap = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** A key as a JSON Pointer segment (RFC 6901). */
export const escapePointer = (key: string) => key.replaceAll('~', '~0').replaceAll('/', '~1');

/** Characters as JSON Schema counts them: code points. */
const lengthOf = (text: string) => [...text].length;

/** Checks one value against its field and adds what is wrong. */
export function checkValue(field: SchemaField, value: unknown, pointer: string, check: Check): void {
  const fault: Fault = (code, message) => check.errors.push({ field: pointer, code, message });
  if (value === null && field.nullable) return;
  if (!field.list) return checkItem(field, value, pointer, check);
  if (!Array.isArray(value)) {
    if (!field.coerce) fault('type', 'must be a list');
    return;
  }
  const { min_items: min, max_items: max } = field;
  if (min !== undefined && value.length < min)
    fault('min_items', `must have at least ${min} item${min === 1 ? '' : 's'}`);
  if (max !== undefined && value.length > max)
    fault('max_items', `must have at most ${max} item${max === 1 ? '' : 's'}`);
  for (const [at, item] of value.entries()) checkItem(field, item, `${pointer}/${at}`, check);
}

function checkItem(field: SchemaField, value: unknown, pointer: string, check: Check): void {
  const fault: Fault = (code, message) => check.errors.push({ field: pointer, code, message });
  if (field.variants) return checkVariants(field.variants, value, pointer, check, fault);
  switch (field.type) {
    case 'any':
    case 'json':
      return;
    case 'number':
    case 'integer':
      return checkNumber(field, value, fault);
    case 'boolean':
      if (typeof value !== 'boolean' && !field.coerce) fault('type', 'must be true or false');
      return;
    case 'date':
    case 'datetime':
      return checkDate(field, value, fault);
    case 'enum':
      if (field.coerce || field.options?.some((option) => option === value)) return;
      return fault('enum', `must be ${choice(field.options ?? [])}`);
    case 'reference':
      return checkReference(field, value, check, fault);
    case 'object':
      if (isMap(value)) checkKeys(field, value, pointer, check);
      else if (!field.coerce) fault('type', 'must be an object');
      return;
    default:
      return checkText(field, value, check, fault);
  }
}

function checkKeys(field: SchemaField, value: Record<string, unknown>, pointer: string, check: Check): void {
  if (field.fields === undefined) return;
  const known = new Set<string>();
  for (const one of field.fields) {
    known.add(one.name);
    const at = `${pointer}/${escapePointer(one.name)}`;
    if (Object.hasOwn(value, one.name)) checkValue(one, value[one.name], at, check);
    else if (one.required) check.errors.push({ field: at, code: 'required', message: 'is required' });
  }
  if (!field.strict) return;
  for (const key of Object.keys(value)) {
    if (known.has(key)) continue;
    check.warnings.push({
      field: `${pointer}/${escapePointer(key)}`,
      code: 'unknown_key',
      message: 'is not in the schema',
    });
  }
}

function checkNumber({ type, min, max, coerce }: SchemaField, value: unknown, fault: Fault): void {
  if (typeof value !== 'number') {
    const converts = coerce && !(typeof value === 'string' && Number.isNaN(Number(value)));
    return converts ? undefined : fault('type', type === 'integer' ? 'must be a whole number' : 'must be a number');
  }
  if (type === 'integer' && !Number.isInteger(value)) fault('type', 'must be a whole number');
  if (min !== undefined && value < min) fault('min', `must be at least ${min}`);
  if (max !== undefined && value > max) fault('max', `must be at most ${max}`);
}

function checkDate({ type, coerce }: SchemaField, value: unknown, fault: Fault): void {
  if (typeof value !== 'string') return coerce ? undefined : fault('type', 'must be a date, such as 2024-05-31');
  const kind = dateKind(value);
  if (coerce ? kind !== null || !Number.isNaN(Date.parse(value)) : kind !== null && (type === 'date' || kind === type))
    return;
  fault(
    'date',
    type === 'date' ? 'must be a date, such as 2024-05-31' : 'must be a date and time, such as 2024-05-31T12:00:00Z',
  );
}

function checkText(field: SchemaField, value: unknown, { patterns, files, warnings }: Check, fault: Fault): void {
  if (typeof value !== 'string') return field.coerce ? undefined : fault('type', 'must be text');
  const { min_length: min, max_length: max, pattern } = field;
  const length = min === undefined && max === undefined ? 0 : lengthOf(value);
  if (min !== undefined && length < min)
    fault('min_length', `must have at least ${min} character${min === 1 ? '' : 's'}`);
  if (max !== undefined && length > max)
    fault('max_length', `must have at most ${max} character${max === 1 ? '' : 's'}`);
  if (pattern !== undefined) {
    const test = patterns.get(pattern);
    if (test === null)
      warnings.push({
        field: `/${field.name}`,
        code: 'pattern_unchecked',
        message: `the pattern ${pattern} cannot be checked`,
      });
    else if (test && !test(value)) fault('pattern', `must match the pattern ${pattern}`);
  }
  const local = (field.type === 'image' || field.type === 'file') && !/^([a-z][a-z0-9+.-]*:|\/\/)/i.test(value);
  if (local && files && !files(value)) fault('file', `"${value}" is no file of the site`);
}

function checkReference({ relation, coerce }: SchemaField, value: unknown, { references }: Check, fault: Fault): void {
  // A reference may also be written as `{collection, id}` or `{collection, slug}`.
  const target = isMap(value) ? (value.id ?? value.slug) : value;
  if (typeof value !== 'string' && !isMap(value)) return coerce ? undefined : fault('type', 'must name an entry');
  if (relation === undefined || references === undefined || typeof target !== 'string') return;
  if (!references(relation.collection, target))
    fault('reference', `"${target}" is no entry of "${relation.collection}"`);
}

/** One alternative must fit. Of objects told apart by a constant, the faults are those of the alternative that was meant. */
function checkVariants(
  variants: readonly SchemaField[],
  value: unknown,
  pointer: string,
  check: Check,
  fault: Fault,
): void {
  let meant: Check | null = null;
  for (const variant of variants) {
    const attempt: Check = { ...check, errors: [], warnings: [] };
    checkValue(variant, value, pointer, attempt);
    if (attempt.errors.length === 0) {
      check.warnings.push(...attempt.warnings);
      return;
    }
    if (isMeant(variant, value)) meant ??= attempt;
  }
  if (meant) check.errors.push(...meant.errors);
  else fault('variant', `must be ${variants.map(describe).join(' or ')}`);
}

function isMeant(variant: SchemaField, value: unknown): boolean {
  if (!isMap(value) || variant.list) return false;
  const constants = variant.fields?.filter((one) => one.type === 'enum' && one.required) ?? [];
  return constants.length > 0 && constants.every((one) => one.options?.includes(value[one.name]));
}

const choice = (options: readonly unknown[]) =>
  (options.length > 1 ? 'one of ' : '') + options.map((one) => JSON.stringify(one)).join(', ');

function describe(field: SchemaField): string {
  if (field.list) return 'a list';
  return field.type === 'enum' ? choice(field.options ?? []) : `a value of type ${field.type}`;
}
