import { Validator } from '@cfworker/json-schema';
import { describe, expect, it } from 'vitest';
import type { z } from 'zod';
import type { JsonSchema } from '../../src/kernel/shapes.ts';
import { withCleared } from '../../src/kernel/shapes.ts';
import { openapiDocument } from '../../src/rest/openapi/openapi.ts';
import { routes } from '../../src/rest/routes.ts';

const document = openapiDocument(routes);
const { components } = document;

/** Texts that some rule takes and another refuses. */
const texts = [
  ...['', ' ', 'a', 'é', '0', 'a b', 'a\u0000b', 'a\nb', '-', 'a:b', 'a=b', '=b', 'a=b&c', 'a=b&c=d', '/a', '../a'],
  ...['PATH', 'PATHS', 'HOME', 'TMPDIR', 'TMPDIR2', 'PORTICO', 'PORTICO_', 'PORTICO_A', 'path', 'A_1', '1A'],
  ...['https://a.test', 'https://a.test/b', 'HTTPS://a.test?b', 'http://a.test', 'https:a.test', 'https:///a.test'],
  ...['https://u@a.test', 'https://u:p@a.test', 'http://u:p@a.test', 'https://a.test/u:p@b', 'https://a.test#u@b'],
  ...['https://\t/u:p@a.test', 'https://a\\@b.test', 'https://', 'https://[', 'ftp://a.test', 'javascript:alert(1)'],
  ...['ssh://git@a.test/b', 'ssh://u:p@a.test/b', 'ssh://a.test', 'ssh:a.test', 'file:///a', '2026-03-01T08:00:00Z'],
  ...['2026-03-01T08:00:00+01:00', '0000-01-01T00:00:00Z', '* * * * *', '0'.repeat(40), 'name-1', 'name_1'],
  ...[Array(50).fill('a=b').join('&'), Array(51).fill('a=b').join('&')],
];
const names = ['X-A', 'x a', '', 'Host', 'host', 'Hosts', 'TE', 'Proxy-A', 'if-match', 'iffy', 'Range', 'a_b'];

/** A schema with the components it leads to in their places: free JSON, which alone leads back to itself, as anything. */
function inlined(schema: unknown): unknown {
  if (typeof schema !== 'object' || schema === null) return schema;
  if (Array.isArray(schema)) return schema.map(inlined);
  const { $ref, ...rest } = schema as { $ref?: string };
  const name = $ref?.split('/').at(-1) ?? '';
  if (name === 'JsonValue') return {};
  if (name === 'JsonObject') return { type: 'object' };
  const fields = Object.fromEntries(Object.entries(rest).map(([key, value]) => [key, inlined(value)]));
  return $ref ? { ...(inlined(components.schemas[name]) as object), ...fields } : fields;
}

const validators = new WeakMap<object, Validator>();
const validatorOf = (schema: JsonSchema): Validator => {
  const known = validators.get(schema) ?? new Validator(structuredClone(schema) as never, '2020-12');
  validators.set(schema, known);
  return known;
};
const takes = (schema: JsonSchema, value: unknown) => validatorOf(schema).validate(value).valid;

/** A few texts at and just over a length, as the patterns want them. */
const ofLength = (length: number) =>
  ['a', 'https://a.test/', 'ssh://a.test/', 'A', '/', 'a=']
    .filter((lead) => lead.length <= length)
    .map((lead) => lead.padEnd(length, 'a'));

/** Values at and just over the bounds of a schema, and texts that its patterns may refuse. The first one that it takes stands for it elsewhere. */
function samples(schema: JsonSchema, depth = 0): unknown[] {
  if (depth > 5 || Object.keys(schema).length === 0) return ['a'];
  if (schema.const !== undefined) return [schema.const];
  if (schema.enum) return [...schema.enum, 'none of them'];
  const options = (schema.anyOf ?? schema.oneOf) as JsonSchema[] | undefined;
  const ofOptions = options?.flatMap((option) => samples(option, depth + 1)) ?? [];
  const types = [schema.type ?? []].flat() as string[];
  return [...ofOptions, ...types.flatMap((type) => samplesOf(type, schema, depth))];
}

function samplesOf(type: string, schema: JsonSchema, depth: number): unknown[] {
  const { minLength = 0, maxLength, minimum, maximum } = schema;
  switch (type) {
    case 'null':
      return [null];
    case 'boolean':
      return [true, 'true'];
    case 'string': {
      const lengths = [minLength - 1, minLength, ...(maxLength === undefined ? [] : [maxLength, maxLength + 1])];
      return [...texts, ...lengths.filter((length) => length >= 0).flatMap(ofLength), 1];
    }
    case 'integer':
    case 'number': {
      const bounds = [minimum, maximum].filter((bound) => typeof bound === 'number');
      return [...bounds.flatMap((bound) => [bound, bound - 1, bound + 1, bound + 0.5]), 0, 1, 0.5, 'a'];
    }
    case 'array':
      return lists(schema, depth);
    default:
      return objects(schema, depth);
  }
}

const taken = new WeakMap<object, { value: unknown }>();
function anyTaken(schema: JsonSchema, depth: number): unknown {
  const known = taken.get(schema) ?? {
    value: samples(schema, depth + 1).find((value) => value !== null && takes(schema, value)),
  };
  taken.set(schema, known);
  return known.value;
}

function lists(schema: JsonSchema, depth: number): unknown[] {
  const items = (schema.items ?? {}) as JsonSchema;
  const one = anyTaken(items, depth);
  const { minItems = 0, maxItems } = schema;
  const lengths = [minItems - 1, minItems, ...(maxItems === undefined ? [] : [maxItems, maxItems + 1])];
  return [
    ...(one === undefined ? [] : lengths.filter((length) => length >= 0).map((length) => Array(length).fill(one))),
    ...samples(items, depth + 1).map((item) => [item]),
    {},
  ];
}

function objects(schema: JsonSchema, depth: number): unknown[] {
  const { properties = {}, required = [], additionalProperties, maxProperties } = schema;
  const fields = Object.entries(properties) as [string, JsonSchema][];
  const some = (name: string, field: JsonSchema) => {
    const value = anyTaken(field, depth);
    return value === undefined ? {} : { [name]: value };
  };
  const base = Object.assign(
    {},
    ...fields.filter(([name]) => required.includes(name)).map(([name, field]) => some(name, field)),
  );
  const others = typeof additionalProperties === 'object' ? (additionalProperties as JsonSchema) : null;
  const counted = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, at) => [`x-${at}`, 'a']));
  return [
    base,
    {},
    ...fields.flatMap(([name, field]) => samples(field, depth + 1).map((value) => ({ ...base, [name]: value }))),
    // Each pair of fields, which may exclude each other.
    ...fields.flatMap(([one, first], at) =>
      fields.slice(at + 1).map(([two, second]) => ({ ...base, ...some(one, first), ...some(two, second) })),
    ),
    ...(others ? samples(others, depth + 1).map((value) => ({ 'x-a': value })) : []),
    ...(others ? names.map((name) => some(name, others)) : []),
    ...(maxProperties === undefined ? [] : [counted(maxProperties), counted(maxProperties + 1)]),
    [],
  ];
}

/** Rules that JSON Schema has no words for, by the fields that have them: the server refuses more than is described. */
const unspoken: [field: RegExp, message: RegExp][] = [
  [/ timezone$/, /^must be a time zone/],
  [/ schedule_cron_string$/, /^must have exactly 5 fields/],
  [
    / (root|output)_directory$/,
    /^must not (contain control characters|start or end|contain the segment|contain a backslash)/,
  ],
  [/ variables$/, /^must not name a variable twice$/],
  [/ protected_branches$/, /^is not a glob$/],
  [/ sitemap_url$/, /^must be an address$/],
];
/** Addresses of any scheme, which the URL Standard reads more generously than `format: uri` does. */
const looser = / sitemap_url$/;
/** An address that only a parser of addresses refuses. */
const unparsable = 'https://[';

/** The server takes more than is described: texts are trimmed first. */
const isTrimmed = (value: unknown): boolean => JSON.stringify(value) !== JSON.stringify(trimmed(value));
const trimmed = (value: unknown): unknown => {
  if (typeof value === 'string') return value.trim();
  if (Array.isArray(value)) return value.map(trimmed);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, trimmed(each)]));
};

const rows = routes.filter(({ method, operation }) => method !== 'get' && operation.kind === 'command');
const cases = rows.flatMap(({ method, path, operation }) => {
  const described = document.paths[path.replace(/[:*]([a-z_]+)/g, '{$1}')]?.[method];
  const content = described?.requestBody?.content['application/json']?.schema as JsonSchema | undefined;
  return Object.entries((content?.properties ?? {}) as Record<string, JsonSchema>).map(([name, written]) => ({
    operation,
    name,
    schema: inlined(written) as JsonSchema,
    title: `${operation.name} ${name}`,
  }));
});

describe('the server refuses what is described as refused, and nothing else that JSON Schema has words for', () => {
  it.each(cases)('$title', ({ operation, name, schema, title }) => {
    const field = (operation.input as z.ZodObject).shape[name] as z.ZodType;
    const validator = validatorOf(schema);
    const faults: string[] = [];
    for (const value of samples(schema)) {
      const input = (withCleared(operation.input, { [name]: value }) as Record<string, unknown>)[name];
      // Empty text that stands for null, as the description of the field says.
      if (input !== value) continue;
      const isDescribed = validator.validate(value).valid;
      const read = field.safeParse(value);
      if (isDescribed === read.success) continue;
      if (read.success && looser.test(title) && /[\t\\]/.test(String(value))) continue;
      if (isTrimmed(value) || (!read.success && JSON.stringify(value).includes(unparsable))) continue;
      const said = read.error?.issues.map(({ message }) => message) ?? [];
      if (
        !read.success &&
        said.every((message) => unspoken.some(([field, rule]) => field.test(title) && rule.test(message)))
      )
        continue;
      faults.push(`${read.success ? 'taken' : `refused: ${said.join(', ')}`}: ${JSON.stringify(value)?.slice(0, 80)}`);
    }
    expect(faults).toEqual([]);
  });
});
