import { introspectionFromSchema, parse, validate } from 'graphql';
import { expect, test } from 'vitest';
import { buildGraphqlSchema } from '../../src/graphql/schema.ts';

const schema = buildGraphqlSchema();
const { __schema: described } = introspectionFromSchema(schema);
const types = new Map(described.types.map((type) => [type.name, type]));
// A script of the browser: it has no types, and needs no page for this.
const { draftOf } = await import(new URL('../../src/rest/site/assets/explorer-draft.js', import.meta.url).href);

const roots = [
  ['query', described.queryType],
  ['mutation', described.mutationType],
  ['subscription', described.subscriptionType],
] as const;
const fields = roots.flatMap(([keyword, root]) => {
  const type = root && types.get(root.name);
  return type?.kind === 'OBJECT' ? type.fields.map((field) => [keyword, field.name, field] as const) : [];
});

test.each(fields)('the draft of %s %s is valid', (keyword, _name, field) => {
  const { text, variables } = draftOf(types, keyword, field);
  expect(validate(schema, parse(text)).map((error) => `${error.message}\n${text}`)).toEqual([]);
  expect(Object.keys(variables)).toEqual(
    field.args.filter((arg) => arg.type.kind === 'NON_NULL' && !arg.defaultValue).map((arg) => arg.name),
  );
});
