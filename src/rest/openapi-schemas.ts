import { z } from 'zod';

/** JSON Schema draft 2020-12, the dialect of OpenAPI 3.1. */
export type JsonSchema = z.core.JSONSchema.BaseSchema;

const int32 = 2 ** 31;

/** Leaves out what says nothing to a reader: the bounds of the number type, and patterns that a `format` already names. */
function plain(schema: JsonSchema): void {
  if (schema.minimum === Number.MIN_SAFE_INTEGER) delete schema.minimum;
  if (schema.maximum === Number.MAX_SAFE_INTEGER) delete schema.maximum;
  if (schema.minimum === -int32) delete schema.minimum;
  if (schema.maximum === int32 - 1) {
    schema.format = 'int32';
    delete schema.maximum;
  }
  if (schema.format === 'date-time' || schema.format === 'uuid') delete schema.pattern;
  // Every name in JSON is a string.
  if (JSON.stringify(schema.propertyNames) === '{"type":"string"}') delete schema.propertyNames;
}

const component = (name: string) => `#/components/schemas/${name}`;

/** A copy in which references lead to the document's components instead of the schema's own definitions. */
function relocated<T>(value: T): T {
  return JSON.parse(JSON.stringify(value), (key, item) =>
    key === '$ref' && typeof item === 'string' ? item.replace(/^#\/\$defs\//, component('')) : item,
  );
}

/** Turns zod schemas into JSON Schema; those with an `id` become components, each once. */
export interface SchemaWriter {
  write(schema: z.core.$ZodType): JsonSchema;
  components: Record<string, JsonSchema>;
}

/** @throws Error when two different shapes have the same `id`. */
export function createSchemaWriter(): SchemaWriter {
  const components: Record<string, JsonSchema> = {};
  return {
    components,
    write(schema) {
      // The wire holds the input side of a codec, in answers too. The wrapper makes a schema with an id of its own a reference.
      const { properties, $defs = {} } = z.toJSONSchema(z.object({ it: schema }), {
        io: 'input',
        override: ({ jsonSchema }) => plain(jsonSchema),
      });
      for (const [name, definition] of Object.entries($defs)) {
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
