import { describe, expect, it } from 'vitest';
import { detectFramework } from '../../../../src/domain/studio/frameworks/detect-framework.ts';
import { environmentDefaults } from '../../../../src/domain/studio/frameworks/environment-defaults.ts';
import { discoverSchemas } from '../../../../src/domain/studio/schema/discover.ts';
import { siteOf } from '../schema/sites.ts';

type Files = Record<string, string>;

const manifest = (...names: string[]) =>
  JSON.stringify({ dependencies: Object.fromEntries(names.map((name) => [name, '^1.2.0'])) });

async function detect(files: Files, root?: string) {
  const site = siteOf(files);
  const detected = await detectFramework(site, root === undefined ? {} : { root });
  return { ...detected, defaults: await environmentDefaults(site, detected) };
}

const samples: [string, Files][] = [
  ['astro', { 'astro.config.mjs': '', 'package.json': manifest('astro'), 'src/pages/index.astro': '' }],
  ['starlight', { 'astro.config.mjs': '', 'package.json': manifest('astro', '@astrojs/starlight') }],
  ['hugo', { 'hugo.toml': '', 'content/_index.md': '' }],
  ['hugo', { 'config.yaml': '', 'layouts/index.html': '' }],
  ['jekyll', { '_config.yml': '', Gemfile: "gem 'jekyll', '~> 4.3'" }],
  ['eleventy', { 'eleventy.config.js': '', 'package.json': manifest('@11ty/eleventy') }],
  ['vitepress', { '.vitepress/config.ts': '', 'package.json': manifest('vitepress') }],
  ['docusaurus', { 'docusaurus.config.ts': '', 'package.json': manifest('@docusaurus/core') }],
  ['next', { 'next.config.mjs': '', 'package.json': manifest('next'), 'app/page.tsx': '' }],
  ['nextra', { 'next.config.mjs': '', 'package.json': manifest('next', 'nextra'), 'app/page.tsx': '' }],
  ['gatsby', { 'gatsby-config.js': '', 'package.json': manifest('gatsby') }],
  ['nuxt_content', { 'nuxt.config.ts': '', 'package.json': manifest('nuxt', '@nuxt/content') }],
  ['sveltekit', { 'svelte.config.js': '', 'package.json': manifest('@sveltejs/kit', 'mdsvex') }],
  ['hexo', { '_config.yml': '', 'package.json': manifest('hexo'), 'source/_posts/a.md': '' }],
  ['hexo', { '_config.yml': '', 'source/_posts/a.md': '', 'scaffolds/post.md': '' }],
  ['mkdocs', { 'mkdocs.yml': '', 'requirements.txt': 'mkdocs==1.6.1\n', 'docs/index.md': '' }],
];

describe('frameworks', () => {
  it('are one site where Hugo has configurations for its environments', async () => {
    const files = {
      'config/_default/hugo.toml': '',
      'config/production/hugo.toml': '',
      'config/production/config.toml': '',
      'content/a.md': '',
    };
    const { root, warnings } = await detect(files);
    expect([root, warnings]).toEqual(['', []]);
    const found = await discoverSchemas(siteOf(files), { sampleEntries: async () => [] });
    expect([found.contentRoot, found.warnings]).toEqual(['', []]);
  });

  it.each(samples)('%s is detected by its files', async (id, files) => {
    const { framework, root } = await detect(files);
    expect([framework?.id, root]).toEqual([id, '']);
    expect(framework?.evidence.length).toBeGreaterThan(1);
    expect(framework?.confidence).toBeGreaterThan(0.5);
  });

  it('none is found in plain pages, in a config of another tool, or in dependencies of dependencies', async () => {
    expect((await detect({ 'index.html': '', 'a.md': '' })).framework).toBeNull();
    expect((await detect({ 'config.toml': '', 'src/main.rs': '' })).framework).toBeNull();
    expect((await detect({ 'node_modules/x/astro.config.mjs': '', 'index.html': '' })).framework).toBeNull();
    expect((await detect({})).framework).toBeNull();
  });

  it('of a monorepo the site with the most evidence is taken, and the others are named', async () => {
    const files = {
      'package.json': JSON.stringify({ workspaces: ['apps/*'], devDependencies: { vite: '8' } }),
      'pnpm-lock.yaml': "packages:\n  'astro@5.1.0':\n    resolution: {}\n",
      'tools/docusaurus.config.js': '',
      'apps/web/package.json': manifest('astro'),
      'apps/web/astro.config.mjs': '',
      'apps/web/src/content/posts/a.md': '',
    };
    const found = await detect(files);
    expect(found).toMatchObject({ root: 'apps/web', framework: { id: 'astro', version: '5.1.0', confidence: 1 } });
    expect(found.warnings[0]?.message).toContain('tools');
    expect(found.defaults).toMatchObject({ root_directory: 'apps/web', package_manager: 'pnpm' });
    expect(await detect(files, 'tools')).toMatchObject({ root: 'tools', framework: { id: 'docusaurus' } });
    expect(await detect(files, 'elsewhere')).toMatchObject({ root: 'elsewhere', framework: null });
  });
});

describe('versions', () => {
  const astro = { 'astro.config.mjs': '', 'package.json': manifest('astro') };
  const locks: [string, string][] = [
    ['package-lock.json', '{"packages":{"node_modules/astro": {\n  "version": "5.2.3"}}}'],
    ['pnpm-lock.yaml', 'packages:\n\n  astro@5.2.3(x):\n'],
    ['yarn.lock', 'astro@^5.0.0:\n  version "5.2.3"\n'],
    ['yarn.lock', '__metadata:\n\n"astro@npm:^5.0.0":\n  version: 5.2.3\n'],
    ['bun.lock', '"astro": ["astro@5.2.3", ""]'],
  ];
  it.each(locks)('come from %s', async (name, text) => {
    expect((await detect({ ...astro, [name]: text })).framework?.version).toBe('5.2.3');
  });

  it('are the range of the manifest without a lock, and of Ruby those of its lock', async () => {
    expect((await detect(astro)).framework?.version).toBe('^1.2.0');
    const gems = { '_config.yml': '', Gemfile: 'gem "jekyll"', 'Gemfile.lock': 'GEM\n  specs:\n    jekyll (4.3.1)\n' };
    expect((await detect(gems)).framework?.version).toBe('4.3.1');
  });
});

describe('environment defaults', () => {
  it.each([
    [{}, 'npm', 'npm install', 'npx astro build'],
    [{ 'package-lock.json': '' }, 'npm', 'npm ci', 'npx astro build'],
    [{ 'pnpm-lock.yaml': '' }, 'pnpm', 'pnpm install --frozen-lockfile', 'pnpm exec astro build'],
    [{ 'yarn.lock': '' }, 'yarn', 'yarn install --frozen-lockfile', 'yarn run astro build'],
    [{ 'yarn.lock': '__metadata:\n' }, 'yarn', 'yarn install --immutable', 'yarn run astro build'],
    [{ 'bun.lock': '' }, 'bun', 'bun install --frozen-lockfile', 'bunx astro build'],
  ])('follow the lock file: %o', async (lock, package_manager, install_command, build_command) => {
    const { defaults } = await detect({ 'astro.config.mjs': '', 'package.json': manifest('astro'), ...lock });
    const expected = { package_manager, install_command, build_command, output_directory: 'dist', root_directory: '' };
    expect(defaults).toEqual(expected);
  });

  it('prefer the script of the package, and the output directory of the configuration', async () => {
    const scripts = JSON.stringify({ scripts: { build: 'x' }, devDependencies: { '@11ty/eleventy': '3.0.0' } });
    const files = {
      'package.json': scripts,
      'eleventy.config.js': 'export const config = { dir: { output: "gone" } };',
      'astro.config.mjs': '',
    };
    expect((await detect(files)).defaults.build_command).toBe('npm run build');
    const astro = { 'package.json': manifest('astro'), 'astro.config.mjs': 'export default { outDir: "./www/" }' };
    expect((await detect(astro)).defaults.output_directory).toBe('www');
    const escaping = { ...astro, 'astro.config.mjs': 'export default { outDir: "../www" }' };
    expect((await detect(escaping)).defaults.output_directory).toBe('dist');
    const hugo = { 'hugo.toml': 'publishdir = "docs"', 'content/a.md': '' };
    expect((await detect(hugo)).defaults).toMatchObject({ output_directory: 'docs', install_command: null });
  });

  it.each([
    ['an object it exports', 'export const config = { dir: { output: "www" } };', 'www'],
    [
      'what its function returns',
      'export default (config) => { config.x(); return { dir: { output: "./www" } }; };',
      'www',
    ],
    ['a call of its function', 'module.exports = (config) => { config.setOutputDirectory("www"); };', 'www'],
    ['a directory outside of the site', 'export const config = { dir: { output: "../www" } };', '_site'],
    ['nothing', 'export default () => {};', '_site'],
  ])('are those that the configuration of Eleventy names by %s', async (_how, code, output) => {
    const files = { 'package.json': manifest('@11ty/eleventy'), 'eleventy.config.js': code };
    expect((await detect(files)).defaults.output_directory).toBe(output);
  });

  it('run where the manifest is: the docs of a package are built from its directory', async () => {
    const files = {
      'package.json': JSON.stringify({ devDependencies: { vitepress: '1.6.4' } }),
      'docs/.vitepress/config.mts': '',
    };
    expect((await detect(files)).defaults).toEqual({
      root_directory: '',
      package_manager: 'npm',
      install_command: 'npm install',
      build_command: 'npx vitepress build docs',
      output_directory: 'docs/.vitepress/dist',
    });
  });

  it('publish the files as they are without a framework', async () => {
    expect((await detect({ 'index.html': '' })).defaults).toMatchObject({ build_command: null, output_directory: '' });
    expect((await detect({ 'public/index.html': '' })).defaults.output_directory).toBe('public');
  });
});
