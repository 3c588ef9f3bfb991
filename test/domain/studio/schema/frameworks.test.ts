import { describe, expect, it } from 'vitest';
import type { Discovery } from '../../../../src/domain/studio/schema/collection-schema.ts';
import { validateEntry } from '../../../../src/domain/studio/schema/validate.ts';
import { assignSlugs, pathForSlug } from '../../../../src/domain/studio/slug.ts';
import { discover } from './sites.ts';

const named = (found: Discovery, name: string) => {
  const schema = found.schemas.find((one) => one.collection === name);
  if (!schema) throw new Error(`no ${name} in ${found.schemas.map((one) => one.collection)}`);
  return schema;
};
const field = (found: Discovery, name: string, key: string) =>
  named(found, name).fields.find((one) => one.name === key);
const check = async (found: Discovery, name: string, entry: object) => {
  const { errors, warnings } = await validateEntry(named(found, name), entry);
  return [...errors, ...warnings].map((one) => `${one.field} ${one.code}`);
};

describe('Nuxt Content', () => {
  const config = (
    collections: string,
  ) => `import { defineContentConfig, defineCollection, property } from '@nuxt/content'; import { z } from 'zod';
    export default defineContentConfig({ collections: {${collections}} });`;
  it('reads collections, sources and page fields', async () => {
    const found = await discover({
      'nuxt.config.ts': 'export default defineNuxtConfig({})',
      'content.config.ts': config(`
        blog: defineCollection({ type: 'page', source: { include: 'blog/**/*.md', exclude: ['blog/draft-*'] }, schema: z.object({ date: z.date(), hero: property(z.string()).editor({ input: 'media' }).optional() }) }),
        authors: defineCollection({ type: 'data', source: 'authors/*.yml', schema: z.object({ name: z.string() }) }),
        remote: defineCollection({ type: 'data', source: { repository: 'https://git.example/x', include: '**' } })`),
      'content/blog/1.a.md': '',
      'content/blog/draft-b.md': '',
      'content/authors/ann.yml': '',
    });
    expect(found.schemas.filter((one) => one.source.kind === 'nuxt').map((one) => one.collection)).toEqual([
      'authors',
      'blog',
    ]);
    expect(named(found, 'blog')).toMatchObject({ path: 'content/blog', identifier_field: 'title', inferred: false });
    expect(named(found, 'blog').matches('content/blog/draft-b.md')).toBe(false);
    expect(field(found, 'blog', 'hero')?.type).not.toBe('any');
    expect(await check(found, 'blog', { date: '2024-01-01', navigation: { title: 'x' } })).toEqual([]);
    expect(await check(found, 'blog', { title: 1 })).toEqual(['/title type', '/date required']);
    expect(await check(found, 'authors', {})).toEqual(['/name required']);
    expect(found.warnings.map((one) => one.collection)).toContain('remote');
  });
});

describe('Hugo', () => {
  const files = {
    'hugo.toml':
      "defaultContentLanguage = 'en'\n[taxonomies]\ntag = 'tags'\nseries = 'series'\n[languages.en]\nweight = 1\n[languages.fr]\nweight = 2\n[[cascade]]\n[cascade.params]\ntheme = 'dark'\n",
    'archetypes/default.md': '---\ntitle: "{{ .Title }}"\n---\n',
    'archetypes/posts.md':
      '---\ntitle: \'{{ replace .File.ContentBaseName "-" " " | title }}\'\ndate: {{ .Date }}\ndraft: true\nmood: calm\nlinks: []\n---\nBody {{ .X }}\n',
    'content/_index.md': '',
    'content/posts/_index.md': '---\ncascade:\n  - type: article\n  - banner: x\n    target: { kind: page }\n---\n',
    'content/posts/a.fr.md': '',
    'content/posts/b/index.md': '',
    'content/posts/b/pic.png': '',
  };
  it('reads archetypes without running them, cascades, taxonomies and languages', async () => {
    const found = await discover(files);
    expect(found.schemas.map((one) => one.collection)).toEqual(['pages', 'posts']);
    expect(field(found, 'posts', 'mood')).toMatchObject({ type: 'string', default: 'calm', required: false });
    expect(field(found, 'posts', 'draft')).toMatchObject({ type: 'boolean', default: true });
    expect(field(found, 'posts', 'date')).toMatchObject({ type: 'date', required: false });
    expect(field(found, 'posts', 'date')?.default).toBeUndefined();
    expect(field(found, 'posts', 'type')?.default).toBe('article');
    expect(field(found, 'posts', 'theme')?.default).toBe('dark');
    expect(field(found, 'posts', 'banner')).toBeUndefined();
    expect(field(found, 'posts', 'series')).toMatchObject({ type: 'string', list: true });
    expect(field(found, 'posts', 'categories')).toBeUndefined();
    expect(found.locales).toMatchObject({ codes: ['en', 'fr'], default: 'en', placement: 'suffix' });
    expect(found.dependencies).toEqual([
      'archetypes/default.md',
      'archetypes/posts.md',
      'content/_index.md',
      'content/posts/_index.md',
      'hugo.toml',
    ]);
  });

  it('writes new pages in the language of the archetype', async () => {
    const archetype = "+++\ntitle = '{{ .Title }}'\n+++\n";
    const found = await discover({ ...files, 'archetypes/posts.md': archetype });
    expect([named(found, 'posts').format, named(found, 'pages').format]).toEqual(['toml', 'yaml']);
  });

  it('folds bundles and section pages', async () => {
    const posts = named(await discover(files), 'posts');
    const { entries } = assignSlugs(posts, [
      'content/posts/_index.md',
      'content/posts/a.fr.md',
      'content/posts/b/index.md',
    ]);
    expect(entries.map((one) => [one.slug, one.locale])).toEqual([
      ['index', 'en'],
      ['a.fr', 'fr'],
      ['b', 'en'],
    ]);
    expect(pathForSlug(posts, 'c')).toBe('content/posts/c.md');
  });

  it('only warns, and accepts what Hugo accepts', async () => {
    const found = await discover(files);
    expect(
      await check(found, 'posts', { title: 'A', date: '2024-01-01T10:00:00+02:00', tags: 'one', weight: 3, own: {} }),
    ).toEqual([]);
    expect((await validateEntry(named(found, 'posts'), { draft: 'x' })).errors).toEqual([]);
  });

  it('finds the sections of mounted directories, wherever they lie', async () => {
    const mount = (source: string, target: string) => `[[module.mounts]]\nsource = '${source}'\ntarget = '${target}'\n`;
    const found = await discover({
      'hugo.toml': mount('pages', 'content') + mount('guide/text', 'content/handbook') + mount('i18n', 'i18n'),
      'pages/posts/a.md': '',
      'guide/text/b.md': '',
      'guide/text/deep/c.md': '',
    });
    expect(found.schemas.map((one) => [one.collection, one.path, one.source.kind])).toEqual([
      ['handbook', 'guide/text', 'hugo'],
      ['posts', 'pages/posts', 'hugo'],
    ]);
    expect(named(found, 'handbook').matches('guide/text/deep/c.md')).toBe(true);
  });

  it('keeps the languages of separate directories apart', async () => {
    const found = await discover({
      'config/_default/config.yaml': 'defaultContentLanguage: en',
      'config/_default/languages.yaml': 'fr: { contentDir: content/fr }\nen: { contentDir: content/en }',
      'content/en/posts/a.md': '',
      'content/fr/posts/a.md': '',
    });
    expect(found.schemas.map((one) => [one.collection, one.path])).toEqual([
      ['posts', 'content/en/posts'],
      ['posts.fr', 'content/fr/posts'],
    ]);
  });
});

describe('Jekyll', () => {
  const files = {
    '_config.yml': `collections: { recipes: { output: true }, staff: }
defaults:
  - { scope: { path: '', type: posts }, values: { layout: post, comments: true } }
  - { scope: { path: '' }, values: { layout: base } }
  - { scope: { path: other }, values: { layout: no } }`,
    '_posts/2024-01-02-hello.md': '{"title":"A","mood":"ok"}',
    '_drafts/idea.md': '{}',
    '_recipes/soup.md': '{"title":"S","servings":2}',
    '_data/menu.yml': '',
    '_includes/note.md': '',
    'about.md': '{"layout":"page"}',
  };
  it('reads collections, posts, drafts, data and defaults', async () => {
    const found = await discover(files);
    expect(found.schemas.map((one) => one.collection)).toEqual([
      'data',
      'drafts',
      'includes',
      'pages',
      'posts',
      'recipes',
      'staff',
    ]);
    expect(field(found, 'posts', 'layout')?.default).toBe('base');
    expect(field(found, 'posts', 'comments')?.default).toBe(true);
    expect(field(found, 'recipes', 'layout')?.default).toBe('base');
    expect(field(found, 'recipes', 'servings')?.type).toBe('integer');
    expect(field(found, 'posts', 'mood')?.type).toBe('string');
    expect(named(found, 'data').matches('_data/menu.yml')).toBe(true);
    expect(named(found, 'includes').matches('_includes/note.md')).toBe(true);
    expect(
      await check(found, 'posts', { title: 'A', tags: 'a b', categories: ['x'], date: '2024-01-01 10:00:00 +0100' }),
    ).toEqual([]);
  });

  it('takes only dated names for posts', async () => {
    const posts = named(await discover(files), 'posts');
    expect(pathForSlug(posts, '2024-05-06-new')).toBe('_posts/2024-05-06-new.md');
    expect(() => pathForSlug(posts, 'new')).toThrow('no place');
  });

  it('begins posts in the directory of posts, also where directories of categories have some', async () => {
    for (const more of [{}, { 'blog/_posts/2024-01-03-b.md': '{}' }]) {
      const posts = named(await discover({ ...files, ...more }), 'posts');
      const slug = posts.template?.slug?.replace(/\{\{year.*slug\}\}/, '2024-05-06-new') ?? '';
      expect(pathForSlug(posts, slug)).toBe('_posts/2024-05-06-new.md');
    }
  });

  it('is not Hexo', async () => {
    const found = await discover({ '_config.yml': 'title: x', 'scaffolds/post.md': '', 'source/_posts/a.md': '' });
    expect(found.schemas.map((one) => one.source.kind)).toEqual(['hexo']);
  });
});

describe('Hexo', () => {
  const files = {
    '_config.yml': 'new_post_name: :year-:month-:day-:title.md\nlanguage: [en, de]\npost_asset_folder: true\n',
    'scaffolds/post.md': '',
    'source/_posts/a.md': '',
    'source/_posts/a/b.png': '',
    'source/_drafts/b.md': '',
    'source/_data/menu.yml': '',
    'source/de/about/index.md': '',
    'source/_parts/c.md': '',
    'public/index.html': '',
  };

  it('has posts, drafts, data and pages', async () => {
    const found = await discover(files);
    expect(found.schemas.map((one) => [one.collection, one.path])).toEqual([
      ['data', 'source/_data'],
      ['drafts', 'source/_drafts'],
      ['pages', 'source'],
      ['partials', 'source'],
      ['posts', 'source/_posts'],
    ]);
    expect(named(found, 'partials').matches('source/_parts/c.md')).toBe(true);
    expect(found.locales).toMatchObject({ codes: ['en', 'de'], default: 'en', default_unmarked: true });
    expect(named(found, 'posts').asset_folders).toBe(true);
    expect(named(found, 'posts').template).toEqual({ slug: '{{year}}-{{month}}-{{day}}-{{slug}}' });
    expect(await check(found, 'posts', { title: 'A', date: '2024-01-02 03:04:05', categories: [['a', 'b']] })).toEqual(
      [],
    );
  });

  it('serves files from its source directory and from the asset folders of posts', async () => {
    const { mediaRoots } = await discover(files);
    expect(mediaRoots).toEqual([
      { path: 'source', public_path: '/' },
      { path: 'source/_posts', public_path: null },
    ]);
  });
});

describe('Docusaurus', () => {
  it('recognises the fields of docs, blog and pages', async () => {
    const found = await discover({
      'docusaurus.config.js': `const config = { presets: [['classic', { docs: { path: 'guide', sidebarPath: require.resolve('./s.js') }, blog: { path: 'news' } }]],
        plugins: [['@docusaurus/plugin-content-docs', { id: 'api', path: 'api' }]], themeConfig: ({}) }; module.exports = config;`,
      'guide/intro.md': '',
      'guide/_part.md': '',
      'news/2024-01-01-a.mdx': '',
      'api/x.md': '',
      'src/pages/about.md': '',
      'versioned_docs/version-1/intro.md': '',
    });
    expect(found.schemas.map((one) => [one.collection, one.path])).toEqual([
      ['api', 'api'],
      ['blog', 'news'],
      ['docs', 'guide'],
      ['docs-partials', 'guide'],
      ['pages', 'src/pages'],
      ['versioned_docs', 'versioned_docs'],
    ]);
    expect(named(found, 'docs').matches('guide/_part.md')).toBe(false);
    expect(
      await check(found, 'docs', {
        sidebar_position: 1.5,
        tags: ['a', { label: 'B', permalink: '/b' }],
        pagination_next: null,
        custom: 1,
      }),
    ).toEqual([]);
    expect(await check(found, 'docs', { sidebar_position: 'first' })).toEqual(['/sidebar_position type']);
    expect(await check(found, 'blog', { authors: ['ann'], date: '2024-01-01' })).toEqual([]);
  });
});

describe('VitePress and Eleventy', () => {
  it('warns of each passthrough copy that is computed, with its line', async () => {
    const text =
      'export default (c) => {\n  c.addPassthroughCopy(a + b);\n  c.addPassthroughCopy({ [x]: "y", img: "/i" });\n}';
    const found = await discover({ 'eleventy.config.js': text, 'img/a.png': '', 'posts/a.md': '' });
    const own = found.warnings.filter(({ message }) => message.startsWith('addPassthroughCopy'));
    expect(own.map(({ path, line }) => [path, line])).toEqual([
      ['eleventy.config.js', 2],
      ['eleventy.config.js', 3],
    ]);
    expect(found.mediaRoots).toContainEqual({ path: 'img', public_path: '/i' });
  });

  it('give every group of pages their fields', async () => {
    const vitepress = await discover({
      'docs/.vitepress/config.mts':
        "import { defineConfig } from 'vitepress'; export default defineConfig({ locales: { root: { label: 'English', lang: 'en' }, fr: { label: 'Français' } } });",
      'docs/guide/a.md': '{"outline":"deep","own":1}',
      'docs/index.md': '{"layout":"home"}',
    });
    expect(named(vitepress, 'guide').source).toEqual({ kind: 'vitepress', path: 'docs/.vitepress/config.mts' });
    expect(field(vitepress, 'guide', 'own')?.type).toBe('integer');
    expect(vitepress.locales).toMatchObject({ codes: ['en', 'fr'], default: 'en', default_unmarked: true });
    const page = {
      layout: 'home',
      hero: { name: 'x', actions: [{ theme: 'brand', text: 'Go', link: '/' }] },
      features: [{ title: 'a', icon: { src: '/a' } }],
      prev: false,
      outline: [2, 3],
    };
    expect(await check(vitepress, 'guide', page)).toEqual([]);
    const eleventy = await discover({
      '.eleventy.js': 'module.exports = (c) => { process.exit(1) }',
      'posts/a.md': '{"tags":"post"}',
    });
    expect(named(eleventy, 'posts').source.kind).toBe('eleventy');
    expect(
      await check(eleventy, 'posts', {
        tags: 'post',
        permalink: false,
        date: 'Last Modified',
        eleventyNavigation: { key: 'a' },
      }),
    ).toEqual(['/date date']);
  });
});

describe('aliases', () => {
  it('of tsconfig lead to files of the repository', async () => {
    const found = await discover({
      'tsconfig.json':
        '{ "extends": "astro/tsconfigs/strict", // base\n "compilerOptions": { "baseUrl": ".", "paths": { "@/*": ["src/*"], "kinds": ["./src/kinds.ts"] }, } }',
      'src/content.config.ts': `import { defineCollection, z } from 'astro:content'; import { title } from '@/lib/title'; import { KINDS } from 'kinds'; import x from '@/../../etc/passwd';
        export const collections = { posts: defineCollection({ schema: z.object({ title, kind: z.enum(KINDS) }) }) };`,
      'src/lib/title.ts': "import { z } from 'zod'; export const title = z.string().max(3);",
      'src/kinds.ts': "export const KINDS = ['a'] as const;",
      'src/content/posts/a.md': '',
    });
    expect(field(found, 'posts', 'title')).toMatchObject({ type: 'string', max_length: 3 });
    expect(field(found, 'posts', 'kind')?.options).toEqual(['a']);
    expect(found.dependencies).toEqual(['src/content.config.ts', 'src/kinds.ts', 'src/lib/title.ts', 'tsconfig.json']);
  });
});

describe('directories beside the content', () => {
  it('are no collections when they hold tests, scripts and themes', async () => {
    const found = await discover({
      'hugo.toml': '',
      'content/posts/a.md': '',
      'content/tests/b.md': '',
      'themes/plain/README.md': '',
      'tests/fixtures/c.md': '',
      'scripts/notes.md': '',
      'lib/__fixtures__/d.md': '',
    });
    expect(found.schemas.map((one) => one.path)).toEqual(['content/posts', 'content/tests']);
    const plain = await discover({ 'tests/a.md': '', 'themes/b.md': '' });
    expect(plain.schemas.map((one) => one.path)).toEqual(['tests', 'themes']);
  });

  it.each([
    [
      'hugo.toml',
      '',
      'public/a.png',
      [
        ['static', '/'],
        ['assets', null],
      ],
    ],
    [
      'hugo.toml',
      '',
      'content/posts/a/index.md',
      [
        ['static', '/'],
        ['assets', null],
        ['content/posts', null],
      ],
    ],
    ['gatsby-config.js', '', 'public/a.png', [['static', '/']]],
    [
      '_config.yml',
      '',
      'source/_posts/a.md',
      [
        ['source', '/'],
        ['source/_posts', null],
      ],
    ],
    ['mkdocs.yml', 'docs_dir: text', 'text/img/a.png', [['text', '/']]],
    ['mkdocs.yml', '', 'docs/a.md', [['docs', '/']]],
    ['_config.yml', '', '_posts/2024-01-02-a.md', [['assets', '/assets']]],
    [
      '.vitepress/config.mts',
      "export default { srcDir: 'pages' }",
      'pages/guide/a.md',
      [
        ['pages/public', '/'],
        ['pages', null],
      ],
    ],
    [
      'astro.config.mjs',
      '',
      'public/a.png',
      [
        ['public', '/'],
        ['src/assets', null],
      ],
    ],
    [
      'astro.config.mjs',
      '',
      'src/content/posts/a.md',
      [
        ['public', '/'],
        ['src/assets', null],
        ['src/content/posts', null],
      ],
    ],
    [
      '.eleventy.js',
      'module.exports = (c) => { c.addPassthroughCopy("img"); c.addPassthroughCopy({ "img": "/x", "later": "y", "a.ico": "/" }); c.addPassthroughCopy("node_modules/p"); c.addPassthroughCopy(a + b) }',
      'img/a.png',
      [
        ['img', '/x'],
        ['later', '/y'],
      ],
    ],
    [
      'eleventy.config.js',
      'export default (c) => { c.addPassthroughCopy("posts/**/*.png"); c.addPassthroughCopy(`img`) }',
      'posts/a/b.md',
      [
        ['posts', null],
        ['img', '/img'],
      ],
    ],
    [
      'eleventy.config.js',
      'export default (c) => { c.addPlugin(eleventyImageTransformPlugin) }',
      'posts/a/b.md',
      [['posts', null]],
    ],
    // What is not named is not copied, whatever it is called.
    ['eleventy.config.js', 'export default () => {}', 'public/a.png', []],
    ['eleventy.config.js', 'export default (c) => { c.addPassthroughCopy("robots.txt") }', 'posts/a.md', []],
    ['eleventy.config.js', 'export default (c) => { c.addPassthroughCopy(a + b) }', 'img/a.png', [['img', '/img']]],
    ['eleventy.config.js', 'export default (c) => { not code', 'img/a.png', [['img', '/img']]],
    ['eleventy.config.js', 'export const config = { templateFormats: ["md", "png"] }', 'posts/a.md', [['posts', null]]],
  ])(
    'are media where the framework takes them from or beside entries, never what it writes: %s, %s, %s',
    async (config, text, file, roots) => {
      const found = await discover({ [config]: text, [file]: '' });
      expect(found.mediaRoots.map((one) => [one.path, one.public_path])).toEqual(roots);
    },
  );

  it('are media in the directory of MkDocs that an inherited configuration names', async () => {
    const found = await discover({ 'mkdocs.yml': 'INHERIT: base.yml', 'base.yml': 'docs_dir: text', 'text/a.md': '' });
    expect(found.mediaRoots).toEqual([{ path: 'text', public_path: '/' }]);
    expect(found.dependencies).toContain('base.yml');
  });
});
