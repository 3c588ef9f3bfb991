import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import {
  discoveryText,
  discoveryVersion,
  listingDigest,
} from '../../../../src/domain/studio/content/stored/schema-store.ts';
import type { Discovery } from '../../../../src/domain/studio/schema/collection-schema.ts';
import fc from '../../../support/properties.ts';
import { discover, header } from './sites.ts';

type Files = Record<string, string>;

/** One site of each reader. */
const sites: Record<string, Files> = {
  studio: {
    'studio.config.json': JSON.stringify({
      collections: {
        notes: { path: 'notes', fields: [{ name: 'title', type: 'string', required: true }] },
        home: { file: 'home.json', schema: { type: 'object', properties: { title: { type: 'string' } } } },
        docs: { path: 'docs', include: ['**/*.md', '!**/draft-*'], fields: [{ name: 'title', type: 'string' }] },
      },
    }),
    'notes/a.md': '',
    'home.json': '',
    'docs/a/b.md': '',
  },
  pages: {
    '.pages.yml': `content:
  - { name: posts, type: collection, path: posts, exclude: [skip.md], fields: [{ name: title, type: string }] }
  - { name: about, type: file, path: about.md, fields: [{ name: title, type: string }] }
`,
    'posts/a.md': '',
    'about.md': '',
  },
  decap: {
    'static/admin/config.yml': `media_folder: static/img
backend: { name: git-gateway }
collections:
  - { name: posts, folder: posts, extension: md, fields: [{ name: title, widget: string }] }
  - { name: pages, folder: pages, path: '{{slug}}/index', fields: [{ name: title, widget: string }] }
  - { name: data, files: [{ name: nav, file: data/nav.json, fields: [{ name: title, widget: string }] }] }
`,
    'posts/a.md': '',
    'pages/a/index.md': '',
    'pages/old.md': '',
    'data/nav.json': '',
  },
  tina: {
    'tina/config.ts': `export default { schema: { collections: [{ name: 'posts', path: 'posts', match: { include: '**/[a-m]*' },
      fields: [{ name: 'title', type: 'string', isTitle: true, required: true }] }] } }`,
    'posts/a.md': '',
  },
  keystatic: {
    'keystatic.config.ts': `import { config, collection, fields } from '@keystatic/core';
      export default config({ collections: { posts: collection({ path: 'posts/*', schema: { title: fields.text({ label: 'T' }) } }) } });`,
    'posts/a.yaml': '',
  },
  'front matter': {
    'frontmatter.json': JSON.stringify({
      'frontMatter.content.pageFolders': [{ title: 'Blog', path: '[[workspace]]/blog', excludePaths: ['drafts'] }],
      'frontMatter.taxonomy.contentTypes': [{ name: 'post', fields: [{ name: 'title', type: 'string' }] }],
    }),
    'blog/a.md': '',
  },
  astro: {
    'src/content.config.ts': `${header}
      const posts = defineCollection({ loader: glob({ pattern: '**/[^_]*.{md,mdx}', base: './src/content/posts' }), schema: z.object({ title: z.string() }) });
      const authors = defineCollection({ loader: file('src/data/authors.json'), schema: z.object({ name: z.string() }) });
      const notes = defineCollection({ type: 'content', schema: z.object({ title: z.string(), more: reference('posts') }) });
      export const collections = { posts, authors, notes };`,
    'src/content/posts/a.md': '',
    'src/content/posts/b/c.mdx': '',
    'src/content/notes/_part.md': '',
    'src/content/notes/n.md': '',
    'src/data/authors.json': '',
    'public/a.png': '',
  },
  nuxt: {
    'content.config.ts': `import { defineContentConfig, defineCollection } from '@nuxt/content'; import { z } from 'zod';
      export default defineContentConfig({ collections: { blog: defineCollection({ type: 'page',
        source: [{ include: 'blog/*.md' }, { include: 'news/**' }], schema: z.object({ date: z.date() }) }) } });`,
    'content/blog/a.md': '',
    'content/news/b.md': '',
  },
  hugo: {
    'hugo.toml': "title = 'H'",
    'archetypes/posts.md': '---\ntitle: "{{ .Name }}"\ndate: {{ .Date }}\ntags: []\n---\n',
    'content/posts/a.md': '{"mood": "calm"}',
    'content/_index.md': '',
  },
  jekyll: { '_config.yml': 'collections: [cats]', '_posts/2024-01-02-a.md': '', '_cats/tom.md': '', 'about.md': '' },
  docusaurus: {
    'docusaurus.config.js': `export default { presets: [['classic', {}]] }`,
    'docs/a.md': '',
    'docs/_part.mdx': '',
    'blog/b.md': '',
  },
  vitepress: { '.vitepress/config.ts': 'export default {}', 'guide/a.md': '', 'index.md': '' },
  none: { 'content/posts/a.md': '{"title": "A"}', 'content/posts/b.md': '{"title": "B"}', 'README.md': '' },
};

const textOf = ({ reads: _, ...found }: Awaited<ReturnType<typeof discover>>) => discoveryText(found);

it('a change in what is found comes with a new version', async () => {
  const found = await Promise.all(Object.values(sites).map((files) => discover(files)));
  const digest = createHash('sha256')
    .update(JSON.stringify(found.map(textOf)))
    .digest('hex')
    .slice(0, 16);
  // If the digest is another one, count `discoveryVersion` up: what was stored by the old version must not be found any more.
  expect({ discoveryVersion, digest }).toEqual({ discoveryVersion: 20, digest: 'c3796d5bda32a4b6' });
});

const scopes: Record<string, Discovery['scope']> = {
  studio: 'configuration',
  pages: 'configuration',
  decap: 'tree',
  tina: 'configuration',
  keystatic: 'configuration',
  'front matter': 'configuration',
  astro: 'configuration',
  nuxt: 'configuration',
  hugo: 'tree',
  jekyll: 'tree',
  docusaurus: 'configuration',
  vitepress: 'tree',
  none: 'tree',
};

it.each(Object.entries(scopes))('what is found in a site of %s follows from the %s', async (name, scope) => {
  expect((await discover(sites[name] ?? {})).scope).toBe(scope);
});

describe('what is found by configuration', () => {
  const declared = Object.entries(sites).filter(([name]) => scopes[name] === 'configuration');
  /** Names that mean something to a reader, put into directories that are there and into others. */
  const names = [
    ...['a.md', 'b.mdx', 'draft-x.md', 'index.md', '_part.md', 'skip.md', 'z.md', 'c.mdoc', 'data.json', 'nav.yml'],
    ...['a.png', 'page.html', 'helper.ts', 'README.md', '2024-01-02-a.md', 'hugo.toml', 'config.toml', '_config.yml'],
  ];
  const directories = (files: Files) => [
    ...new Set(Object.keys(files).map((path) => path.slice(0, Math.max(0, path.lastIndexOf('/'))))),
    ...['', 'static', 'public', 'src/assets', 'layouts', 'content', 'other/deep', 'posts/node_modules/x', 'apps/web'],
  ];

  it.each(declared)('is the same for every listing of %s with the same digest', async (_, files) => {
    const before = await discover(files);
    const entries = Object.keys(files).filter((path) => files[path] === '');
    const path = fc
      .tuple(fc.constantFrom(...directories(files)), fc.constantFrom(...names))
      .map(([directory, name]) => (directory === '' ? name : `${directory}/${name}`));
    let same = 0;
    await fc.assert(
      fc.asyncProperty(fc.subarray(entries), fc.uniqueArray(path, { maxLength: 4 }), async (removed, added) => {
        const after = { ...files };
        for (const one of removed) if (removed.length < entries.length) delete after[one];
        for (const one of added) after[one] ??= '';
        const digest = (of: Files) => listingDigest(Object.keys(of), before, undefined);
        if ((await digest(after)) !== (await digest(files))) return;
        same += 1;
        expect(textOf(await discover(after))).toBe(textOf(before));
      }),
      { numRuns: 150 },
    );
    expect(same).toBeGreaterThan(3);
  });

  it('is shared by listings that differ in entries of the same kind, and not by others', async () => {
    const files = sites.astro ?? {};
    const found = await discover(files);
    const digest = (...more: string[]) => listingDigest([...Object.keys(files), ...more], found, undefined);
    expect(await digest('src/content/posts/new.md')).toBe(await digest());
    expect(await digest('src/content/posts/new/index.md', 'public/b.png')).toBe(await digest());
    for (const path of ['static/a.png', 'docs/a.md', 'src/helper.ts', 'apps/web/astro.config.mjs']) {
      expect(await digest(path), path).not.toBe(await digest());
    }
  });
});
