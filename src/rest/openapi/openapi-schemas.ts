import { z } from 'zod';
import { type JsonSchema, jsonSchemaOf } from '../../kernel/shapes.ts';

const component = (name: string) => `#/components/schemas/${name}`;

const scalars = (['string', 'number', 'boolean', 'null'] as const).map((type) => ({ type }));
const jsonObject = { $ref: component('JsonObject') };

/**
 * Any JSON value. It leads back to itself through an object alone: TypeScript resolves the items of an array at once where openapi-typescript
 * writes them, and finds a type that needs itself (TS2502).
 */
const anything: Record<string, JsonSchema> = {
  JsonValue: {
    description: 'Any JSON value',
    anyOf: [
      ...scalars,
      jsonObject,
      { type: 'array', items: { anyOf: [...scalars, jsonObject, { type: 'array', items: {} }] } },
    ],
  },
  JsonObject: {
    description: 'Any JSON object',
    type: 'object',
    additionalProperties: { $ref: component('JsonValue') },
  },
};

/** Names of JSON Schema under which schemas stand, and whether by names of their own. */
const below: Record<string, 'one' | 'named'> = {
  properties: 'named',
  items: 'one',
  additionalProperties: 'one',
  anyOf: 'named',
  oneOf: 'named',
  allOf: 'named',
};

const saysNothing = (schema: object) => Object.keys(schema).every((name) => name === 'description');

/**
 * Parts an object with members of its own and any others into both: orval makes one type of them, with an index signature to which an optional
 * member does not conform (TS2411).
 */
function partOpenObject(schema: JsonSchema): void {
  const { type, properties, required, additionalProperties } = schema;
  if (type !== 'object' || !properties || typeof additionalProperties !== 'object') return;
  for (const name of ['type', 'properties', 'required', 'additionalProperties'] as const) delete schema[name];
  schema.allOf = [
    { type, properties, ...(required && { required }) },
    { type, additionalProperties },
  ];
}

/**
 * Writes what generators can make types of. What no keyword bounds is called "any JSON value": of a name they make a type, of an empty schema
 * nothing.
 */
function suitGenerators(schema: unknown): void {
  if (typeof schema !== 'object' || schema === null) return;
  if (saysNothing(schema)) return void Object.assign(schema, { $ref: component('JsonValue') });
  partOpenObject(schema as JsonSchema);
  for (const [name, value] of Object.entries(schema)) {
    if (below[name] === 'one') suitGenerators(value);
    else if (below[name] === 'named') for (const each of Object.values(value as object)) suitGenerators(each);
  }
}

/** A copy in which references lead to the document's components instead of the schema's own definitions. */
function relocated(schema: object): JsonSchema {
  const copy = JSON.parse(JSON.stringify(schema), (key, item) =>
    key === '$ref' && typeof item === 'string' ? item.replace(/^#\/\$defs\//, component('')) : item,
  );
  suitGenerators(copy);
  return copy;
}

/** Converts zod schemas to JSON Schema; those with an `id` become components, each once. */
export interface SchemaWriter {
  write(schema: z.core.$ZodType): JsonSchema;
  components: Record<string, JsonSchema>;
}

/** @throws Error when two different shapes have the same `id`. */
export function createSchemaWriter(): SchemaWriter {
  const components: Record<string, JsonSchema> = { ...anything };
  return {
    components,
    write(schema) {
      // The wrapper makes a schema with an id of its own a reference.
      const { properties, $defs = {} } = jsonSchemaOf(z.object({ it: schema }));
      for (const [name, definition] of Object.entries($defs)) {
        if (name in anything) continue;
        // The name of a recursive schema without an id would be a number, another one with each change of the rest.
        if (name.startsWith('__'))
          throw new Error(`A recursive schema needs a name by .meta({id}): ${JSON.stringify(definition)}`);
        const { id: _, ...moved } = relocated(definition) as JsonSchema & { id?: string };
        const before = components[name];
        if (before && JSON.stringify(before) !== JSON.stringify(moved))
          throw new Error(`Two different schemas have the id ${name}`);
        components[name] = moved;
      }
      const it = properties?.it;
      return typeof it === 'object' ? relocated(it) : {};
    },
  };
}
