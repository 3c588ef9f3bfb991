import { describe, expect, it } from 'vitest';
import { page, predict } from './predict.ts';

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
  ])('predicts no address from what it cannot evaluate, and names it: %s', async (config, expected) => {
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
