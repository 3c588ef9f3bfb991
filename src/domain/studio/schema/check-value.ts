import type { FieldError } from '../../errors.ts';
import { checkScalar, choice, type Fault, type Lookups, outside } from './check-scalar.ts';
import type { SchemaField } from './schema.schema.ts';

/** What a validation collects, and what it may ask. */
export interface Check extends Lookups {
  errors: FieldError[];
  warnings: FieldError[];
}

const isMap = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** A key as a JSON Pointer segment (RFC 6901). */
export const escapePointer = (key: string) => key.replaceAll('~', '~0').replaceAll('/', '~1');

function report(faults: readonly Fault[], field: string, { errors }: Check): void {
  for (const [code, message] of faults) errors.push({ field, code, message });
}

/** Checks one value against its field and adds what is wrong. */
export function checkValue(field: SchemaField, value: unknown, pointer: string, check: Check): void {
  if (value === null && field.nullable) return;
  if (!field.list) {
    checkItem(field, value, pointer, check);
  } else if (Array.isArray(value)) {
    report(outside(value.length, field.min_items, field.max_items, '_items', 'item'), pointer, check);
    for (const [at, item] of value.entries()) checkItem(field, item, `${pointer}/${at}`, check);
  } else if (!field.coerce) report([['type', 'must be a list']], pointer, check);
}

function checkItem(field: SchemaField, value: unknown, pointer: string, check: Check): void {
  if (field.variants) checkVariants(field.variants, value, pointer, check);
  else if (field.type !== 'object') report(checkScalar(field, value, check), pointer, check);
  else if (isMap(value)) checkKeys(field, value, pointer, check);
  else if (!field.coerce) report([['type', 'must be an object']], pointer, check);
}

function checkKeys(field: SchemaField, value: Record<string, unknown>, pointer: string, check: Check): void {
  if (field.fields === undefined) return;
  const known = new Set<string>();
  for (const one of field.fields) {
    known.add(one.name);
    const at = `${pointer}/${escapePointer(one.name)}`;
    if (Object.hasOwn(value, one.name)) checkValue(one, value[one.name], at, check);
    else if (one.required) report([['required', 'is required']], at, check);
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

/** One alternative must fit. Of objects told apart by a constant, the faults are those of the alternative that was meant. */
function checkVariants(variants: readonly SchemaField[], value: unknown, pointer: string, check: Check): void {
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
  else report([['variant', `must be ${variants.map(describe).join(' or ')}`]], pointer, check);
}

function isMeant(variant: SchemaField, value: unknown): boolean {
  if (!isMap(value) || variant.list) return false;
  const constants = variant.fields?.filter((one) => one.type === 'enum' && one.required) ?? [];
  return (
    constants.length > 0 &&
    constants.every((one) => Object.hasOwn(value, one.name) && one.options?.includes(value[one.name]))
  );
}

function describe(field: SchemaField): string {
  if (field.list) return 'a list';
  return field.type === 'enum' ? choice(field.options ?? []) : `a value of type ${field.type}`;
}
