import { describe, expect, it } from 'vitest';
import { discover, foldSchema, header } from './sites.ts';

const marker = 'globalThis.__executed = true';
const executed = () => (globalThis as Record<string, unknown>).__executed;

describe('configurations that want to be run', () => {
  const pieces: [string, string][] = [
    ['a call', `const x = (() => { ${marker}; return z.string(); })();`],
    ['exit', 'const x = process.exit(1);'],
    ['eval', `const x = eval('${marker}');`],
    ['Function', `const x = new Function('${marker}')();`],
    ['an endless loop', 'while (true) {} const x = z.string;'],
    ['an endless function', 'function f() { for (;;) {} } const x = f();'],
    ['recursion', 'const f = () => f(); const x = f();'],
    ['wide recursion', 'const f = () => [f(), f()]; const x = f();'],
    ['a getter', `const o = { get x() { ${marker}; return z.string(); } }; const x = o.x;`],
    ['a circle', 'const x = y; const y = x;'],
    ['import()', "const x = await import('node:fs');"],
    ['the prototype', `const o = {}; const x = o.constructor.constructor('${marker}')();`],
    ['a tagged template', 'const x = String.raw`a`;'],
    [
      'growth',
      `const a0 = [1,2]; ${Array.from({ length: 40 }, (_, at) => `const a${at + 1} = [...a${at}, ...a${at}];`).join('')} const x = z.enum(a40);`,
    ],
    [
      'sharing',
      `const a0 = [1,2]; ${Array.from({ length: 40 }, (_, at) => `const a${at + 1} = [a${at}, a${at}];`).join('')} const x = z.enum(a40);`,
    ],
    [
      'long text',
      `const a0 = 'aaaaaaaa'; ${Array.from({ length: 40 }, (_, at) => `const a${at + 1} = a${at} + a${at};`).join('')} const x = z.literal(a40);`,
    ],
    [
      'shared schemas',
      `const a0 = z.object({k: z.string()}); ${Array.from({ length: 40 }, (_, at) => `const a${at + 1} = z.object({l: a${at}, r: a${at}});`).join('')} const x = a40;`,
    ],
  ];
  it.each(pieces)('%s is not run', async (_name, before) => {
    const { field, warnings } = await foldSchema('z.object({ title: z.string(), bad: x })', before);
    expect(executed()).toBeUndefined();
    expect(field('title')?.type).toBe('string');
    expect(warnings.length).toBeGreaterThan(0);
    expect(warnings.every((one) => one.path === 'src/content.config.ts' && (one.line ?? 0) > 0)).toBe(true);
  });

  it('changes after the definition make a constant unknown', async () => {
    const before =
      "const kinds = ['a']; kinds.push('b'); const o = { k: z.string() }; if (kinds.length) o.k = z.number();";
    const { field } = await foldSchema('z.object({ kind: z.enum(kinds), ...o })', before);
    expect(field('kind')?.type).toBe('any');
    expect(field('k')?.type).toBe('any');
  });

  it('keys that statements give an object after its definition are its own, and leave the others known', async () => {
    const before =
      "const o = { k: z.string(), l: z.string() }; o.k = z.number(); o['m'] = z.boolean(); for (const l of []) o.l = l;";
    const { field } = await foldSchema('z.object({ ...o })', before);
    expect(['k', 'l', 'm'].map((name) => field(name)?.type)).toEqual(['number', 'any', 'boolean']);
  });

  it('objects that are changed as a whole are unknown', async () => {
    const before = "const o = { k: z.string() }; o.k = z.number(); Object.assign(o, load()); const q = 'k'; o[q] = 1;";
    const { field } = await foldSchema('z.object({ ...o })', before);
    expect(field('k')).toBeUndefined();
  });

  it('keys of Object.prototype are names like any other', async () => {
    const { posts } = await foldSchema(
      'z.object({ constructor: z.string(), "__proto__": z.number(), hasOwnProperty: z.constructor() })',
    );
    expect(posts.fields.map((one) => [one.name, one.type])).toEqual([
      ['constructor', 'string'],
      ['__proto__', 'number'],
      ['hasOwnProperty', 'any'],
    ]);
  });
});

describe('configurations that cannot be read', () => {
  const texts: [string, string][] = [
    ['deep nesting', `export const collections = ${'['.repeat(100_000)}`],
    [
      'deep calls',
      `${header}export const collections = { posts: defineCollection({ schema: z.object({})${'.strict()'.repeat(5_000)} }) }`,
    ],
    ['a megabyte of junk', '\u0001(]'.repeat(350_000)],
    ['a syntax error', 'export const collections = {'],
    ['nothing', ''],
    ['no collections', 'export default 1'],
    ['a computed object', 'export const collections = make()'],
  ];
  it.each(texts)('%s: the schema is inferred from the entries', async (_name, text) => {
    const found = await discover({ 'src/content.config.ts': text, 'src/content/posts/a.md': '{"title":"A"}' });
    expect(found.warnings.length).toBeGreaterThan(0);
    const posts = found.schemas.find((one) => one.collection === 'posts');
    expect(posts).toMatchObject({ inferred: true, fields: [{ name: 'title', type: 'string' }] });
    expect(posts?.matches('src/content/posts/a.md')).toBe(true);
  });
});
