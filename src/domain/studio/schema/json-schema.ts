import { fieldLabel } from '../../../lib/field-label.ts';
import type { CollectionSchema } from './collection-schema.ts';
import { datePattern, datetimePattern } from './dates.ts';
import type { SchemaField, StudioSchema } from './schema.schema.ts';

export type JsonSchema = Record<string, unknown>;

const text = { type: 'string' } as const;

/** Types JSON Schema knows by itself need no word in `x-portico`. */
const plainTypes = new Set(['string', 'number', 'integer', 'boolean', 'object', 'any', 'enum']);

function base(field: SchemaField): JsonSchema {
  switch (field.type) {
    case 'number':
    case 'integer':
    case 'boolean':
      return { type: field.type };
    case 'date':
      return { ...text, pattern: datePattern };
    case 'datetime':
      return { ...text, pattern: datetimePattern };
    case 'enum':
      return { enum: field.options ?? [] };
    case 'reference':
      return { type: ['string', 'object'] };
    case 'object':
      return { type: 'object', ...(field.fields ? objectOf(field.fields) : {}) };
    case 'json':
    case 'any':
      return {};
    default:
      return { ...text };
  }
}

function objectOf(fields: readonly SchemaField[]): JsonSchema {
  const required = fields.filter((field) => field.required).map((field) => field.name);
  return {
    // fromEntries defines own properties, so a field named `__proto__` is one like any other.
    properties: Object.fromEntries(fields.map((field) => [field.name, fieldToJsonSchema(field)])),
    ...(required.length > 0 ? { required } : {}),
  };
}

const bounds = [
  ['min', 'minimum'],
  ['max', 'maximum'],
  ['min_length', 'minLength'],
  ['max_length', 'maxLength'],
] as const;

function item(field: SchemaField): JsonSchema {
  if (field.variants) return { anyOf: field.variants.map(fieldToJsonSchema) };
  const schema = base(field);
  for (const [key, keyword] of bounds) if (field[key] !== undefined) schema[keyword] = field[key];
  // Inline flags are RE2's; JSON Schema patterns are ECMAScript's.
  if (field.pattern !== undefined && schema.type === 'string' && !/^\(\?[a-z]/.test(field.pattern))
    schema.pattern ??= field.pattern;
  if (field.coerce) {
    delete schema.type;
    delete schema.enum;
    if (field.type === 'date' || field.type === 'datetime') delete schema.pattern;
  }
  return schema;
}

function nullable(schema: JsonSchema): JsonSchema {
  if (Array.isArray(schema.enum)) return { ...schema, enum: [...schema.enum, null] };
  if (typeof schema.type === 'string' || Array.isArray(schema.type))
    return { ...schema, type: [schema.type, 'null'].flat() };
  return Array.isArray(schema.anyOf) ? { ...schema, anyOf: [...schema.anyOf, { type: 'null' }] } : schema;
}

function annotations(field: SchemaField): JsonSchema {
  const portico = {
    ...(plainTypes.has(field.type) ? {} : { type: field.type }),
    ...(field.relation ? { relation: field.relation } : {}),
    ...(field.coerce ? { coerce: true } : {}),
    ...(field.strict ? { strict: true } : {}),
    ...(field.pattern === undefined ? {} : { pattern: field.pattern }),
    ...(field.editor ? { editor: field.editor } : {}),
  };
  return {
    ...(field.label === undefined ? {} : { title: field.label }),
    ...(field.description === undefined ? {} : { description: field.description }),
    ...(field.default === undefined ? {} : { default: field.default }),
    ...(Object.keys(portico).length > 0 ? { 'x-portico': portico } : {}),
  };
}

/** JSON Schema of one field's value as it is stored. */
export function fieldToJsonSchema(field: SchemaField): JsonSchema {
  let schema = item(field);
  if (field.list) {
    schema = {
      ...(field.coerce ? {} : { type: 'array' }),
      items: schema,
      ...(field.min_items === undefined ? {} : { minItems: field.min_items }),
      ...(field.max_items === undefined ? {} : { maxItems: field.max_items }),
    };
  }
  return { ...(field.nullable ? nullable(schema) : schema), ...annotations(field) };
}

/**
 * JSON Schema 2020-12 of an entry's metadata as it is stored (dates are text). What JSON Schema cannot say, relations and editor
 * types, is in `x-portico`; unknown keys are always allowed, as they are kept.
 */
export function toJsonSchema(
  schema: Pick<CollectionSchema, 'label' | 'fields' | 'strict' | 'items_in_file'>,
): JsonSchema {
  const entry = { type: 'object', ...objectOf(schema.fields) };
  return {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    title: schema.label,
    ...(schema.items_in_file ? { type: ['object', 'array'], additionalProperties: entry, items: entry } : entry),
    ...(schema.strict ? { 'x-portico': { strict: true } } : {}),
  };
}

const made = new WeakMap<CollectionSchema, JsonSchema>();

/** Longest label that is shown, characters: it has those of all objects around the field, and may be on a page for each of their members. */
const longestLabel = 500;

/** What a field is called that a JSON Pointer into the frontmatter leads to; of a long label the end, which is the field's own. */
export function labelAt(schema: CollectionSchema | undefined, pointer: string): string {
  const known = schema && (made.get(schema) ?? toJsonSchema(schema));
  if (schema && known) made.set(schema, known);
  const label = fieldLabel(known ?? null, pointer);
  return label.length > longestLabel ? `…${label.slice(-longestLabel)}` : label;
}

/** The record of `GET /schema`. */
export function toRecord(schema: CollectionSchema): StudioSchema {
  const {
    matches: _matches,
    paths: _paths,
    slugs: _slugs,
    strict: _strict,
    items_in_file: _items,
    ...described
  } = schema;
  const { template: _template, ...record } = described;
  return { ...record, json_schema: toJsonSchema(schema) };
}
