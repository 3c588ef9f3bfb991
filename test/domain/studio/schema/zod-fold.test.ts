import { describe, expect, it, vi } from 'vitest';
import { field, unionOf } from '../../../../src/domain/studio/schema/zod/field-algebra.ts';
import { foldField, foldSchema } from './sites.ts';

const url = '^[A-Za-z][A-Za-z0-9+.-]*:.';

describe('Zod becomes fields', () => {
  const cases: [string, object][] = [
    ['z.string()', { type: 'string' }],
    ['z.string().min(2).max(9)', { type: 'string', min_length: 2, max_length: 9 }],
    ['z.string().length(3)', { type: 'string', min_length: 3, max_length: 3 }],
    ['z.string().nonempty()', { type: 'string', min_length: 1 }],
    ['z.string().regex(/^a+$/i)', { type: 'string', pattern: '(?i)^a+$' }],
    ['z.string().startsWith("a.b")', { type: 'string', pattern: '^a\\.b' }],
    ['z.string().url()', { type: 'link', pattern: url }],
    ['z.url()', { type: 'link', pattern: url }],
    ['z.string().datetime()', { type: 'datetime' }],
    ['z.iso.date()', { type: 'date' }],
    ['z.number().gte(1).lte(5)', { type: 'number', min: 1, max: 5 }],
    ['z.number().int().positive()', { type: 'integer', min: 1 }],
    ['z.number().int().gt(2).lt(9)', { type: 'integer', min: 3, max: 8 }],
    ['z.number().gt(2)', { type: 'number', min: 2 }],
    ['z.number().nonnegative()', { type: 'number', min: 0 }],
    ['z.bigint()', { type: 'integer' }],
    ['z.boolean().default(true)', { type: 'boolean', default: true, required: false }],
    ['z.date()', { type: 'date' }],
    ['z.coerce.date()', { type: 'date', coerce: true }],
    ['z.any()', { type: 'any', required: false }],
    ['z.unknown()', { type: 'any', required: false }],
    ['z.lazy(() => tree)', { type: 'any', required: false }],
    ['z.null()', { type: 'enum', options: [], nullable: true }],
    ['z.literal("x")', { type: 'enum', options: ['x'] }],
    ['z.enum(["a", "b"])', { type: 'enum', options: ['a', 'b'] }],
    [
      'z.array(z.string().min(2)).min(1).max(3)',
      { type: 'string', list: true, min_length: 2, min_items: 1, max_items: 3 },
    ],
    ['z.string().array()', { type: 'string', list: true }],
    ['z.array(z.array(z.string()))', { type: 'any', list: true }],
    ['z.tuple([z.string(), z.string()])', { type: 'string', list: true, min_items: 2, max_items: 2 }],
    ['z.record(z.string(), z.number())', { type: 'object' }],
    ['z.union([z.literal("a"), z.enum(["b", "c"])])', { type: 'enum', options: ['a', 'b', 'c'] }],
    ['z.union([z.string(), z.null()])', { type: 'string', nullable: true }],
    ['z.string().or(z.undefined())', { type: 'any', required: false }],
    ['z.string().optional()', { type: 'string', required: false }],
    ['z.string().nullable()', { type: 'string', nullable: true }],
    ['z.string().nullish()', { type: 'string', nullable: true, required: false }],
    ['z.optional(z.string())', { type: 'string', required: false }],
    ['z.string().prefault("x")', { type: 'string', default: 'x', required: false }],
    ['z.array(z.string()).default(() => [])', { type: 'string', list: true, default: [], required: false }],
    ['z.string().describe("d")', { type: 'string', description: 'd' }],
    ['z.string().meta({title: "T", description: "d"})', { type: 'string', label: 'T', description: 'd' }],
    ['z.string().transform((v) => v.length).refine(Boolean)', { type: 'string' }],
    ['z.string().trim().pipe(z.enum(["a"]))', { type: 'string' }],
    ['z.preprocess((v) => v, z.number())', { type: 'number', coerce: true }],
    ['reference("authors")', { type: 'reference', relation: { collection: 'authors', multiple: false } }],
    [
      'z.array(reference("authors"))',
      { type: 'reference', list: true, relation: { collection: 'authors', multiple: true } },
    ],
  ];
  it.each(cases)('%s', async (zod, expected) => {
    expect(await foldField(zod)).toEqual(expected);
  });

  it('keeps alternatives that differ as variants', async () => {
    const field = await foldField(
      'z.discriminatedUnion("t", [z.object({t: z.literal("a")}), z.object({t: z.literal("b"), n: z.number()})])',
    );
    expect(field.type).toBe('object');
    expect(field.variants?.map((one) => one.fields?.map((inner) => inner.name))).toEqual([['t'], ['t', 'n']]);
  });

  it('extends, merges, picks, omits and loosens objects', async () => {
    const before = 'const base = z.object({a: z.string(), b: z.number(), c: z.boolean()});';
    const names = async (schema: string) =>
      (await foldSchema(schema, before)).posts.fields.map((one) => `${one.name}${one.required ? '' : '?'}:${one.type}`);
    expect(await names('base.extend({b: z.string(), d: z.date()})')).toEqual([
      'a:string',
      'c:boolean',
      'b:string',
      'd:date',
    ]);
    expect(await names('base.merge(z.object({e: z.string()})).pick({a: true, e: true})')).toEqual([
      'a:string',
      'e:string',
    ]);
    expect(await names('base.omit({a: true}).partial({b: true})')).toEqual(['b?:number', 'c:boolean']);
    expect(await names('base.partial().required({a: true})')).toEqual(['a:string', 'b?:number', 'c?:boolean']);
    expect(await names('z.object({...base.shape, a: base.shape.b})')).toEqual(['a:number', 'b:number', 'c:boolean']);
    expect(await names('z.intersection(base, z.object({d: z.string()}))')).toEqual([
      'a:string',
      'b:number',
      'c:boolean',
      'd:string',
    ]);
    expect((await foldSchema('base.strict()', before)).posts.strict).toBe(true);
  });

  it('gives any, a file and a line for what it does not know', async () => {
    const { field, warnings, posts } = await foldSchema('z.object({\n a: mystery(),\n b: z.string() })');
    expect(field('a')).toMatchObject({ type: 'any' });
    expect(field('b')).toMatchObject({ type: 'string' });
    expect(posts.inferred).toBe(false);
    expect(warnings).toEqual([
      expect.objectContaining({ code: 'schema_unknown', path: 'src/content.config.ts', line: 5, collection: 'posts' }),
    ]);
  });

  it('recognises image(), functions of constants, and schemas of Starlight', async () => {
    const before = `import { docsSchema } from '@astrojs/starlight/schema';
      const seo = (image) => { const name = 'og'; return z.object({ [name]: image() }); };`;
    const { field } = await foldSchema(
      '({ image }) => docsSchema({ extend: z.object({ cover: image().optional(), seo: seo(image) }) })',
      before,
    );
    expect(field('cover')).toMatchObject({ type: 'image', required: false });
    expect(field('seo')?.fields).toMatchObject([{ name: 'og', type: 'image' }]);
    expect(field('title')).toMatchObject({ type: 'string', required: true });
    expect(field('template')).toMatchObject({ options: ['doc', 'splash'], default: 'doc' });
  });
});

it('alternatives are compared without the long texts they share', () => {
  const written = vi.spyOn(JSON, 'stringify');
  const long = field('string', { description: 'a'.repeat(100_000) });
  const made = unionOf([long, ...Array.from({ length: 100 }, () => ({ ...long })), long, field('date'), field('date')]);
  const lengths = written.mock.results.map(({ value }) => String(value).length);
  written.mockRestore();
  expect(made.variants).toHaveLength(102);
  expect(Math.max(...lengths)).toBeLessThan(4_096);
});
