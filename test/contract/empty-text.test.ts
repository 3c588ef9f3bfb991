import { describe, expect, it } from 'vitest';
import type { z } from 'zod';
import { parseInput } from '../../src/kernel/parse.ts';
import { withCleared } from '../../src/kernel/shapes.ts';
import { openapiDocument } from '../../src/rest/openapi/openapi.ts';
import { routes } from '../../src/rest/routes.ts';

/** Fields in which empty text is a value of its own, each with why. */
const literal: Record<string, string> = {
  'studio.updateRepository content_root': 'the root of the repository; null: found by its configuration',
  'studio.updateEnvironment published_deployment_id': 'null takes the site down, which an empty form must not',
};

const rows = routes.filter(({ method, operation }) => method === 'patch' && operation.kind === 'command');
const cases = rows.flatMap(({ operation, path }) =>
  Object.entries((operation.input as z.ZodObject).shape as Record<string, z.ZodType>)
    .filter(([, field]) => field.safeParse(null).success)
    .map(([name, field]) => ({ operation, path, name, field, title: `${operation.name} ${name}` })),
);

describe.each(cases)('$title', ({ operation, path, name, field, title }) => {
  const read = (value: unknown) => {
    const cleared = withCleared(operation.input, { [name]: value }) as Record<string, unknown>;
    return parseInput(field, cleared[name]);
  };

  if (title in literal)
    it('reads empty text as it is', () => {
      expect(withCleared(operation.input, { [name]: '' })).toEqual({ [name]: '' });
    });
  else
    it('reads empty text as null, and says so in the API description', () => {
      expect(read('')).toEqual(read(null));
      expect(withCleared(operation.input, { [name]: ' ' })).toEqual({ [name]: ' ' });
      const patch = openapiDocument(routes).paths[path.replace(/:([a-z_]+)/g, '{$1}')]?.patch as unknown;
      const text = JSON.stringify(patch);
      expect(text).toContain('Empty text is read as null');
      expect(field.description).toMatch(/Empty text is read as null$/);
    });
});

it('every exception is a field that there is', () => {
  const titles = cases.map(({ title }) => title);
  for (const title of Object.keys(literal)) expect(titles).toContain(title);
  expect(titles.length).toBeGreaterThan(30);
});

it('fields that null does not take away are read literally', () => {
  for (const { operation } of rows)
    for (const [name, field] of Object.entries((operation.input as z.ZodObject).shape as Record<string, z.ZodType>))
      if (!field.safeParse(null).success)
        expect(withCleared(operation.input, { [name]: '' }), `${operation.name} ${name}`).toEqual({ [name]: '' });
});
