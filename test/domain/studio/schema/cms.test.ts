import { describe, expect, it } from 'vitest';
import { pathForSlug } from '../../../../src/domain/studio/slug.ts';
import { faults, named, shape } from './discovered.ts';
import { discover } from './sites.ts';

describe('studio.config', () => {
  const yml = `
media: [{ path: assets, public_path: /a }]
locales: [en, fr]
collections:
  posts:
    label: Articles
    path: texts
    pattern: '**/*.md'
    url_pattern: /blog/{slug}
    fields:
      - { name: title, type: string, required: true, max_length: 5 }
      - { name: kind, type: enum, options: [a, b] }
      - { name: odd, type: nonsense }
      - name: seo
        type: object
        fields: [{ name: robots, type: boolean }]
  people:
    file: data/people.yml
    items_in_file: true
    schema:
      type: object
      required: [name]
      properties: { name: { type: string }, born: { type: string, format: date }, boss: { $ref: '#/properties/name' } }
`;
  it('is the first word on collections, media and languages', async () => {
    const found = await discover({
      'studio.config.yml': yml,
      'src/content.config.ts':
        "import { defineCollection } from 'astro:content'; export const collections = { posts: defineCollection({}) };",
      'texts/a.md': '',
    });
    expect(shape(found, 'posts')).toEqual({ title: 'string!', kind: 'enum', odd: 'any', seo: 'object' });
    expect(named(found, 'posts')).toMatchObject({
      label: 'Articles',
      url_pattern: '/blog/{slug}',
      source: { kind: 'studio_config', path: 'studio.config.yml', line: 6 },
    });
    expect(shape(found, 'people')).toEqual({ name: 'string!', born: 'date', boss: 'string' });
    expect(found.mediaRoots).toEqual([{ path: 'assets', public_path: '/a' }]);
    expect(found.locales?.codes).toEqual(['en', 'fr']);
    expect(found.warnings.map((one) => one.code)).toEqual(expect.arrayContaining(['field_unknown', 'described_twice']));
    expect(await faults(found, 'posts', { title: 'too long', kind: 'c' })).toEqual(['/title max_length', '/kind enum']);
  });

  it('may be code or JSON with comments', async () => {
    const code = await discover({
      'studio.config.ts':
        "const f = [{ name: 't', type: 'date' }] as const; export default { collections: { a: { path: 'a', fields: f } } };",
    });
    expect(shape(code, 'a')).toEqual({ t: 'date' });
    const json = await discover({
      'studio.config.json':
        '{ // yes\n "collections": { "a": { "path": "a", "fields": { "t": { "type": "link" }, }, }, } }',
    });
    expect(shape(json, 'a')).toEqual({ t: 'link' });
  });
});

describe('Pages CMS', () => {
  const yml = `
media: { input: public/media, output: /media }
components:
  seo: { type: object, fields: [{ name: title, type: string }, { name: again, component: seo }] }
content:
  - name: posts
    type: collection
    path: content/posts
    filename: '{primary}.mdx'
    subfolders: false
    exclude: [README.mdx]
    fields:
      - { name: title, type: string, required: true, pattern: '^[A-Z]' }
      - { name: date, type: date }
      - { name: tags, type: select, options: { multiple: true, values: [{ value: x, label: X }, y] } }
      - { name: links, type: object, list: { max: 1 }, fields: [{ name: url, type: string, required: true }] }
      - { name: seo, component: seo }
      - name: parts
        type: block
        list: true
        blocks: [{ name: quote, fields: [{ name: by, type: string }] }, { name: pic, fields: [{ name: src, type: image, required: true }] }]
      - { name: body, type: rich-text }
  - { name: hr, type: group, items: [{ name: site, type: file, path: data/site.json, fields: [{ name: name }] }, { name: log, type: file, path: log.csv, format: datagrid }] }
`;
  it('becomes fields, files and media', async () => {
    const found = await discover({ '.pages.yml': yml, 'content/posts/a.mdx': '', 'content/posts/README.mdx': '' });
    expect(shape(found, 'posts')).toEqual({
      title: 'string!',
      date: 'date',
      tags: 'enum[]',
      links: 'object[]',
      seo: 'object',
      parts: 'object[]',
    });
    const posts = named(found, 'posts');
    expect(['a.mdx', 'b/c.mdx', 'README.mdx', 'a.md'].map((rest) => posts.matches(`content/posts/${rest}`))).toEqual([
      true,
      false,
      false,
      false,
    ]);
    expect(named(found, 'site')).toMatchObject({ path: 'data', format: 'json' });
    expect(found.mediaRoots).toEqual([{ path: 'public/media', public_path: '/media' }]);
    const good = { title: 'A', date: '2024-01-01', tags: ['x'], parts: [{ _block: 'pic', src: '/a.png' }], seo: null };
    expect(await faults(found, 'posts', good)).toEqual([]);
    const bad = { title: 'a', tags: ['z'], links: [{ url: 'a' }, {}], parts: [{ _block: 'pic' }] };
    expect(await faults(found, 'posts', bad)).toEqual([
      '/title pattern',
      '/tags/0 enum',
      '/links max_items',
      '/links/1/url required',
      '/parts/0/src required',
    ]);
  });
});

describe('Tina', () => {
  it('becomes fields, templates and references', async () => {
    const found = await discover({
      'tina/config.ts': `import { defineConfig } from 'tinacms'; import { post } from './collections/post';
        export default defineConfig({ branch: process.env.B, media: { tina: { mediaRoot: 'up', publicFolder: 'public' } }, schema: { collections: [post,
          { name: 'page', path: 'content/pages', format: 'mdx', match: { include: '*' }, templates: [{ name: 'a', fields: [{ type: 'string', name: 't', required: true }] }, { name: 'b', fields: [{ type: 'number', name: 'n' }] }] },
          { name: 'author', path: 'content/authors', format: 'json', fields: [{ type: 'string', name: 'name', isTitle: true, required: true }] } ] } });`,
      'tina/collections/post.ts': `export const post = { name: 'post', label: 'Posts', path: 'content/posts', defaultItem: () => ({}), fields: [
          { type: 'string', name: 'title', label: 'Title', isTitle: true, required: true }, { type: 'datetime', name: 'date' }, { type: 'string', name: 'kind', options: ['x', { value: 'y', label: 'Y' }] },
          { type: 'reference', name: 'author', collections: ['author'] }, { type: 'image', name: 'hero' }, { type: 'string', list: true, name: 'tags' },
          { type: 'object', list: true, name: 'blocks', templates: [{ name: 'q', fields: [{ type: 'string', name: 's', required: true }] }, { name: 'w', fields: [] }] },
          { type: 'rich-text', name: 'body', isBody: true }] };`,
      'content/posts/2024/a.md': '',
    });
    expect(shape(found, 'post')).toEqual({
      title: 'string!',
      date: 'datetime',
      kind: 'enum',
      author: 'reference',
      hero: 'image',
      tags: 'string[]',
      blocks: 'object[]',
    });
    expect(named(found, 'post').source).toMatchObject({ kind: 'tina', path: 'tina/collections/post.ts', line: 1 });
    expect(shape(found, 'page')).toEqual({ _template: 'enum!', t: 'string', n: 'number' });
    expect(named(found, 'page').matches('content/pages/a/b.mdx')).toBe(false);
    expect(found.dependencies).toEqual(['tina/collections/post.ts', 'tina/config.ts']);
    expect(found.mediaRoots).toEqual([{ path: 'public/up', public_path: '/up' }]);
    expect(
      await faults(found, 'post', {
        title: 'A',
        date: '2024-01-01T00:00:00.000Z',
        blocks: [{ _template: 'q', s: 'x' }],
      }),
    ).toEqual([]);
    expect(await faults(found, 'post', { kind: 'z', blocks: [{ _template: 'q' }] })).toEqual([
      '/title required',
      '/kind enum',
      '/blocks/0/s required',
    ]);
  });
});

describe('hints of how values are edited', () => {
  it("are read of Tina's `ui`, and none of its functions is run", async () => {
    const found = await discover({
      'tina/config.ts': `export default { schema: { collections: [{ name: 'post', path: 'posts', fields: [
        { type: 'string', name: 'intro', ui: { component: 'textarea', label: 'Opening', description: 'Two sentences',
          validate: () => { throw new Error('run') } } },
        { type: 'string', name: 'tint', label: 'Tint', ui: { component: 'color' } },
        { type: 'number', name: 'order', ui: { component: 'textarea', parse: (value) => Number(value) } },
        { type: 'string', list: true, name: 'tags', ui: { min: 1, max: 3, component: 'tags' } },
        { type: 'string', name: 'plain', ui: { component: () => null } }] }] } };`,
      'posts/a.md': '',
    });
    expect(named(found, 'post').fields).toMatchObject([
      { name: 'intro', type: 'text', label: 'Opening', description: 'Two sentences' },
      { name: 'tint', type: 'string', label: 'Tint', editor: { widget: 'color' } },
      { name: 'order', type: 'number' },
      { name: 'tags', type: 'string', list: true, min_items: 1, max_items: 3 },
      { name: 'plain', type: 'string' },
    ]);
  });

  it("are read of Nuxt Content's editor", async () => {
    const found = await discover({
      'nuxt.config.ts': '',
      'content.config.ts': `import { defineCollection, defineContentConfig, property } from '@nuxt/content'; import { z } from 'zod';
        export default defineContentConfig({ collections: { posts: defineCollection({ type: 'data', source: 'posts/*.yml', schema: z.object({
          hero: property(z.string()).editor({ input: 'media' }), intro: z.string().editor({ input: 'textarea' }),
          key: property(z.number()).editor({ hidden: true }), count: property(z.number()).editor({ input: 'media' }),
          odd: property(z.string()).editor({ input: compute() }) }) }) } });`,
      'content/posts/a.yml': '',
    });
    expect(named(found, 'posts').fields).toMatchObject([
      { name: 'hero', type: 'image' },
      { name: 'intro', type: 'text' },
      { name: 'key', type: 'number', editor: { widget: 'hidden' } },
      { name: 'count', type: 'number' },
      { name: 'odd', type: 'string' },
    ]);
  });

  it("are read of Pages CMS's named media sources", async () => {
    const found = await discover({
      '.pages.yml': `
media:
  - { name: images, input: static/images, output: /images }
  - { name: papers, input: static/papers, output: /papers }
content:
  - name: posts
    type: collection
    path: posts
    fields:
      - { name: cover, type: image, options: { media: images } }
      - { name: paper, type: file, options: { media: papers, path: static/papers/new } }
      - { name: other, type: file, options: { media: none } }
      - { name: out, type: file, options: { media: papers, path: ../x } }
`,
      'posts/a.md': '',
    });
    expect(named(found, 'posts').fields.map(({ name, editor }) => [name, editor?.media_path])).toEqual([
      ['cover', 'static/images'],
      ['paper', 'static/papers/new'],
      ['other', undefined],
      ['out', 'static/papers'],
    ]);
    expect(found.mediaRoots).toEqual([
      { path: 'static/images', public_path: '/images' },
      { path: 'static/papers', public_path: '/papers' },
    ]);
  });
});

describe('Keystatic', () => {
  it('becomes fields; paths follow its wildcards', async () => {
    const found = await discover({
      'keystatic.config.tsx': `import { config, fields, collection, singleton } from '@keystatic/core';
        const seo = (label: string) => fields.object({ title: fields.text({ label }) });
        export default config({ storage: import.meta.env.DEV ? { kind: 'local' } : { kind: 'github' }, ui: { brand: { mark: () => <b>x</b> } }, collections: {
          posts: collection({ label: 'Posts', slugField: 'title', path: 'content/posts/*/', format: { contentField: 'content' }, schema: {
            title: fields.slug({ name: { label: 'Title' } }), content: fields.markdoc({ label: 'C' }), seo: seo('x'),
            day: fields.date({ label: 'D', validation: { isRequired: true } }), n: fields.integer({ label: 'N', validation: { min: 1 } }),
            kind: fields.select({ label: 'K', options: [{ label: 'A', value: 'a' }], defaultValue: 'a' }), author: fields.relationship({ label: 'A', collection: 'people' }),
            tags: fields.array(fields.text({ label: 'T' }), { label: 'Tags', validation: { length: { max: 2 } } }),
            cta: fields.conditional(fields.checkbox({ label: 'x' }), { true: fields.text({ label: 'x' }), false: fields.empty() }),
            parts: fields.blocks({ quote: { label: 'Q', schema: fields.object({ by: fields.text({ label: 'B', validation: { length: { min: 1 } } }) }) }, rule: { label: 'R', schema: fields.empty() } }, { label: 'Parts' }),
            odd: custom({}) } }),
          people: collection({ slugField: 'name', path: 'data/people/**', format: { data: 'json' }, schema: { name: fields.slug({ name: { label: 'N' } }) } }),
        }, singletons: { site: singleton({ label: 'Site', path: 'data/site', schema: { name: fields.text({ label: 'N' }) } }) } });`,
    });
    expect(shape(found, 'posts')).toEqual({
      title: 'string',
      seo: 'object',
      day: 'date!',
      n: 'integer',
      kind: 'enum',
      author: 'reference',
      tags: 'string[]',
      cta: 'object',
      parts: 'object[]',
      odd: 'any',
    });
    expect(pathForSlug(named(found, 'posts'), 'x')).toBe('content/posts/x/index.mdoc');
    expect(pathForSlug(named(found, 'people'), 'a/b')).toBe('data/people/a/b.json');
    expect(named(found, 'site').matches('data/site.yaml')).toBe(true);
    const good = {
      day: '2024-01-01',
      cta: { discriminant: true, value: 'x' },
      parts: [{ discriminant: 'quote', value: { by: 'me' } }, { discriminant: 'rule' }],
    };
    expect(await faults(found, 'posts', good)).toEqual([]);
    expect(await faults(found, 'posts', { n: 0, tags: ['a', 'b', 'c'], kind: 'z' })).toEqual([
      '/day required',
      '/n min',
      '/kind enum',
      '/tags max_items',
    ]);
  });
});

describe('Front Matter CMS', () => {
  it('becomes fields of its page folders and data files', async () => {
    const found = await discover({
      'frontmatter.json': JSON.stringify({
        'frontMatter.content.publicFolder': 'static',
        'frontMatter.content.pageFolders': [
          { title: 'Blog', path: '[[workspace]]/content/blog', contentTypes: ['post'] },
        ],
        'frontMatter.taxonomy.fieldGroups': [
          { id: 'author', fields: [{ name: 'name', type: 'string', required: true }] },
        ],
        'frontMatter.taxonomy.contentTypes': [
          {
            name: 'post',
            fields: [
              { name: 'title', type: 'string', required: true },
              { type: 'divider', name: 'd' },
              { name: 'date', type: 'datetime', default: '{{now}}' },
              { name: 'kind', type: 'choice', choices: ['a', { id: 'b', title: 'B' }] },
              { name: 'tags', type: 'tags' },
              { name: 'draft', type: 'draft' },
              { name: 'by', type: 'block', fieldGroup: ['author'] },
              { name: 'seo', type: 'fields', fields: [{ name: 'noindex', type: 'boolean' }] },
            ],
          },
          { name: 'other', fields: [] },
        ],
        'frontMatter.data.files': [
          {
            id: 'team',
            file: '[[workspace]]/data/team.json',
            schema: { type: 'object', required: ['n'], properties: { n: { type: 'string' } } },
          },
        ],
      }),
      'content/blog/a.md': '',
      'data/team.json': '[]',
    });
    expect(shape(found, 'blog')).toEqual({
      title: 'string!',
      date: 'date',
      kind: 'enum',
      tags: 'string[]',
      draft: 'boolean',
      by: 'object[]',
      seo: 'object',
    });
    expect(named(found, 'team')).toMatchObject({ items_in_file: true, source: { kind: 'front_matter_cms' } });
    expect(found.mediaRoots).toEqual([{ path: 'static', public_path: '/' }]);
    expect(await faults(found, 'blog', { title: 'A', by: [{ name: 'x' }], draft: true })).toEqual([]);
    expect(await faults(found, 'blog', { kind: 'c', by: [{}] })).toEqual([
      '/title required',
      '/kind enum',
      '/by/0/name required',
    ]);
  });
});

describe('a CMS beside a framework', () => {
  it('is used, and the same files under another name are noted', async () => {
    const found = await discover({
      'public/admin/config.yml': 'collections: [{ name: blog, folder: src/content/posts, fields: [{ name: title }] }]',
      'src/content.config.ts': `import { defineCollection, z } from 'astro:content'; import { glob } from 'astro/loaders';
        export const collections = { posts: defineCollection({ loader: glob({ pattern: '*.md', base: 'src/content/posts' }), schema: z.object({}) }) };`,
      'src/content/posts/a.md': '',
    });
    expect(found.schemas.map((one) => one.collection)).toEqual(['blog']);
    expect(found.warnings.map((one) => one.code)).toContain('described_twice');
  });
});
