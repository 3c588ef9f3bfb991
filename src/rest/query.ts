import type { z } from 'zod';
import { fieldError } from '../kernel/errors.ts';
import { inputLimits } from '../kernel/json-input.ts';

type Json = { [key: string]: Json } | Json[] | string;

const maxParameters = 200;

/** Splits `filter[date][gte]` into its names. */
function namesOf(key: string): string[] {
  const match = /^([^[\]]+)((?:\[[^[\]]*\])*)$/.exec(key);
  if (!match) return [key];
  return [match[1] ?? '', ...[...(match[2] ?? '').matchAll(/\[([^[\]]*)\]/g)].map((inner) => inner[1] ?? '')];
}

/**
 * Reads a query string into nested plain objects. Numbers and booleans stay text here; `coerce` reads them by the schema.
 * @throws DomainError `invalid_request` when a name is given twice with different values or is nested too deep, or there are over 200.
 */
export function parseQuery(search: URLSearchParams): Record<string, Json> {
  const root: Record<string, Json> = Object.create(null);
  let count = 0;
  for (const [key, value] of search) {
    if (++count > maxParameters)
      throw fieldError('invalid_request', 'query', `must have at most ${maxParameters} parameters`);
    const names = namesOf(key);
    if (names.length >= inputLimits.levels)
      throw fieldError('invalid_request', names[0] ?? 'query', `is nested more than ${inputLimits.levels} levels deep`);
    const last = names.pop() ?? key;
    let target = root;
    for (const name of names) {
      const next = target[name] ?? Object.create(null);
      if (typeof next !== 'object' || Array.isArray(next)) throw twice(key);
      target[name] = next;
      target = next;
    }
    const before = target[last];
    if (before !== undefined && before !== value) throw twice(key);
    target[last] = value;
  }
  return root;
}

export const twice = (name: string) => fieldError('invalid_request', name, 'is given twice with different values');

/** The schema below optional, default and pipe wrappers. */
export function unwrap(schema: z.core.$ZodType): z.core.$ZodType {
  const def = schema._zod.def as { innerType?: z.core.$ZodType; in?: z.core.$ZodType; type: string };
  if (def.type === 'pipe' && def.in) return unwrap(def.in);
  return def.innerType ? unwrap(def.innerType) : schema;
}

/** Whether a schema accepts a number. */
export const isNumeric = (schema: z.core.$ZodType) => ['number', 'int'].includes(unwrap(schema)._zod.def.type);

/** Converts one text value to the type of its schema; what does not fit stays text, so that the schema reports the fault. */
function coerceValue(schema: z.core.$ZodType, value: Json): unknown {
  const inner = unwrap(schema);
  const type = inner._zod.def.type;
  if (typeof value !== 'string') return value;
  if (isNumeric(schema)) return /^-?\d+(\.\d+)?$/.test(value) ? Number(value) : value;
  if (type === 'boolean') return value === 'true' ? true : value === 'false' ? false : value;
  if (type === 'array') return value === '' ? [] : value.split(',');
  return value;
}

/** Reads the parameters of a query by the shapes of an operation's input. */
export function coerce(schema: z.ZodObject, query: Record<string, Json>): Record<string, unknown> {
  const shape = schema.shape as Record<string, z.core.$ZodType>;
  return Object.fromEntries(
    Object.entries(query).map(([name, value]) => {
      const field = Object.hasOwn(shape, name) ? shape[name] : undefined;
      return [name, field ? coerceValue(field, value) : value];
    }),
  );
}
