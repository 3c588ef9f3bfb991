import { describe, expect, it } from 'vitest';
import { fillTemplate } from '../../../../src/domain/studio/frameworks/routing/route-rule.ts';
import { packageWith, page, predict } from './predict.ts';
import { samples } from './samples.ts';

describe('addresses', () => {
  it.each(samples)('of $framework', async ({ framework, confidence, files, urls }) => {
    const found = await predict(files);
    expect(found.routes.detected.framework?.id).toBe(framework);
    expect(found.urls).toEqual(urls);
    const surest = Math.max(...Object.keys(urls).map((path) => found.routes.evidenceOf(path)?.confidence ?? 0));
    expect(surest).toBe(confidence);
    expect(found.routes.warnings).toEqual([]);
  });
});

describe('settings that cannot be evaluated', () => {
  it('lower the confidence, and are named with their line', async () => {
    const { routes } = await predict({
      'package.json': packageWith('vitepress'),
      '.vitepress/config.mts': 'const base = process.env.BASE;\nexport default { base, cleanUrls: compute() };',
      'a.md': page(),
    });
    expect(routes.evidenceOf('a.md')?.confidence).toBe(0.5);
    expect(routes.warnings).toMatchObject([
      { code: 'setting_unknown', path: '.vitepress/config.mts' },
      { code: 'setting_unknown', path: '.vitepress/config.mts' },
    ]);
  });

  it('never lower the confidence below the minimum', async () => {
    const unknown = ['base', 'cleanUrls', 'srcDir', 'rewrites'].map((name) => `${name}: f()`).join(', ');
    const files = { '.vitepress/config.mts': `export default { ${unknown} };`, 'a.md': page() };
    expect((await predict(files)).routes.evidenceOf('a.md')?.confidence).toBe(0.1);
  });
});

describe('a site whose addresses all follow from something that is not known', () => {
  it.each<[string, Record<string, string>, string]>([
    ['astro', { 'astro.config.mjs': 'export default { base: process.env.BASE };', 'src/pages/a.md': '' }, 'base'],
    ['docusaurus', { 'docusaurus.config.js': 'export default { baseUrl: f() };', 'docs/a.md': '' }, 'baseUrl'],
    ['vitepress', { '.vitepress/config.mts': 'export default { cleanUrls: f() };', 'a.md': '' }, 'cleanUrls'],
    [
      'eleventy',
      { '.eleventy.js': 'module.exports = () => { return { pathPrefix: f() }; };', 'a.md': '' },
      'pathPrefix',
    ],
    ['mkdocs', { 'mkdocs.yml': "site_url: !ENV [URL, '/']\n", 'docs/a.md': '' }, 'site_url'],
    ['astro', { 'astro.config.mjs': 'export default load();', 'src/pages/a.md': '' }, 'configuration'],
  ])('gives none, and names the setting: %s %#', async (framework, files, setting) => {
    const { urls, routes } = await predict(files);
    const [config = '', file = ''] = Object.keys(files);
    expect(routes.detected.framework?.id).toBe(framework);
    expect(urls).toEqual({});
    expect(routes.warnings).toMatchObject([{ code: 'setting_unknown', path: config }]);
    expect(routes.warnings[0]?.message).toContain(`"${setting}" cannot be determined`);
    const reason = `${setting} decides about its address and cannot be determined`;
    expect(routes.whyNone({ path: file, frontmatter: {} })).toBe(reason);
  });

  it.each([
    ['hugo.toml', 'a = [', 'content/a.md'],
    ['docusaurus.config.js', 'export default {', 'docs/a.md'],
    ['mkdocs.yml', `#${' '.repeat(5_000_000)}`, 'docs/a.md'],
  ])('gives none while %s cannot be read', async (config, text, file) => {
    const { urls, routes } = await predict({ [config]: text, [file]: page() });
    expect(urls).toEqual({});
    expect(routes.warnings).toMatchObject([{ code: 'config_unreadable', path: config }]);
    expect(routes.whyNone({ path: file, frontmatter: {} })).toContain(config);
  });

  it('has them when its configuration is a function of which the result is known', async () => {
    const config = "const base = '/b/';\n  return { baseUrl: base, title: await load() };";
    const { urls, routes } = await predict({
      'docusaurus.config.js': `export default async function create() {\n  ${config}\n}`,
      'docs/a.md': page(),
    });
    expect(urls).toEqual({ 'docs/a.md': '/b/docs/a' });
    expect(routes.warnings).toEqual([]);
    const called = '({ mode }) => ({ base: mode })';
    expect((await predict({ '.vitepress/config.ts': `export default ${called}`, 'a.md': page() })).urls).toEqual({});
  });
});

describe('Astro', () => {
  const site = (template: string, path = 'src/pages/[lang]/[...slug].astro') => ({
    'astro.config.mjs': 'export default {};',
    'src/content/posts/en/a.md': page(),
    'src/content/posts/en/draft.md': page('draft: true'),
    [path]: `---\n${template}\n---\n`,
  });

  it('takes an id that is divided over two parameters for a guess', async () => {
    const template = `export async function getStaticPaths() {
  const posts = await getCollection('posts');
  return posts.map((post) => { const [lang, ...slug] = post.id.split('/'); return { params: { lang, slug: slug.join('/') } }; });
}`;
    const { urls, routes } = await predict(site(template));
    expect(urls['src/content/posts/en/a.md']).toBe('/en/a/');
    expect(routes.evidenceOf('src/content/posts/en/a.md')?.confidence).toBe(0.4);
  });

  it('shows no page of entries for lists, for other collections, or in code that cannot be read', async () => {
    const list =
      "export async function getStaticPaths({ paginate }) { return paginate(await getCollection('posts')); }";
    expect((await predict(site(list, 'src/pages/list/[...page].astro'))).urls).toEqual({});
    const other = "export const getStaticPaths = () => getCollection('x').map((x) => ({ params: { slug: x.id } }));";
    expect((await predict(site(other, 'src/pages/[...slug].astro'))).urls).toEqual({});
    expect((await predict(site('export function (', 'src/pages/[...slug].astro'))).urls).toEqual({});
  });

  it.each([
    ['file', 'ignore', '/posts/en/a.html'],
    ['directory', 'never', '/posts/en/a'],
    ['directory', 'always', '/posts/en/a/'],
    ['preserve', 'ignore', '/posts/en/a.html'],
  ])('build.format %s, trailingSlash %s', async (format, trailingSlash, url) => {
    const template =
      "export const getStaticPaths = () => getCollection('posts').map((x) => ({ params: { slug: x.id } }));";
    const files = site(template, 'src/pages/posts/[...slug].astro');
    const config = `export default { build: { format: '${format}' }, trailingSlash: '${trailingSlash}' };`;
    expect((await predict({ ...files, 'astro.config.mjs': config })).urls['src/content/posts/en/a.md']).toBe(url);
  });
});

describe('Hugo', () => {
  it('gives no address to a language on a host of its own, and says so', async () => {
    const { urls, routes } = await predict({
      'hugo.toml': "[languages.en]\nbaseURL = 'https://x.org/'\n[languages.fr]\nbaseURL = 'https://fr.x.org/'\n",
      'content/a.md': page(),
      'content/a.fr.md': page(),
    });
    expect(urls).toEqual({ 'content/a.md': '/a/' });
    expect(routes.warnings).toMatchObject([{ code: 'setting_unknown', path: 'hugo.toml' }]);
    expect(routes.warnings[0]?.message).toContain('languages.fr.baseURL');
  });

  it('keeps of sections what they hand down, 8 MiB of it, and what says whether they are published', async () => {
    const long = `text: ${'x'.repeat(200_000)}`;
    const sections = Array.from({ length: 50 }, (_, at) => [`content/s${at}/_index.md`, page(`cascade: { ${long} }`)]);
    const { routes, urls } = await predict({
      'hugo.toml': '',
      ...Object.fromEntries(sections),
      'content/draft/_index.md': page('Draft: true', long),
      'content/draft/a.md': page(),
      'content/late/_index.md': page('publishDate: 2999-01-01', long),
      'content/late/a.md': page(),
      'content/s0/a.md': page(),
    });
    const left = routes.warnings.filter(({ message }) => /^"cascade of content.s\d+._index.md" cannot/.test(message));
    expect(left.length).toBeGreaterThanOrEqual(5);
    expect(routes.held).toBeGreaterThan(8_000_000);
    expect(routes.held).toBeLessThanOrEqual(8 * 1024 * 1024);
    expect(urls['content/draft/a.md']).toBeUndefined();
    expect(urls['content/s0/a.md']).toBe('/s0/a/');
    const now = new Date('2026-01-01');
    const isDue = (path: string) => routes.isDue({ path, frontmatter: {} }, now);
    expect([isDue('content/late/a.md'), isDue('content/s0/a.md')]).toEqual([false, true]);
  });

  it('names mounts and cascades that it cannot read, and rests on the pages of sections', async () => {
    const { urls, routes } = await predict({
      'hugo.toml':
        "[[module.mounts]]\nsource = 'content'\ntarget = 'content'\n[[module.mounts]]\nsource = 'odd'\ntarget = 'content'\nincludeFiles = '+(a|b)'\n",
      'content/s/_index.md': '---\ncascade:\n  slug: x\n  _target: { sites: { matrix: 1 } }\n---\n',
      'content/s/a.md': page(),
      'odd/b.md': page(),
    });
    expect(urls).toEqual({ 'content/s/_index.md': '/s/', 'content/s/a.md': '/s/a/' });
    expect(routes.warnings.map(({ message }) => message)).toEqual([
      '"module.mounts" cannot be determined',
      '"cascade of content/s/_index.md" cannot be determined',
    ]);
    expect([...routes.dependencies]).toContain('content/s/_index.md');
  });
});

describe('MkDocs', () => {
  const pages = {
    'docs/index.md': page(),
    'docs/index.fr.md': page(),
    'docs/blog/index.md': page(),
    'docs/blog/posts/a.md': page('date: 2024-01-02'),
    'docs/drafts/b.md': page(),
    'docs/drafts/kept.md': page(),
  };

  it('gives no address to posts of a blog, whose dates and titles make it, and says so', async () => {
    const config = 'plugins:\n  - search\n  - material/blog:\n      blog_dir: blog\n';
    const { urls, routes } = await predict({ ...pages, 'mkdocs.yml': config });
    expect(urls).toMatchObject({ 'docs/blog/index.md': '/blog/', 'docs/drafts/b.md': '/drafts/b/' });
    expect(urls['docs/blog/posts/a.md']).toBeUndefined();
    expect(routes.warnings).toMatchObject([{ path: 'mkdocs.yml', line: 4 }]);
    expect(routes.warnings[0]?.message).toContain('plugins.blog');
  });

  it('gives no address where languages decide, also when plug-ins are written as a table', async () => {
    const { urls, routes } = await predict({ ...pages, 'mkdocs.yml': 'plugins:\n  i18n:\n    languages: []\n' });
    expect(urls).toEqual({});
    expect(routes.warnings[0]?.message).toContain('plugins.i18n');
  });

  it.each(['plugins: [search, gen-files]', 'plugins: [mike]', 'hooks: [on_files.py]'])(
    'says that %s may change addresses',
    async (line) => {
      const { routes } = await predict({ ...pages, 'mkdocs.yml': `${line}\n` });
      expect(routes.warnings).toMatchObject([{ code: 'setting_unknown', path: 'mkdocs.yml' }]);
    },
  );

  it('leaves out what is excluded, by patterns as Git has them, and names those it does not understand', async () => {
    const config = 'exclude_docs: |\n  # not yet\n  /drafts/\n  !kept.md\n  *.fr.md\n';
    const { urls } = await predict({ ...pages, 'mkdocs.yml': config });
    expect(Object.keys(urls)).toEqual([
      'docs/index.md',
      'docs/blog/index.md',
      'docs/blog/posts/a.md',
      'docs/drafts/kept.md',
    ]);
    const { routes } = await predict({ ...pages, 'mkdocs.yml': 'draft_docs: "[a"\n' });
    expect(routes.warnings[0]?.message).toContain('draft_docs');
  });

  it('reads a configuration that another one inherits from, once around', async () => {
    const { urls, routes } = await predict({
      'mkdocs.yml': 'INHERIT: shared/base.yml\n',
      'shared/base.yml': 'INHERIT: ../mkdocs.yml\nuse_directory_urls: false\nsite_url: https://x.org/b/\n',
      'docs/a.md': page(),
    });
    expect(urls).toEqual({ 'docs/a.md': '/b/a.html' });
    expect([...routes.dependencies]).toContain('shared/base.yml');
  });
});

describe('VitePress', () => {
  it.each([
    ['a function', 'rewrites: (id) => id.replace("x", "y")', []],
    ['computed', 'rewrites: table()', []],
    ['a rule that is not understood, after others', "rewrites: { 'a.md': 'b.md', ':x(\\\\d+).md': 'n.md' }", ['a.md']],
  ])('gives no address where rewrites are %s and may decide, and says so', async (_name, rewrites, known) => {
    const { urls, routes } = await predict({
      '.vitepress/config.mts': `export default { ${rewrites} };`,
      'a.md': page(),
      'c.md': page(),
    });
    expect(Object.keys(urls)).toEqual(known);
    expect(routes.warnings).toMatchObject([{ code: 'setting_unknown', path: '.vitepress/config.mts' }]);
  });
});

describe('Hexo', () => {
  it('gives a post the date that machines in UTC and in the zone of the site agree on, or no address', async () => {
    const post = (date: string) => page(`date: ${date}`);
    const { urls, routes } = await predict({
      'package.json': packageWith('hexo'),
      '_config.yml': 'timezone: Asia/Tokyo\n',
      'source/_posts/early.md': post('2023-04-05 00:30:00'),
      'source/_posts/late.md': post('2023-04-05 23:30:00'),
    });
    expect(urls).toEqual({ 'source/_posts/late.md': '/2023/04/05/late/' });
    expect(routes.warnings[0]?.message).toContain('timezone');
  });
});

describe('Jekyll', () => {
  const path = '_posts/2024-01-02-a.md';
  const due = async (config: string, time: string) => {
    const { routes } = await predict({ '_config.yml': config, [path]: page() });
    return routes.isDue({ path, frontmatter: {} }, new Date(time));
  };

  it('publishes a post when its day begins where the site is, or at once when the future is published', async () => {
    expect(await due('timezone: America/New_York\n', '2024-01-02T04:59:59Z')).toBe(false);
    expect(await due('timezone: America/New_York\n', '2024-01-02T05:00:00Z')).toBe(true);
    expect(await due('title: x\n', '2024-01-01T23:59:59Z')).toBe(false);
    expect(await due('title: x\n', '2024-01-02T00:00:00Z')).toBe(true);
    expect(await due('future: true\n', '2000-01-01T00:00:00Z')).toBe(true);
  });
});

describe('what one file gives to all pages of its section', () => {
  const section = (...lines: string[]) => ({
    'hugo.toml': '',
    'content/posts/_index.md': page('cascade:', ...lines.map((line) => `  ${line}`)),
    'content/posts/a.md': page(),
  });
  const file = { path: 'content/posts/a.md', frontmatter: { title: 'A page' } };

  it('of its aliases the first hundred count', async () => {
    const aliases = Array.from({ length: 150 }, (_, at) => `  - /old/${at}`);
    const { routes } = await predict(section('aliases:', ...aliases));
    expect(routes.aliasesOf(file)).toHaveLength(100);
    expect(routes.aliasesOf(file).at(-1)).toBe('/old/99/');
  });

  it('an address that is too long is none, and no alias', async () => {
    const fitting = await predict(section(`url: /${'a'.repeat(2_046)}/`));
    expect(fitting.urls['content/posts/a.md']).toHaveLength(2_048);
    const { urls, routes } = await predict(section(`url: /${'a'.repeat(2_047)}/`));
    expect(urls).toEqual({});
    expect(routes.whyNone(file)).toBe('Its address is longer than 2048 characters');
    const named = await predict(section('aliases:', `  - /${'a'.repeat(2_047)}`, '  - /b'));
    expect(named.routes.aliasesOf(file)).toEqual(['/b/']);
  });
});

describe('a template of addresses', () => {
  it('makes each text that it replaces once, and ends where no address can be so long', () => {
    const made: string[] = [];
    const fill = (template: string, value: string) =>
      fillTemplate(template, /:([a-z])/g, ([whole]) => {
        made.push(whole);
        return value;
      });
    expect(fill('/:a/:b/:a/', 'x')).toBe('/x/x/x/');
    expect(made.splice(0)).toEqual([':a', ':b']);
    expect(fill('/:a:b:c:d:e', 'x'.repeat(8_000))).toHaveLength(2_049);
    expect(made.splice(0)).toEqual([':a', ':b', ':c']);
    expect(fill('/:a'.padEnd(2_048, '-'), '')).toBe('/'.padEnd(2_046, '-'));
    expect(fill('/:a'.padEnd(2_049, '-'), '')).toHaveLength(2_049);
    expect(made).toEqual([':a']);
  });

  it.each<[string, Record<string, string>, string]>([
    ['jekyll', { '_config.yml': '', 'a.md': page(`permalink: '${'/:path'.repeat(400)}'`) }, 'a.md'],
    [
      'jekyll',
      { '_config.yml': '', '_posts/2020-01-02-a.md': page(`slug: '${'a b'.repeat(6_000)}'`, "permalink: '/:slug'") },
      '_posts/2020-01-02-a.md',
    ],
    [
      'eleventy',
      {
        'package.json': packageWith('@11ty/eleventy'),
        'a.md': page(`long: '${'a b'.repeat(6_000)}'`, "permalink: '/{{ long | slug }}/'"),
      },
      'a.md',
    ],
    [
      'hugo',
      {
        'hugo.toml': "[permalinks]\nposts = '/:slug'\n",
        'content/posts/a.md': page(`slug: '${'a b'.repeat(6_000)}'`),
      },
      'content/posts/a.md',
    ],
  ])('of %s whose parts are too long gives no address', async (framework, files, path) => {
    const { routes, urls } = await predict(files);
    expect(urls[path] ?? null).toBeNull();
    expect(routes.detected.framework?.id).toBe(framework);
  });
});
