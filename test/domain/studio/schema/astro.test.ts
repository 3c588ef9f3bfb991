import { describe, expect, it } from 'vitest';
import { discover, foldSchema, header } from './sites.ts';

const config = (collections: string, before = '') => `${header}${before}\nexport const collections = {${collections}};`;
const schema = 'schema: z.object({ title: z.string() })';

describe('files of a collection', () => {
  it('follow glob patterns, negated ones too, and leave the rest out', async () => {
    const found = await discover({
      'src/content.config.ts': config(
        `blog: defineCollection({ loader: glob({ pattern: ['**/[^_]*.{md,mdx}', '!**/draft-*'], base: \`./src/\${dir}\` }), ${schema} })`,
        "const dir = 'blog' as const;",
      ),
      'src/blog/a.md': '',
      'src/blog/2024/b.mdx': '',
      'src/blog/_c.md': '',
      'src/blog/draft-d.md': '',
      'src/blog/pic.png': '',
    });
    expect(found.schemas.map((one) => one.collection)).toEqual(['blog']);
    const [blog] = found.schemas;
    expect(
      ['src/blog/a.md', 'src/blog/2024/b.mdx', 'src/blog/_c.md', 'src/blog/draft-d.md', 'src/blog/pic.png'].map(
        (path) => blog?.matches(path),
      ),
    ).toEqual([true, true, false, false, false]);
    expect(blog).toMatchObject({
      path: 'src/blog',
      source: { kind: 'astro', path: 'src/content.config.ts', line: 4 },
      inferred: false,
    });
  });

  it('are those of src/content without a loader, by type', async () => {
    const found = await discover({
      'src/content/config.ts': config(
        `blog: defineCollection({ type: 'content', ${schema} }), tags: defineCollection({ type: 'data', ${schema} })`,
      ),
      'src/content/blog/a.md': '',
      'src/content/tags/x.json': '{}',
      'src/content/extra/y.md': '',
    });
    expect(found.schemas.map((one) => [one.collection, one.source.kind, one.format])).toEqual([
      ['blog', 'astro', 'yaml'],
      ['extra', 'inference', 'yaml'],
      ['tags', 'astro', 'json'],
    ]);
  });

  it('belong to the first of two collections that share them', async () => {
    const found = await discover({
      'src/content.config.ts': config(
        `b: defineCollection({ loader: glob({ pattern: '**/*.md', base: 'posts' }), ${schema} }), a: defineCollection({ loader: glob({ pattern: 'x.md', base: 'posts' }), ${schema} })`,
      ),
      'posts/x.md': '',
    });
    expect(found.schemas.filter((one) => one.matches('posts/x.md')).map((one) => one.collection)).toEqual(['b']);
    expect(found.warnings.map((one) => one.code)).toContain('overlap');
  });

  it('may be one file of many items', async () => {
    const found = await discover({
      'src/content.config.ts': config(`dogs: defineCollection({ loader: file('src/data/dogs.json'), ${schema} })`),
      'src/data/dogs.json': '{}',
    });
    expect(found.schemas[0]).toMatchObject({ path: 'src/data', items_in_file: true, extensions: ['json'] });
    expect(found.schemas[0]?.matches('src/data/dogs.json')).toBe(true);
  });
});

describe('imports', () => {
  it('are followed inside the repository, also through .js names and re-exports', async () => {
    const { field, dependencies } = await foldSchema(
      'z.object({ kind: z.enum(KINDS), ...shared })',
      "import { KINDS } from './lib/index.js'; import shared from './shared';",
      {
        'src/lib/index.ts': "export * from './kinds';",
        'src/lib/kinds.ts': "export const KINDS = ['a', 'b'] as const;",
        'src/shared.mjs': "import { z } from 'astro/zod'; export default { extra: z.string() };",
      },
    );
    expect(field('kind')?.options).toEqual(['a', 'b']);
    expect(field('extra')?.type).toBe('string');
    expect(dependencies).toEqual(['src/content.config.ts', 'src/lib/index.ts', 'src/lib/kinds.ts', 'src/shared.mjs']);
  });

  it('that form a circle end', async () => {
    const { field } = await foldSchema('z.object({ a: A, b: z.string() })', "import { A } from './one';", {
      'src/one.ts': "import { B } from './two'; export const A = B; export * from './two';",
      'src/two.ts': "import { A } from './one'; export const B = A; export * from './one';",
    });
    expect(field('a')?.type).toBe('any');
    expect(field('b')?.type).toBe('string');
  });

  it('never leave the repository', async () => {
    const { field, reads, warnings } = await foldSchema(
      'z.object({ a: x })',
      "import x from '../../../../etc/passwd'; import y from '/etc/hosts';",
    );
    expect(field('a')?.type).toBe('any');
    expect(reads).toEqual(['src/content.config.ts']);
    expect(warnings.map((one) => one.code)).toEqual(['import_not_found', 'schema_unknown']);
  });

  it('are bounded in number', async () => {
    const files = Object.fromEntries(Array.from({ length: 80 }, (_, at) => [`src/m${at}.ts`, 'export const x = 1;']));
    const before = Array.from({ length: 80 }, (_, at) => `import { x as x${at} } from './m${at}';`).join('\n');
    const { dependencies, warnings } = await foldSchema('z.object({ a: z.string() })', before, files);
    expect(dependencies).toHaveLength(50);
    expect(warnings.map((one) => one.code)).toEqual(['too_many_imports']);
  });
});

describe('languages', () => {
  it('come from Starlight, then from Astro', async () => {
    const starlight = await discover({
      'astro.config.mjs':
        "import s from '@astrojs/starlight'; const locales = { root: { lang: 'en' }, fr: {} }; export default { site: process.env.X, integrations: [other(), s({ locales })] };",
    });
    expect(starlight.locales).toEqual({
      codes: ['en', 'fr'],
      default: 'en',
      placement: 'directory',
      default_unmarked: true,
    });
    const astro = await discover({
      'astro.config.mjs':
        "import { defineConfig } from 'astro/config'; export default defineConfig({ i18n: { locales: ['es', { path: 'pt', codes: ['pt-BR'] }], defaultLocale: 'es' } });",
    });
    expect(astro.locales).toMatchObject({ codes: ['es', 'pt'], default: 'es', default_unmarked: false });
  });
});
