import { registerEnumType } from 'type-graphql';
import { z } from 'zod';
import { claimName, isLegalEnumValue } from './names.ts';
import { type AnySchema, idOf, originalOf } from './zod-schema.ts';

const enums = new Map<AnySchema, object>();

/** The values of an enum or literal schema. */
export function valuesOf(schema: AnySchema): readonly unknown[] {
  const { entries, values } = schema._zod.def as { entries?: Record<string, unknown>; values?: readonly unknown[] };
  return entries ? Object.values(entries) : (values ?? []);
}

/** Whether the values can be names in a document; `30d` or `true` cannot, and stay text. */
export const isEnum = (values: readonly unknown[]): values is readonly string[] =>
  values.every((value) => typeof value === 'string' && isLegalEnumValue(value));

/**
 * The GraphQL enum of a schema, made when first asked for.
 * @param fallback its name when the schema has none by `.meta({id})`.
 */
export function enumOf(schema: AnySchema, values: readonly string[], fallback: string): object {
  const original = originalOf(schema);
  const known = enums.get(original);
  if (known) return known;
  const made = Object.fromEntries(values.map((value) => [value, value]));
  const description = z.globalRegistry.get(original)?.description;
  const name = claimName(idOf(original) ?? fallback);
  registerEnumType(made, { name, ...(description !== undefined && { description }) });
  enums.set(original, made);
  return made;
}
