import { describe, expect, it } from 'vitest';
import { discover } from './sites.ts';

/** The collections that are no pages: by name their kind and files. */
async function besidePages(files: Record<string, string>) {
  const { schemas } = await discover(files);
  const paths = Object.keys(files);
  return Object.fromEntries(
    schemas
      .filter(({ kind }) => kind !== 'page')
      .map(({ collection, kind, matches }) => [collection, [kind, ...paths.filter(matches)]]),
  );
}

describe('data and parts of pages', () => {
  it('are partials, authors, tags and categories of each Docusaurus directory, and its translations', async () => {
    const found = await besidePages({
      'docusaurus.config.js': `export default { presets: [['classic', {
        docs: {}, blog: { authorsMapPath: 'people.yml' } }]] };`,
      'docs/a.md': '',
      'docs/_part.mdx': '',
      'docs/deep/_parts/b.md': '',
      'docs/deep/_category_.json': '{}',
      'docs/tags.yml': '',
      'docs/other.yml': '',
      'blog/2020-01-01-a.md': '',
      'blog/people.yml': '',
      'versioned_docs/version-1/a.md': '',
      'versioned_docs/version-1/_x.md': '',
      'versioned_docs/version-1/tags.yml': '',
      'i18n/fr/code.json': '{}',
      'i18n/fr/docusaurus-theme-classic/navbar.json': '{}',
    });
    expect(found).toEqual({
      'blog-data': ['data', 'blog/people.yml'],
      'docs-data': ['data', 'docs/deep/_category_.json', 'docs/tags.yml'],
      'docs-partials': ['partial', 'docs/_part.mdx', 'docs/deep/_parts/b.md'],
      translations: ['data', 'i18n/fr/code.json', 'i18n/fr/docusaurus-theme-classic/navbar.json'],
      'versioned_docs-data': ['data', 'versioned_docs/version-1/tags.yml'],
      'versioned_docs-partials': ['partial', 'versioned_docs/version-1/_x.md'],
    });
  });

  it('are those of the first hundred plug-ins of Docusaurus', async () => {
    const plugins = Array.from({ length: 101 }, (_, at) => `['content-docs', { id: 'd${at}', path: 'd${at}' }]`);
    const found = await besidePages({
      'docusaurus.config.js': `export default { plugins: [${plugins.join(', ')}] };`,
      'd99/_part.md': '',
      'd100/_part.md': '',
    });
    expect(found).toEqual({ 'd99-partials': ['partial', 'd99/_part.md'] });
  });

  it('are the data and texts of Hugo, also those that are mounted', async () => {
    const usual = {
      'content/a.md': '',
      'data/team/a.yaml': '',
      'data/b.toml': '',
      'data/c.csv': '',
      'i18n/fr.toml': '',
    };
    expect(await besidePages({ 'hugo.toml': "title = 'x'", ...usual })).toEqual({
      data: ['data', 'data/team/a.yaml', 'data/b.toml'],
      i18n: ['data', 'i18n/fr.toml'],
    });
    expect(await besidePages({ 'hugo.toml': "dataDir = 'values'", ...usual, 'values/d.json': '{}' })).toMatchObject({
      data: ['data', 'values/d.json'],
    });
    const mounts =
      "[[module.mounts]]\nsource = 'one'\ntarget = 'data'\n[[module.mounts]]\nsource = 'two'\ntarget = 'data/two'\n";
    const mounted = { 'hugo.toml': mounts, ...usual, 'one/e.json': '{}', 'two/f.json': '{}' };
    expect(await besidePages(mounted)).toMatchObject({ data: ['data', 'one/e.json', 'two/f.json'] });
  });

  it('are in the first hundred directories that Hugo mounts as data', async () => {
    const mounts = Array.from({ length: 101 }, (_, at) => `{ source = 'd${at}', target = 'data' }`);
    const files = { 'content/a.md': '', 'd99/a.json': '{}', 'd100/a.json': '{}' };
    const found = await besidePages({ 'hugo.toml': `[module]\nmounts = [${mounts.join(', ')}]\n`, ...files });
    expect(found).toEqual({ data: ['data', 'd99/a.json'] });
  });

  it("are Hexo's data and files that begin with an underscore", async () => {
    const found = await besidePages({
      '_config.yml': 'title: x',
      'scaffolds/post.md': '',
      'source/_posts/a.md': '',
      'source/_drafts/b.md': '',
      'source/_data/menu.yml': '',
      'source/about/index.md': '',
      'source/about/_note.md': '',
      'source/.hidden/_x.md': '',
    });
    expect(found).toEqual({ data: ['data', 'source/_data/menu.yml'], partials: ['partial', 'source/about/_note.md'] });
  });

  it("are Jekyll's data and includes", async () => {
    const found = await besidePages({
      '_config.yml': 'title: x',
      '_posts/2020-01-01-a.md': '',
      '_data/people/a.yml': '',
      '_includes/note.md': '',
      '_includes/head.html': '',
    });
    expect(found).toEqual({ data: ['data', '_data/people/a.yml'], includes: ['partial', '_includes/note.md'] });
  });

  it("are Eleventy's global data, data beside pages, and includes", async () => {
    const found = await besidePages({
      'eleventy.config.js': `export default () => ({ dir: { input: 'src', data: '_values' } });`,
      'package.json': '{}',
      'src/a.md': '',
      'src/a.json': '{}',
      'src/posts/b.md': '',
      'src/posts/posts.json': '{}',
      'src/posts/b.11tydata.json': '{}',
      'src/lib/lib.json': '{}',
      'src/_values/site.json': '{}',
      'src/_includes/note.md': '',
    });
    expect(found).toEqual({
      data: ['data', 'src/_values/site.json'],
      'directory-data': ['data', 'src/a.json', 'src/posts/posts.json', 'src/posts/b.11tydata.json'],
      includes: ['partial', 'src/_includes/note.md'],
    });
  });

  it('are the snippets of MkDocs beside its pages, and the authors of its blog', async () => {
    const files = {
      'docs/index.md': '',
      'docs/blog/.authors.yml': '',
      'docs/blog/posts/.meta.yml': '',
      'includes/abbreviations.md': '',
      'includes/more.md': '',
      'snippets/a.md': '',
    };
    const config = (options: string) =>
      `site_name: x\nplugins: [search]\nmarkdown_extensions:\n  - pymdownx.snippets:\n${options}`;
    const appended = config('      auto_append: [includes/abbreviations.md]\n');
    expect(await besidePages({ 'mkdocs.yml': appended, ...files })).toEqual({
      data: ['data', 'docs/blog/.authors.yml', 'docs/blog/posts/.meta.yml'],
      snippets: ['partial', 'includes/abbreviations.md'],
    });
    const based = config('      base_path: [snippets, docs]\n');
    expect(await besidePages({ 'mkdocs.yml': based, ...files })).toMatchObject({
      snippets: ['partial', 'snippets/a.md'],
    });
  });

  it('are in the first hundred directories of snippets of MkDocs, and the first hundred appended files', async () => {
    const names = (start: string, end = '') => Array.from({ length: 101 }, (_, at) => `${start}${at}${end}`).join(', ');
    const config = (options: string) =>
      `site_name: x\nmarkdown_extensions:\n  - pymdownx.snippets:\n      ${options}\n`;
    const files = { 'docs/a.md': '', 'p99/a.md': '', 'p100/a.md': '', 'i99.md': '', 'i100.md': '' };
    expect(await besidePages({ 'mkdocs.yml': config(`base_path: [${names('p')}]`), ...files })).toEqual({
      snippets: ['partial', 'p99/a.md'],
    });
    expect(await besidePages({ 'mkdocs.yml': config(`auto_append: [${names('i', '.md')}]`), ...files })).toEqual({
      snippets: ['partial', 'i99.md'],
    });
  });

  it('are Markdown files that VitePress leaves out', async () => {
    const found = await besidePages({
      '.vitepress/config.ts': `export default { srcDir: 'docs', srcExclude: ['parts/**', '**/TODO.md'] };`,
      'docs/index.md': '',
      'docs/parts/a.md': '',
      'docs/deep/TODO.md': '',
    });
    expect(found).toEqual({ partials: ['partial', 'docs/parts/a.md', 'docs/deep/TODO.md'] });
  });

  it('are data among pages of directories that no configuration describes, but not where programs are', async () => {
    const found = await besidePages({
      'guide/a.md': '',
      'guide/deep/b.md': '',
      'guide/deep/team.json': '[]',
      'guide/package.json': '{}',
      'guide/deep/pnpm-lock.yaml': '',
      'code/README.md': '',
      'code/a.json': '{}',
      'code/b.yaml': '',
      'only/c.json': '{}',
    });
    expect(found).toEqual({ 'guide-data': ['data', 'guide/deep/team.json'] });
  });

  it('are collections of data of Astro and Nuxt Content, and directories of nothing but data', async () => {
    const astro = await besidePages({
      'astro.config.mjs': '',
      'src/content.config.ts': `import { defineCollection } from 'astro:content'; import { file } from 'astro/loaders';
        export const collections = { people: defineCollection({ loader: file('src/people.json') }) };`,
      'src/people.json': '[]',
      'src/content/other/a.json': '{}',
      'src/content/posts/a.md': '',
    });
    expect(astro).toEqual({ other: ['data', 'src/content/other/a.json'], people: ['data', 'src/people.json'] });
    const nuxt = await besidePages({
      'nuxt.config.ts': '',
      'content.config.ts': `import { defineCollection, defineContentConfig } from '@nuxt/content';
        export default defineContentConfig({ collections: {
          pages: defineCollection({ type: 'page', source: 'pages/**' }),
          people: defineCollection({ type: 'data', source: 'people/**.yml' }) } });`,
      'content/pages/a.md': '',
      'content/people/a.yml': '',
    });
    expect(nuxt).toEqual({ people: ['data', 'content/people/a.yml'] });
  });
});
