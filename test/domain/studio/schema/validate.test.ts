import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { toJsonSchema, toRecord } from '../../../../src/domain/studio/schema/json-schema.ts';
import { type SchemaField, studioSchema } from '../../../../src/domain/studio/schema/schema.schema.ts';
import { patternSize, validateEntry } from '../../../../src/domain/studio/schema/validate.ts';
import { iterationsDuring } from '../../../support/loop-iterations.ts';
import fc from '../../../support/properties.ts';
import { foldSchema } from './sites.ts';

const faults = async (zod: string, value: unknown) => {
  const { posts } = await foldSchema(`z.object({ it: ${zod} })`);
  const { errors } = await validateEntry(posts, value === undefined ? {} : { it: value });
  return errors.map((one) => `${one.field} ${one.code}`);
};

describe('an entry is compared with its schema', () => {
  const cases: [string, unknown[], [unknown, string][]][] = [
    [
      'z.string().min(2).max(3)',
      ['ab'],
      [
        ['a', 'min_length'],
        ['abcd', 'max_length'],
        [1, 'type'],
        [undefined, 'required'],
        [null, 'type'],
      ],
    ],
    ['z.string().optional()', [undefined, ''], [[null, 'type']]],
    ['z.string().nullish()', [undefined, null, 'a'], [[1, 'type']]],
    ['z.string().regex(/^[a-z]+$/i)', ['AbC'], [['a1', 'pattern']]],
    ['z.string().regex(/(?=a)a/)', ['b'], []],
    [
      'z.number().min(1).max(2)',
      [1.5],
      [
        [0, 'min'],
        [3, 'max'],
        ['1', 'type'],
      ],
    ],
    ['z.number().int()', [1], [[1.5, 'type']]],
    ['z.coerce.number()', [1, '1.5'], [['x', 'type']]],
    ['z.boolean()', [true], [['yes', 'type']]],
    [
      'z.date()',
      ['2024-01-01', '2024-01-01 10:00:00'],
      [
        ['soon', 'date'],
        [2024, 'type'],
      ],
    ],
    ['z.coerce.date()', ['Jul 08 2022', 0], [['soon', 'date']]],
    ['z.string().datetime()', ['2024-01-01T00:00:00Z'], [['2024-01-01', 'date']]],
    ['z.string().url()', ['https://a.example', 'mailto:a@b.c'], [['a/b', 'pattern']]],
    ['z.enum(["a","b"])', ['a'], [['c', 'enum']]],
    ['z.null()', [null], [[1, 'enum']]],
    ['z.any()', [undefined, 1, null, {}], []],
  ];
  it.each(cases)('%s', async (zod, good, bad) => {
    for (const value of good) expect([value, await faults(zod, value)]).toEqual([value, []]);
    for (const [value, code] of bad) expect([value, await faults(zod, value)]).toEqual([value, [`/it ${code}`]]);
  });

  it('points at the place of each fault', async () => {
    expect(await faults('z.array(z.object({ "a/b": z.number() })).max(1)', [{ 'a/b': 1 }, { 'a/b': 'x' }, {}])).toEqual(
      ['/it max_items', '/it/1/a~1b type', '/it/2/a~1b required'],
    );
  });

  it('names the alternative that was meant', async () => {
    const union =
      'z.discriminatedUnion("t", [z.object({t: z.literal("a")}), z.object({t: z.literal("b"), n: z.number()})])';
    expect(await faults(union, { t: 'b', n: 'x' })).toEqual(['/it/n type']);
    expect(await faults(union, { t: 'c' })).toEqual(['/it variant']);
  });

  it('asks for references and files', async () => {
    const { posts } = await foldSchema('({image}) => z.object({ by: z.array(reference("authors")), cover: image() })');
    const options = {
      references: (name: string, slug: string) => name === 'authors' && slug === 'ann',
      files: (path: string) => path === './a.png',
      prefix: '/frontmatter',
    };
    const { errors } = await validateEntry(
      posts,
      { by: ['ann', 'zoe', { collection: 'authors', id: 'ann' }], cover: './b.png' },
      options,
    );
    expect(errors.map((one) => [one.field, one.code])).toEqual([
      ['/frontmatter/by/1', 'reference'],
      ['/frontmatter/cover', 'file'],
    ]);
  });

  it('only warns of unknown keys, and of everything when the schema is inferred', async () => {
    const { posts } = await foldSchema('z.object({ a: z.string() }).strict()');
    expect(await validateEntry(posts, { a: 'x', b: 1 })).toMatchObject({
      errors: [],
      warnings: [{ field: '/b', code: 'unknown_key' }],
    });
    expect(await validateEntry({ ...posts, inferred: true }, {})).toMatchObject({
      errors: [],
      warnings: [{ field: '/a', code: 'required' }],
    });
  });

  it('compares each item of a file of many', async () => {
    const { posts } = await foldSchema('z.object({ a: z.string() })');
    const { errors } = await validateEntry({ ...posts, items_in_file: true }, { one: { a: 'x' }, two: {} });
    expect(errors.map((one) => one.field)).toEqual(['/two/a']);
  });

  const schemaOf = (field: Partial<SchemaField>) => ({
    fields: [{ name: 'it', type: 'enum' as const, required: true, list: true, ...field }],
    inferred: false,
    strict: false,
    items_in_file: false,
  });

  it('looks at the options of a field once, however many values are none of them', async () => {
    let looks = 0;
    const options = new Proxy(
      Array.from({ length: 500 }, (_, at) => `option ${at} ${'x'.repeat(100)}`),
      {
        get(target, key, receiver) {
          if (typeof key === 'string' && /^\d+$/.test(key)) looks += 1;
          return Reflect.get(target, key, receiver);
        },
      },
    );
    const { errors } = await validateEntry(schemaOf({ options }), { it: Array(1_000).fill(1) });
    expect(errors).toHaveLength(100);
    expect(looks).toBeLessThan(2_000);
  });

  it('names as many alternatives as a message has room for', async () => {
    const messageOf = async (field: Partial<SchemaField>, value: unknown) =>
      (await validateEntry(schemaOf({ list: false, ...field }), { it: value })).errors[0]?.message;
    expect(await messageOf({ options: ['a', 'b'] }, 'c')).toBe('must be one of "a", "b"');
    const options = Array.from({ length: 1_200 }, (_, at) => `${at}`.padStart(198, '0'));
    const shown = await messageOf({ options }, 'c');
    expect(shown).toMatch(/^must be one of "0+", "0+1", "0+2", "0+3" and 1196 more$/);
    expect(await messageOf({ options: ['a'.repeat(5_000), 'b'] }, 'c')).toMatch(/^must be one of "a{999}… and 1 more$/);
    const variants = options.map((option) => ({ ...schemaOf({ list: false, options: [option] }).fields[0] }));
    expect(await messageOf({ variants: variants as SchemaField[] }, 'c')).toMatch(
      /^must be "0+" or "0+1" or "0+2" or "0+3" and 1196 more$/,
    );
  });

  it('shortens the messages of patterns, however long these are', async () => {
    const long = 'y'.repeat(10_000);
    const editor = { pattern_message: `must be ${long}` };
    for (const field of [{ pattern: `^${long}$` }, { pattern: '^y$', editor }]) {
      const schema = schemaOf({ type: 'string', ...field } as Partial<SchemaField>);
      const { errors } = await validateEntry(schema, { it: Array(100).fill('x') });
      expect(errors).toHaveLength(100);
      for (const { message } of errors) expect(message).toMatch(/^must .{295}…$/);
    }
  });

  it('points at as many faults as there is room for where keys are long, and at one in any case', async () => {
    const pointersOf = async (name: string) => {
      const [field] = schemaOf({ type: 'integer' }).fields;
      const schema = { ...schemaOf({}), fields: [{ ...field, name } as SchemaField] };
      return (await validateEntry(schema, { [name]: Array(100).fill('x') })).errors.map((one) => one.field);
    };
    expect(await pointersOf('k'.repeat(1_000))).toHaveLength(65);
    expect(await pointersOf('k'.repeat(100_000))).toHaveLength(1);
  });

  it('gives way while many alternatives are tried on many values', async () => {
    const variants = Array.from({ length: 100 }, (_, at) => ({
      ...schemaOf({ list: false, options: [at] }).fields[0],
    }));
    const steps = iterationsDuring(async () => {
      const schema = schemaOf({ variants: variants as SchemaField[] });
      expect((await validateEntry(schema, { it: Array(50).fill('x') })).errors).toHaveLength(50);
    });
    expect(await steps).toBeGreaterThan(50);
  });

  it('is not slowed by a pattern made to be slow', async () => {
    expect(await faults('z.string().regex(/^(a+)+$/)', `${'a'.repeat(20_000)}b`)).toEqual(['/it pattern']);
  });

  it('leaves out a pattern that would take long for its text', async () => {
    const { posts } = await foldSchema(
      'z.object({ long: z.array(z.string().regex(/^(?:a?){1000}b$/)), short: z.string().regex(/^b$/) })',
    );
    const checked = await validateEntry(posts, { long: ['a'.repeat(100)], short: 'a' });
    expect(checked.errors.map(({ field, code }) => `${field} ${code}`)).toEqual(['/long/0 pattern', '/short pattern']);
    const { errors, warnings } = await validateEntry(posts, { long: Array(1_000).fill('a'.repeat(1_000)), short: 'a' });
    expect(errors.map(({ field }) => field)).toContain('/short');
    expect(errors.length).toBeLessThan(10);
    expect(warnings.map(({ field, code }) => `${field} ${code}`)).toEqual(['/long/* pattern_unchecked']);
  });

  it('leaves patterns out that are too large to be compiled, alone or together', async () => {
    const of = (patterns: Record<string, string>) =>
      Object.entries(patterns).map(
        ([name, pattern]): SchemaField => ({ name, type: 'string', required: true, list: false, pattern }),
      );
    const unchecked = async (patterns: Record<string, string>) => {
      const schema = { fields: of(patterns), inferred: false, strict: false, items_in_file: false };
      const { errors, warnings } = await validateEntry(schema, { a: 'x', b: 'x', c: 'x' });
      return [...errors, ...warnings].map(({ field, code }) => `${field} ${code}`);
    };
    const large = `(?:${'[ab][cd]'.repeat(500)}){1000}`;
    expect(await unchecked({ a: large, b: '^y$' })).toEqual(['/b pattern', '/a pattern_unchecked']);
    const half = (letter: string) => `^(?:${letter.repeat(60)}){1000}$`;
    expect(await unchecked({ a: half('q'), b: half('r'), c: '^y$' })).toEqual([
      ...['/a pattern', '/c pattern'],
      '/b pattern_unchecked',
    ]);
  });
});

it.each([
  ['abc', 3],
  ['^a{3}$', 5],
  ['a{2,5}', 5],
  ['a{2,}', 2],
  ['(?:ab){3}', 12],
  ['((a{2}b){3}c){4}', 40],
  ['[]{2}]{3}', 3],
  ['[^\\]{9}]{2}', 2],
  ['\\{2}', 3],
  ['\\(a{3}', 4],
  ['a{b}', 4],
  ['((a{4}', 4],
  ['[a{9}', 1],
])('the pattern %s has about %i instructions', (pattern, size) => {
  expect(patternSize(pattern)).toBe(size);
});

describe('JSON Schema', () => {
  it('is part of a valid record', async () => {
    const { posts } = await foldSchema(
      'z.object({ a: z.array(reference("authors")).default([]), d: z.date().describe("when") })',
    );
    const record = toRecord(posts);
    expect(studioSchema.parse(record)).toEqual(record);
    expect(record.json_schema).toMatchObject({
      $schema: 'https://json-schema.org/draft/2020-12/schema',
      required: ['d'],
      properties: {
        a: { type: 'array', default: [], 'x-portico': { relation: { collection: 'authors', multiple: true } } },
        d: { description: 'when' },
      },
    });
    expect(Object.keys(z.toJSONSchema(studioSchema).$defs ?? {})).toEqual(
      expect.arrayContaining(['SchemaField', 'StudioWarning', 'SchemaSource']),
    );
  });

  /** Fields whose meaning JSON Schema can carry whole: no calendar, no conversion, no look-ups. */
  const leaf = fc.oneof(
    fc.record(
      { type: fc.constant('string' as const), min_length: fc.nat(3), max_length: fc.integer({ min: 2, max: 5 }) },
      { requiredKeys: ['type'] },
    ),
    fc.record(
      {
        type: fc.constantFrom('number' as const, 'integer' as const),
        min: fc.integer({ min: -3, max: 3 }),
        max: fc.integer({ min: 0, max: 5 }),
      },
      { requiredKeys: ['type'] },
    ),
    fc.record({
      type: fc.constantFrom(
        'boolean' as const,
        'any' as const,
        'link' as const,
        'object' as const,
        'reference' as const,
      ),
    }),
    fc.record({ type: fc.constant('string' as const), pattern: fc.constantFrom('^a', 'b$', '^[a-c]*$') }),
    fc.record({
      type: fc.constant('enum' as const),
      options: fc.uniqueArray(fc.constantFrom('a', 'b', 1, true), { minLength: 1 }),
    }),
  );
  const whole = fc.record(
    {
      name: fc.constantFrom('a', 'b', 'c'),
      required: fc.boolean(),
      list: fc.boolean(),
      nullable: fc.boolean(),
      min_items: fc.nat(2),
      max_items: fc.integer({ min: 1, max: 3 }),
    },
    { requiredKeys: ['name', 'required', 'list'] },
  );
  const distinct = { selector: (field: SchemaField) => field.name, maxLength: 3 };
  const { fields } = fc.letrec<{ field: SchemaField; fields: SchemaField[] }>((tie) => ({
    field: fc
      .tuple(
        whole,
        fc.oneof(
          { depthSize: 'small' },
          leaf,
          fc.record({ type: fc.constant('object' as const), fields: tie('fields') }),
          fc.record({
            type: fc.constant('any' as const),
            variants: fc.array(tie('field'), { minLength: 1, maxLength: 2 }),
          }),
        ),
      )
      .map(([a, b]): SchemaField => ({ ...a, ...b })),
    fields: fc.uniqueArray(tie('field'), distinct),
  }));
  const scalar = fc.constantFrom<unknown[]>('', 'a', 'ab', 'cb', 'abcdef', 0, 1, 2.5, -4, 7, true, false, null);
  const { value } = fc.letrec((tie) => ({
    value: fc.oneof({ depthSize: 'small' }, scalar, fc.array(tie('value'), { maxLength: 4 }), tie('map')),
    map: fc.dictionary(fc.constantFrom('a', 'b', 'c'), tie('value'), { maxKeys: 3, noNullPrototype: true }),
  }));
  const map = fc.dictionary(fc.constantFrom('a', 'b', 'c'), value, { noNullPrototype: true });

  it('accepts exactly what the validator accepts', async () => {
    let accepted = 0;
    await fc.assert(
      fc.asyncProperty(fields, fc.array(map, { minLength: 1, maxLength: 8 }), async (tree, values) => {
        const schema = { label: 'Posts', fields: tree, strict: false, inferred: false, items_in_file: false };
        const other = z.fromJSONSchema(toJsonSchema(schema) as Parameters<typeof z.fromJSONSchema>[0]);
        for (const entry of values) {
          const { errors } = await validateEntry(schema, entry);
          expect({ valid: errors.length === 0, entry }).toEqual({ valid: other.safeParse(entry).success, entry });
          if (errors.length === 0) accepted++;
        }
      }),
      { numRuns: 1000 },
    );
    expect(accepted).toBeGreaterThan(200);
  });
});
