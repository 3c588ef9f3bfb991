import { z } from 'zod';

/** JSON Schema draft 2020-12, the dialect of OpenAPI 3.1. */
export type JsonSchema = z.core.JSONSchema.BaseSchema;

const int32 = 2 ** 31;

/** RFC 3339, of which `timestamp` takes only UTC and the years PostgreSQL can hold. */
const instant = { type: 'string', format: 'date-time', pattern: '^(?!0000).*Z$' } as const;

/** Leaves out what a reader does not need: the bounds of the number type, and patterns that a `format` already names. */
function plain(zodSchema: z.core.$ZodType, schema: JsonSchema): void {
  const { type, format } = zodSchema._zod.def as { type: string; format?: string };
  if (type === 'string' && format === 'datetime') {
    delete schema.allOf;
    Object.assign(schema, instant);
  }
  // Readers of one branch of `allOf` alone would take it for any value.
  if (type === 'string') for (const each of schema.allOf ?? []) if (typeof each === 'object') each.type = 'string';
  // The value an absent one stands for, in full; zod gives what it would be made from.
  if (type === 'prefault') schema.default = z.safeParse(zodSchema, undefined).data as never;
  if (schema.minimum === Number.MIN_SAFE_INTEGER) delete schema.minimum;
  if (schema.maximum === Number.MAX_SAFE_INTEGER) delete schema.maximum;
  if (schema.minimum === -int32) delete schema.minimum;
  if (schema.maximum === int32 - 1) {
    schema.format = 'int32';
    delete schema.maximum;
  }
  if (schema.format === 'uuid') delete schema.pattern;
  // Every name in JSON is a string.
  if (JSON.stringify(schema.propertyNames) === '{"type":"string"}') delete schema.propertyNames;
}

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

/** Calls anything "any JSON value" that no keyword bounds: generators make a type of a name, and nothing of an empty schema. */
function nameAnything(schema: unknown): void {
  if (typeof schema !== 'object' || schema === null) return;
  if (saysNothing(schema)) return void Object.assign(schema, { $ref: component('JsonValue') });
  for (const [name, value] of Object.entries(schema)) {
    if (below[name] === 'one') nameAnything(value);
    else if (below[name] === 'named') for (const each of Object.values(value as object)) nameAnything(each);
  }
}

/** A copy in which references lead to the document's components instead of the schema's own definitions. */
function relocated(schema: object): JsonSchema {
  const copy = JSON.parse(JSON.stringify(schema), (key, item) =>
    key === '$ref' && typeof item === 'string' ? item.replace(/^#\/\$defs\//, component('')) : item,
  );
  nameAnything(copy);
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
      // The wire holds the input side of a codec, in answers too. The wrapper makes a schema with an id of its own a reference.
      const { properties, $defs = {} } = z.toJSONSchema(z.object({ it: schema }), {
        io: 'input',
        override: ({ zodSchema, jsonSchema }) => plain(zodSchema, jsonSchema),
      });
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
