import type { z } from 'zod';
import { unwrap } from './query.ts';

const maxNames = 20;
const maxBytes = 1024;

/** Of a union whose members are told apart by one field, the member a value is. */
function chosen(schema: z.core.$ZodType, value: unknown): z.core.$ZodType {
  const { discriminator, options = [] } = schema._zod.def as { discriminator?: string; options?: z.core.$ZodType[] };
  if (discriminator === undefined || value === null || typeof value !== 'object') return schema;
  const kind = (value as Record<string, z.core.util.Primitive>)[discriminator];
  return options.find((option) => option._zod.propValues?.[discriminator]?.has(kind)) ?? schema;
}

function* unknownNames(schema: z.core.$ZodType, value: unknown, prefix: string): Generator<string> {
  const inner = chosen(unwrap(schema), value);
  const def = inner._zod.def as { type: string; shape?: Record<string, z.core.$ZodType>; element?: z.core.$ZodType };
  if (Array.isArray(value)) {
    if (def.element)
      for (const [index, item] of value.entries()) yield* unknownNames(def.element, item, `${prefix}${index}.`);
    return;
  }
  // Records, unions of any shapes and free values have no unknown fields.
  if (def.type !== 'object' || !def.shape || value === null || typeof value !== 'object') return;
  for (const [name, item] of Object.entries(value)) {
    const field = Object.hasOwn(def.shape, name) ? def.shape[name] : undefined;
    if (field) yield* unknownNames(field, item, `${prefix}${name}.`);
    else yield `${prefix}${name}`;
  }
}

const encode = (name: string) =>
  [...Buffer.from(name)]
    .map((byte) => {
      const char = String.fromCharCode(byte);
      return /[A-Za-z0-9_.[\]-]/.test(char) ? char : `%${byte.toString(16).toUpperCase().padStart(2, '0')}`;
    })
    .join('');

/**
 * Value of `X-Ignored-Fields`: names of the input that the operation does not know; null when it knows all.
 * @param without fields that it knows and that have no effect
 */
export function ignoredFields(
  schema: z.ZodObject,
  input: Record<string, unknown>,
  without: readonly string[] = [],
): string | null {
  const names: string[] = [...without];
  for (const name of unknownNames(schema, input, '')) {
    names.push(encode(name));
    if (names.length >= 1000) break;
  }
  names.sort();
  let header = '';
  for (const name of names.slice(0, maxNames)) {
    const next = header ? `${header},${name}` : name;
    if (next.length > maxBytes) break;
    header = next;
  }
  return header || null;
}
