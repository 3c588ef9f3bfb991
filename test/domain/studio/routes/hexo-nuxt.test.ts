import { describe, expect, it } from 'vitest';
import { packageWith, page, predict } from './predict.ts';

/** Collections with prefixes, exclusions and directories of their own; numbers, indexes, versions, drafts and odd names; data. */
const nuxtSite: Record<string, string> = {
  'package.json': '{"dependencies":{"nuxt":"3.21.11","@nuxt/content":"3.16.1"}}',
  'nuxt.config.ts': `export default defineNuxtConfig({
  modules: ['@nuxt/content'],
  content: { experimental: { sqliteConnector: 'native' } },
});
`,
  'content.config.ts': `import { defineCollection, defineContentConfig } from '@nuxt/content';
export default defineContentConfig({
  collections: {
    docs: defineCollection({ type: 'page', source: { include: 'docs/**/*.md', exclude: ['docs/left/**'], prefix: '/manual' } }),
    blog: defineCollection({ type: 'page', source: 'blog/*.md' }),
    parts: defineCollection({ type: 'page', source: 'one/part-*.md' }),
    root: defineCollection({ type: 'page', source: [{ include: '*.md' }, { include: '**/*.md', cwd: 'more', prefix: '/' }] }),
    people: defineCollection({ type: 'data', source: 'people/*.yml' }),
  },
});
`,
  'pages/[...slug].vue': '<template><div /></template>',
  'content/index.md': page(),
  'content/1.about.md': page(),
  'content/2024.md': page(),
  'content/own.md': page('path: /moved/here'),
  'content/A & B (c).md': page(),
  'content/docs/index.md': page(),
  'content/docs/1.start/index.md': page(),
  'content/docs/1.start/02.First Steps.md': page(),
  'content/docs/1.start/03.draft.draft.md': page(),
  'content/docs/v1.2/a.md': page(),
  'content/docs/1.2/b.c.md': page(),
  'content/docs/left/a.md': page(),
  'content/docs/_part.md': page(),
  'content/blog/2024-01-02-post.md': page(),
  'content/blog/-dash--es-.md': page(),
  'content/blog/deep/er.md': page(),
  'content/one/part-a.md': page(),
  'content/one/other.md': page(),
  'content/people/ann.yml': 'name: Ann\n',
  'more/2.extra/index.md': page(),
  'more/2.extra/3.page.md': page(),
};

describe('Nuxt Content', () => {
  it('publishes collections of pages by prefix, number, index and slug, as version 3.16.1 does', async () => {
    const { routes, urls } = await predict(nuxtSite);
    expect(routes.detected.framework?.id).toBe('nuxt_content');
    expect(urls).toEqual({
      'content/index.md': '/',
      'content/1.about.md': '/about',
      'content/2024.md': '/2024',
      'content/own.md': '/moved/here',
      'content/A & B (c).md': '/a-and-b-(c)',
      'content/docs/index.md': '/manual',
      'content/docs/1.start/index.md': '/manual/start',
      'content/docs/1.start/02.First Steps.md': '/manual/start/first-steps',
      'content/docs/1.start/03.draft.draft.md': '/manual/start/draft',
      'content/docs/v1.2/a.md': '/manual/v1.2/a',
      'content/docs/1.2/b.c.md': '/manual/1.2/b.c',
      'content/docs/_part.md': '/manual/_part',
      'content/blog/2024-01-02-post.md': '/blog/2024-01-02-post',
      'content/blog/-dash--es-.md': '/blog/dash-es',
      'more/2.extra/index.md': '/extra',
      'more/2.extra/3.page.md': '/extra/page',
    });
    // Files of a name that is only begun before the star are not found by it.
    expect(routes.warnings.map(({ message, path }) => [message, path])).toEqual([
      ['"collections.parts" cannot be determined: it is not understood', 'content.config.ts'],
    ]);
  });

  it('has addresses only where a page of the site answers', async () => {
    const files = {
      'package.json': packageWith('nuxt', '@nuxt/content'),
      'nuxt.config.ts': 'export default {};',
      'app/pages/index.vue': '',
      'app/pages/blog/[slug].vue': '',
      'content/index.md': page(),
      'content/blog/a.md': page(),
      'content/blog/deep/er.md': page(),
      'content/other.md': page(),
      'content/Ünicode.md': page(),
    };
    expect((await predict(files)).urls).toEqual({ 'content/index.md': '/', 'content/blog/a.md': '/blog/a' });
  });

  it('2 publishes neither drafts nor parts of pages', async () => {
    const { urls } = await predict({
      'package.json': '{"dependencies":{"nuxt":"^3.0.0","@nuxt/content":"^2.13.0"}}',
      'nuxt.config.ts': 'export default {};',
      'content/1.a.md': page(),
      'content/b.draft.md': page(),
      'content/_parts/c.md': page(),
      'content/d.md': page('_draft: true'),
    });
    expect(urls).toEqual({ 'content/1.a.md': '/a' });
  });

  it.each([
    [
      'nuxt.config.ts',
      'export default { content: { build: { pathMeta: { slugifyOptions: {} } } } };',
      'content.build.pathMeta',
    ],
    ['content.config.ts', 'export default { collections: make() };', 'collections'],
    ['content.config.ts', 'export default { collections: { docs: make() } };', 'collections.docs'],
    [
      'content.config.ts',
      'export default { collections: { docs: { type: "page", source: process.env.DOCS } } };',
      'collections.docs',
    ],
  ])('gives no address by what is not understood, and names it: %s, %s', async (config, text, setting) => {
    const { routes, urls } = await predict({
      'package.json': '{"dependencies":{"@nuxt/content":"^3.0.0"}}',
      'nuxt.config.ts': 'export default {};',
      [config]: text,
      'content/a.md': page(),
    });
    expect(urls).toEqual({});
    expect(routes.warnings.map(({ message, path }) => [message.split(' ')[0], path])).toContainEqual([
      `"${setting}"`,
      config,
    ]);
  });
});

describe('Hexo', () => {
  const site = (config: string, more: Record<string, string> = {}) => ({
    'package.json': packageWith('hexo'),
    '_config.yml': config,
    'source/_posts/a.md': page('date: 2024-01-02'),
    'source/about.md': page(),
    ...more,
  });

  it.each([
    ['permalink: :updated/', {}, null],
    [`permalink: ${':title'.repeat(500)}`, {}, '"permalink" cannot be determined: it is too long'],
    [
      '',
      { 'scripts/a.js': "hexo.extend.filter.register('post_permalink', f)" },
      '"permalink" cannot be determined: scripts/a.js may change it',
    ],
    [
      '',
      { 'package.json': packageWith('hexo', 'hexo-permalink-pinyin') },
      '"permalink" cannot be determined: hexo-permalink-pinyin may change it',
    ],
  ])('gives posts no address where something else decides: %.20s', async (config, more, warning) => {
    const { routes, urls } = await predict(site(config, more));
    expect(urls).toEqual({ 'source/about.md': '/about.html' });
    expect(routes.warnings.map(({ message }) => message)).toEqual(warning === null ? [] : [warning]);
  });

  it('gives nothing an address where a pattern of files to be copied is not understood', async () => {
    const { routes, urls } = await predict(site('skip_render: "!(a)*.md"'));
    expect(urls).toEqual({});
    expect(routes.warnings).toMatchObject([{ path: '_config.yml', message: '"skip_render" cannot be determined' }]);
  });
});
