import { packageWith, page } from './predict.ts';

/** One small site for each framework: its files, and the addresses of those that are pages. */
export interface Sample {
  framework: string;
  confidence: number;
  files: Record<string, string>;
  urls: Record<string, string>;
}

const paths = (collection: string, param: string) => `---
import { getCollection } from 'astro:content';
export const getStaticPaths = async () =>
  (await getCollection('${collection}')).map((entry) => ({ params: { ${param} }, props: { entry } }));
---
`;

export const samples: Sample[] = [
  {
    framework: 'astro',
    confidence: 0.9,
    files: {
      'package.json': packageWith('astro'),
      'astro.config.mjs': "export default { base: '/b', trailingSlash: 'never' };",
      'src/content.config.ts': `import { defineCollection } from 'astro:content';
import { glob } from 'astro/loaders';
const at = (name) => defineCollection({ loader: glob({ pattern: '**/*.md', base: './src/content/' + name }) });
export const collections = { posts: at('posts'), docs: at('docs'), unused: at('unused') };`,
      'src/pages/index.astro': '',
      'src/pages/about.md': page(),
      'src/pages/_draft.md': page(),
      'src/pages/blog/[slug].astro': paths('posts', 'slug: entry.id'),
      'src/pages/[topic]/[...slug].astro': paths('docs', 'topic: entry.data.topic, slug: entry.id'),
      'src/content/posts/Hello, World!.md': page(),
      'src/content/posts/own.md': page('slug: Given/One'),
      'src/content/posts/nested/deep.md': page(),
      'src/content/docs/intro/index.md': page('topic: start'),
      'src/content/unused/a.md': page(),
    },
    urls: {
      'src/pages/index.astro': '/b',
      'src/pages/about.md': '/b/about',
      'src/content/posts/Hello, World!.md': '/b/blog/hello-world',
      'src/content/docs/intro/index.md': '/b/start/intro',
    },
  },
  {
    framework: 'starlight',
    confidence: 0.9,
    files: {
      'package.json': packageWith('astro', '@astrojs/starlight'),
      'astro.config.mjs':
        "import starlight from '@astrojs/starlight';\nexport default { integrations: [starlight({})] };",
      'src/content/docs/index.mdx': page(),
      'src/content/docs/guides/First Steps.md': page(),
      'src/content/docs/guides/index.md': page(),
      'src/content/docs/fr/guides/x.md': page(),
      'src/content/docs/own.md': page('slug: elsewhere/own'),
      'src/content/docs/404.md': page(),
      'src/content/docs/draft.md': page('draft: true'),
    },
    urls: {
      'src/content/docs/index.mdx': '/',
      'src/content/docs/guides/First Steps.md': '/guides/first-steps/',
      'src/content/docs/guides/index.md': '/guides/',
      'src/content/docs/fr/guides/x.md': '/fr/guides/x/',
      'src/content/docs/own.md': '/elsewhere/own/',
      'src/content/docs/404.md': '/404.html',
    },
  },
  {
    framework: 'hugo',
    confidence: 0.9,
    files: {
      'hugo.toml':
        "baseURL = 'https://x.org/b/'\n[permalinks.page]\nnews = '/:year/:slug/'\n[permalinks.section]\nnews = '/all-news/'\n",
      'content/_index.md': page(),
      'content/news/_index.md': page(),
      'content/news/a.md': page('date: 2024-05-06', 'slug: Ä b'),
      'content/docs/Big Page.md': page(),
      'content/docs/bundle/index.md': page(),
      'content/docs/bundle/part.md': page(),
      'content/docs/own.md': page('url: /:section/:slug.html'),
    },
    urls: {
      'content/_index.md': '/b/',
      'content/news/_index.md': '/b/all-news/',
      'content/news/a.md': '/b/2024/%C3%A4-b/',
      'content/docs/Big Page.md': '/b/docs/big-page/',
      'content/docs/bundle/index.md': '/b/docs/bundle/',
      'content/docs/own.md': '/b/docs/a-page.html',
    },
  },
  {
    framework: 'jekyll',
    confidence: 0.9,
    files: {
      '_config.yml': 'permalink: pretty\ncollections: { notes: { output: true } }\n',
      'index.md': page(),
      'about.md': page(),
      '_posts/2024-01-02-Hello.md': page('categories: [A, b]'),
      '_notes/one.md': page(),
      '_data/x.yml': 'a: 1\n',
    },
    urls: {
      'index.md': '/',
      'about.md': '/about/',
      '_posts/2024-01-02-Hello.md': '/a/b/2024/01/02/Hello/',
      '_notes/one.md': '/notes/one/',
    },
  },
  {
    framework: 'eleventy',
    confidence: 0.9,
    files: {
      'package.json': packageWith('@11ty/eleventy'),
      'eleventy.config.js': 'module.exports = function (config) { return { dir: { input: "src" } }; };',
      'src/index.md': page(),
      'src/a/a.md': page(),
      'src/a/b.md': page('permalink: /c/{{ page.fileSlug }}.html'),
      'src/a/unknown.md': page('permalink: "/{{ some.thing | strange }}/"'),
      'src/_includes/part.njk': '',
    },
    urls: { 'src/index.md': '/', 'src/a/a.md': '/a/', 'src/a/b.md': '/c/b.html' },
  },
  {
    framework: 'vitepress',
    confidence: 0.9,
    files: {
      '.vitepress/config.mts': "export default { base: '/b/', rewrites: { ':pkg/docs/:page': ':pkg/:page' } };",
      'index.md': page(),
      'guide/start.md': page(),
      'core/docs/api.md': page(),
    },
    urls: { 'index.md': '/b/', 'guide/start.md': '/b/guide/start.html', 'core/docs/api.md': '/b/core/api.html' },
  },
  {
    framework: 'next',
    confidence: 0.7,
    files: {
      'package.json': packageWith('next'),
      'next.config.mjs': "export default { basePath: '/b' };",
      'app/(site)/about/page.mdx': page(),
      'app/_private/page.mdx': page(),
      'app/blog/[slug]/page.tsx': '',
      'content/blog/hello.mdx': page(),
    },
    urls: { 'app/(site)/about/page.mdx': '/b/about', 'content/blog/hello.mdx': '/b/blog/hello' },
  },
  {
    framework: 'nextra',
    confidence: 0.7,
    files: {
      'package.json': packageWith('next', 'nextra'),
      'next.config.mjs': 'export default {};',
      'content/index.mdx': page(),
      'content/guide/start.mdx': page(),
    },
    urls: { 'content/index.mdx': '/', 'content/guide/start.mdx': '/guide/start' },
  },
  {
    framework: 'gatsby',
    confidence: 0.7,
    files: {
      'package.json': packageWith('gatsby'),
      'gatsby-config.js':
        'module.exports = { plugins: [{ resolve: "gatsby-source-filesystem", options: { path: "./notes" } }] };',
      'src/pages/about.mdx': page(),
      'notes/a/index.md': page(),
    },
    urls: { 'src/pages/about.mdx': '/about/', 'notes/a/index.md': '/a/' },
  },
  {
    framework: 'nuxt_content',
    confidence: 0.7,
    files: {
      'package.json': packageWith('nuxt', '@nuxt/content'),
      'nuxt.config.ts': "export default defineNuxtConfig({ app: { baseURL: '/b/' } });",
      'content/index.md': page(),
      'content/1.guide/02.First Steps.md': page(),
      'content/1.guide/index.md': page(),
    },
    urls: {
      'content/index.md': '/b/',
      'content/1.guide/02.First Steps.md': '/b/guide/first-steps',
      'content/1.guide/index.md': '/b/guide',
    },
  },
  {
    framework: 'sveltekit',
    confidence: 0.7,
    files: {
      'package.json': packageWith('@sveltejs/kit', 'mdsvex'),
      'svelte.config.js': "export default { kit: { paths: { base: '/b' } } };",
      'src/routes/(app)/about/+page.md': page(),
      'src/routes/blog/[slug]/+page.svelte': '',
      'src/posts/x.md': page(),
      'posts/blog/y.md': page(),
    },
    urls: { 'src/routes/(app)/about/+page.md': '/b/about', 'posts/blog/y.md': '/b/blog/y' },
  },
  {
    framework: 'hexo',
    confidence: 0.9,
    files: {
      'package.json': packageWith('hexo'),
      '_config.yml': 'root: /b/\n',
      'source/_posts/a.md': page('date: 2024-01-02 03:04:05'),
      'source/_posts/undated.md': page(),
      'source/_drafts/d.md': page(),
      'source/about/index.md': page(),
    },
    urls: { 'source/_posts/a.md': '/b/2024/01/02/a/', 'source/about/index.md': '/b/about/' },
  },
  {
    framework: 'mkdocs',
    confidence: 0.7,
    files: {
      'mkdocs.yml': 'site_url: https://x.org/b/\n',
      'requirements.txt': 'mkdocs\n',
      'docs/index.md': page(),
      'docs/guide/README.md': page(),
      'docs/guide/a b.md': page(),
    },
    urls: { 'docs/index.md': '/b/', 'docs/guide/README.md': '/b/guide/', 'docs/guide/a b.md': '/b/guide/a%20b/' },
  },
];
