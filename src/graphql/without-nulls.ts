import { type AnySchema, definitionOf, shapeOf, unwrap } from './types/zod-schema.ts';

/**
 * Removes the fields a client left empty by null: GraphQL lets it do so for every optional field, an operation only for those where null means
 * something. Free values are left as they are.
 */
export function withoutNulls(schema: AnySchema, input: Record<string, unknown>): Record<string, unknown> {
  return clean(schema, input) as Record<string, unknown>;
}

function clean(outer: AnySchema, value: unknown): unknown {
  if (value === null || typeof value !== 'object') return value;
  const { schema } = unwrap(outer, true);
  const shape = shapeOf(schema);
  if (shape && !Array.isArray(value)) {
    const kept = Object.entries(value).filter(([name, item]) => {
      const field = Object.hasOwn(shape, name) ? shape[name] : undefined;
      return item !== undefined && (item !== null || (field && unwrap(field, true).takesNull));
    });
    return Object.fromEntries(kept.map(([name, item]) => [name, shape[name] ? clean(shape[name], item) : item]));
  }
  const { element } = definitionOf(schema);
  return element && Array.isArray(value) ? value.map((item) => clean(element, item)) : value;
}
