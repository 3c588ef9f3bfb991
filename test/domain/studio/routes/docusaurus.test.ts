import { describe, expect, it } from 'vitest';
import { docusaurusSite } from '../../../support/routes/sites/docusaurus.ts';
import { page, predict } from './predict.ts';

it('Docusaurus: number prefixes, slugs, versions, instances, posts, pages and languages', async () => {
  const { routes, urls } = await predict(docusaurusSite);
  expect(routes.detected.framework?.id).toBe('docusaurus');
  expect(urls).toEqual({
    'docs/index.md': '/base/handbook/next/',
    'docs/01-intro.md': '/base/handbook/next/intro',
    'docs/2020-01-02-dated.md': '/base/handbook/next/2020-01-02-dated',
    'docs/1.5-version.md': '/base/handbook/next/1.5-version',
    'docs/named.md': '/base/handbook/next/other-name',
    'docs/02-guide/README.md': '/base/handbook/next/guide/',
    'docs/02-guide/03-step.md': '/base/handbook/next/guide/step',
    'docs/02-guide/slugged.md': '/base/handbook/next/guide/given',
    'docs/02-guide/absolute.md': '/base/handbook/next/at/the-top',
    'docs/topic/topic.md': '/base/handbook/next/topic/',
    'versioned_docs/version-2.0/index.md': '/base/handbook/',
    'versioned_docs/version-2.0/intro.md': '/base/handbook/intro',
    'versioned_docs/version-1.0/index.md': '/base/handbook/1.0/',
    'versioned_docs/version-1.0/intro.md': '/base/handbook/1.0/intro',
    'api-docs/start.md': '/base/api/start',
    'api-docs/deep/er.mdx': '/base/api/deep/er',
    'blog/2021-08-26-welcome.md': '/base/blog/2021/08/26/welcome',
    'blog/2021-08-27-folder/index.md': '/base/blog/2021/08/27/folder',
    'blog/2021/08/28/nested.md': '/base/blog/2021/08/28/nested',
    'blog/2021-09-01-slugged.md': '/base/blog/own-slug',
    'blog/undated.md': '/base/blog/undated',
    'src/pages/index.md': '/base/',
    'src/pages/about.md': '/base/about',
    'src/pages/deep/index.md': '/base/deep/',
    'i18n/fr/docusaurus-plugin-content-docs/current/01-intro.md': '/base/fr/handbook/next/intro',
    'i18n/fr/docusaurus-plugin-content-blog/2021-08-26-welcome.md': '/base/fr/blog/2021/08/26/welcome',
    'i18n/fr/docusaurus-plugin-content-pages/about.md': '/base/fr/about',
  });
});

describe('Docusaurus, where the configuration computes', () => {
  const pages = {
    'docs/01-a.md': page(),
    'docs/b.md': page(),
    'blog/2024-01-02-x.md': page(),
    'src/pages/p.md': page(),
  };
  const blog = { 'blog/2024-01-02-x.md': '/blog/2024/01/02/x' };
  const others = { ...blog, 'src/pages/p.md': '/p' };
  const all = { 'docs/01-a.md': '/docs/a', 'docs/b.md': '/docs/b', ...others };

  it.each([
    [
      "presets: [['classic', { docs: { numberPrefixParser: (name) => own(name) } }]]",
      { 'docs/b.md': '/docs/b', ...others },
    ],
    ["presets: [['classic', { docs: load() }]]", others],
    ["presets: [['classic', load()]]", {}],
    ['presets: load()', {}],
    ["presets: [['classic', {}]], plugins: [process.env.PLUGIN]", all],
  ])('gives no address by what it cannot tell, and names it: %s', async (config, expected) => {
    const { urls, routes } = await predict({ ...pages, 'docusaurus.config.js': `export default { ${config} };` });
    expect(urls).toEqual(expected);
    expect(routes.warnings).toMatchObject([{ code: 'setting_unknown', path: 'docusaurus.config.js', line: 1 }]);
  });

  it('leaves alone plug-ins that are functions, and others than those of content', async () => {
    const plugins = "[() => ({}), ['@docusaurus/plugin-ideal-image', { quality: 70 }]]";
    const config = `export default { presets: [['classic', {}]], plugins: ${plugins} };`;
    const { urls, routes } = await predict({ ...pages, 'docusaurus.config.js': config });
    expect(urls).toEqual(all);
    expect(routes.warnings).toEqual([]);
  });

  it('resolves slugs that begin with dots', async () => {
    const { urls } = await predict({
      'docusaurus.config.js': 'export default {};',
      'docs/02-deep/a.md': page('slug: ../up/'),
      'docs/02-deep/b.md': page('slug: ./here'),
    });
    expect(urls).toEqual({ 'docs/02-deep/a.md': '/docs/up/', 'docs/02-deep/b.md': '/docs/deep/here' });
  });
});
