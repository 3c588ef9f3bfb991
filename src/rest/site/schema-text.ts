import type { JsonSchema } from '../openapi/openapi-schemas.ts';
import { type Html, html } from './html.ts';

const nameOf = (reference: string) => reference.split('/').at(-1) ?? reference;

/** What a reference to a component stands for, or the item itself. */
export const resolve = <T extends object>(item: T | { $ref: string }, shared: Record<string, T>): T | undefined =>
  '$ref' in item && typeof item.$ref === 'string' ? shared[nameOf(item.$ref)] : (item as T);

const words: Record<string, string> = {
  'date-time': 'date and time',
  uuid: 'UUID',
  email: 'email address',
  uri: 'URL',
};

function joined(pieces: Html[], between: string): Html {
  return html`${pieces.map((piece, at) => (at === 0 ? piece : html`${between}${piece}`))}`;
}

const isSchema = (value: unknown): value is JsonSchema => typeof value === 'object' && value !== null;

/** The type of a value in words, with links to the named shapes. */
export function typeText(schema: JsonSchema): Html {
  if (schema.$ref) return html`<a href="#shape-${nameOf(schema.$ref)}">${nameOf(schema.$ref)}</a>`;
  // Beside an answer's own shape: that it may name ignored fields, which all commands do alike.
  if (schema.type === undefined && schema.allOf && isSchema(schema.allOf[0])) return typeText(schema.allOf[0]);
  const alternatives = schema.anyOf ?? schema.oneOf;
  if (alternatives) return joined(alternatives.filter(isSchema).map(typeText), ' or ');
  if (schema.const !== undefined) return html`<code>${JSON.stringify(schema.const)}</code>`;
  if (schema.type === 'array') {
    const items = Array.isArray(schema.items) ? undefined : schema.items;
    return isSchema(items) && Object.keys(items).length > 0 ? html`list of ${typeText(items)}` : html`list`;
  }
  if (schema.type === 'object' && isSchema(schema.additionalProperties) && schema.additionalProperties.type)
    return html`object of ${typeText(schema.additionalProperties)}`;
  if (schema.type === undefined) return html`any value`;
  return html`${words[schema.format ?? ''] ?? String(schema.type)}`;
}

const between = (least: unknown, most: unknown, unit = ''): string | null => {
  if (least !== undefined && most !== undefined) return `${least} to ${most}${unit}`;
  if (least !== undefined) return `at least ${least}${unit}`;
  return most === undefined ? null : `at most ${most}${unit}`;
};

/** What a value must keep to, beyond its type. */
function bounds(schema: JsonSchema): Html[] {
  const { items } = schema;
  const values = schema.enum ?? (isSchema(items) && !Array.isArray(items) ? items.enum : undefined);
  const lines = [
    between(schema.minimum, schema.maximum),
    between(schema.minLength, schema.maxLength, ' characters'),
    between(schema.minItems, schema.maxItems, ' items'),
  ];
  return [
    ...(values
      ? [
          html`one of ${joined(
            values.map((value) => html`<code>${String(value)}</code>`),
            ', ',
          )}`,
        ]
      : []),
    ...lines.flatMap((line) => (line === null ? [] : [html`${line}`])),
    ...(schema.pattern ? [html`matches <code>${schema.pattern}</code>`] : []),
    ...(schema.default !== undefined ? [html`default <code>${JSON.stringify(schema.default)}</code>`] : []),
  ];
}

/** The bounds of a value as one line; empty when there are none. */
export const boundsText = (schema: JsonSchema): Html => joined(bounds(schema), '; ');

/** An example value that fits a schema well enough to show where a real one is placed. */
export function sampleOf(schema: JsonSchema): unknown {
  if (schema.default !== undefined) return schema.default;
  if (schema.enum) return schema.enum[0];
  if (schema.type === 'array') {
    const items = Array.isArray(schema.items) ? undefined : schema.items;
    return isSchema(items) ? [sampleOf(items)] : [];
  }
  if (schema.type === 'integer' || schema.type === 'number') return schema.minimum ?? 0;
  if (schema.type === 'boolean') return true;
  return schema.type === 'string' ? '…' : {};
}
