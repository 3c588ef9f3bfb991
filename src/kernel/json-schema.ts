import { z } from 'zod';

/** JSON Schema draft 2020-12, the dialect of OpenAPI 3.1 and of tools of the Model Context Protocol. */
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
  // A name of zod's own for what the pattern says.
  if (schema.format === 'starts_with') delete schema.format;
  // Every name in JSON is a string.
  if (JSON.stringify(schema.propertyNames) === '{"type":"string"}') delete schema.propertyNames;
}

/** The JSON Schema of what goes on the wire: the input side of a codec, in answers too. Schemas with an `id` stand below `$defs`. */
export const jsonSchemaOf = (schema: z.core.$ZodType): JsonSchema =>
  z.toJSONSchema(schema, {
    io: 'input',
    override: ({ zodSchema, jsonSchema }) => plain(zodSchema, jsonSchema),
  }) as JsonSchema;
