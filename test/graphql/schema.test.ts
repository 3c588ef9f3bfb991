import { readFileSync } from 'node:fs';
import { buildSchema, validateSchema } from 'graphql';
import { describe, expect, it } from 'vitest';
import { buildGraphqlSchema, schemaText } from '../../src/graphql/schema.ts';

describe('the schema', () => {
  it('is valid', () => {
    expect(validateSchema(buildGraphqlSchema())).toEqual([]);
    expect(() => buildSchema(schemaText())).not.toThrow();
  });

  it('is the one committed as schema.graphql; `npm run emit` writes it', () => {
    expect(readFileSync(new URL('../../schema.graphql', import.meta.url), 'utf8')).toBe(schemaText());
  });

  it('has snake_case fields and camelCase root fields', () => {
    const roots = ['Query', 'Mutation', 'Subscription'];
    for (const type of Object.values(buildGraphqlSchema().getTypeMap())) {
      if (type.name.startsWith('__') || !('getFields' in type)) continue;
      const pattern = roots.includes(type.name) ? /^[a-z][a-zA-Z0-9]*$/ : /^[a-z][a-z0-9_]*$/;
      for (const [name, field] of Object.entries(type.getFields())) {
        expect(name).toMatch(pattern);
        for (const arg of 'args' in field ? field.args : []) expect(arg.name).toMatch(/^[a-z][a-z0-9_]*$/);
      }
    }
  });

  it('gives mutations their place and one input, except those whose operation takes nothing but a place', () => {
    // GraphQL has no input types without fields.
    const placeOnly = ['deleteProject', 'removeRemote'];
    for (const { name, args } of Object.values(buildGraphqlSchema().getMutationType()?.getFields() ?? {})) {
      const besides = args.map((arg) => arg.name).filter((arg) => arg !== 'organization' && arg !== 'project');
      expect({ name, besides }).toEqual({ name, besides: placeOnly.includes(name) ? [] : ['input'] });
    }
  });
});
