/** Recognised generators of static sites, as they are named in answers. */
export const frameworkIds = [
  'starlight',
  'astro',
  'hugo',
  'jekyll',
  'eleventy',
  'vitepress',
  'docusaurus',
  'nextra',
  'next',
  'gatsby',
  'nuxt_content',
  'sveltekit',
  'hexo',
  'mkdocs',
] as const;
export type FrameworkId = (typeof frameworkIds)[number];

export type Ecosystem = 'node' | 'ruby' | 'python' | 'go';

/** How a framework shows in a repository; patterns are of paths relative to the site's directory. */
export interface Framework {
  id: FrameworkId;
  ecosystem: Ecosystem;
  config: RegExp;
  /** Names that other tools use as well: they count only beside something typical. */
  sharedConfig?: RegExp;
  /** The first is the one whose version counts. */
  packages: readonly string[];
  typical: RegExp;
  /** It is this framework only with its package among the dependencies: the configuration is that of the one it builds on. */
  needsPackage?: true;
  /** Frameworks it builds on: where it is found, they are not. */
  over?: readonly FrameworkId[];
  /** Its own build command. */
  build: string;
  /** Where a build goes, relative to the site's directory, and the key of the configuration that says otherwise. */
  output: { directory: string; key: readonly string[] };
}

const code = '(mjs|js|ts|mts|cjs)';
const named = (name: string) => new RegExp(`^${name}\\.${code}$`);

/** In order of precedence: the first of two that score alike is taken. */
export const frameworks: readonly Framework[] = [
  {
    id: 'starlight',
    ecosystem: 'node',
    config: named('astro\\.config'),
    packages: ['@astrojs/starlight'],
    typical: /^src\/content\/docs\//,
    needsPackage: true,
    over: ['astro'],
    build: 'astro build',
    output: { directory: 'dist', key: ['outDir'] },
  },
  {
    id: 'astro',
    ecosystem: 'node',
    config: named('astro\\.config'),
    packages: ['astro'],
    typical: /^src\/(content\.config\.|content\/|pages\/)/,
    build: 'astro build',
    output: { directory: 'dist', key: ['outDir'] },
  },
  {
    id: 'hugo',
    ecosystem: 'go',
    config: /^(hugo\.(toml|ya?ml|json)|config\/_default\/(hugo|config)\.(toml|ya?ml|json))$/,
    sharedConfig: /^config\.(toml|ya?ml|json)$/,
    packages: ['hugo-extended', 'hugo-bin'],
    typical: /^(content|archetypes|layouts)\//,
    build: 'hugo',
    output: { directory: 'public', key: ['publishDir'] },
  },
  {
    id: 'jekyll',
    ecosystem: 'ruby',
    config: /^_config\.ya?ml$/,
    packages: ['jekyll', 'github-pages'],
    typical: /^_(posts|layouts|data|includes)\//,
    build: 'jekyll build',
    output: { directory: '_site', key: ['destination'] },
  },
  {
    id: 'eleventy',
    ecosystem: 'node',
    config: /^(\.eleventy\.c?js|eleventy\.config\.(js|mjs|cjs|ts|mts))$/,
    packages: ['@11ty/eleventy'],
    typical: /(^|\/)(_includes\/|[^/]+\.11tydata\.)/,
    build: 'eleventy',
    output: { directory: '_site', key: ['dir', 'output'] },
  },
  {
    id: 'vitepress',
    ecosystem: 'node',
    config: /^\.vitepress\/config(\/index)?\.(mjs|js|ts|mts)$/,
    packages: ['vitepress'],
    typical: /^index\.md$/,
    build: 'vitepress build',
    output: { directory: '.vitepress/dist', key: ['outDir'] },
  },
  {
    id: 'docusaurus',
    ecosystem: 'node',
    config: named('docusaurus\\.config'),
    packages: ['@docusaurus/core'],
    typical: /^((docs|blog)\/|sidebars\.)/,
    build: 'docusaurus build',
    output: { directory: 'build', key: [] },
  },
  {
    id: 'nextra',
    ecosystem: 'node',
    config: named('next\\.config'),
    packages: ['nextra'],
    typical: /^(src\/)?(app|pages|content)\//,
    needsPackage: true,
    over: ['next'],
    build: 'next build',
    output: { directory: 'out', key: ['distDir'] },
  },
  {
    id: 'next',
    ecosystem: 'node',
    config: named('next\\.config'),
    packages: ['next', '@next/mdx', 'contentlayer'],
    typical: /^(src\/)?(app|pages)\//,
    build: 'next build',
    output: { directory: 'out', key: ['distDir'] },
  },
  {
    id: 'gatsby',
    ecosystem: 'node',
    config: named('gatsby-(config|node)'),
    packages: ['gatsby'],
    typical: /^src\/pages\//,
    build: 'gatsby build',
    output: { directory: 'public', key: [] },
  },
  {
    id: 'nuxt_content',
    ecosystem: 'node',
    config: named('nuxt\\.config'),
    packages: ['@nuxt/content'],
    typical: /^content\//,
    build: 'nuxt generate',
    output: { directory: '.output/public', key: [] },
  },
  {
    id: 'sveltekit',
    ecosystem: 'node',
    config: named('svelte\\.config'),
    packages: ['@sveltejs/kit', 'mdsvex'],
    typical: /^src\/routes\//,
    build: 'vite build',
    output: { directory: 'build', key: [] },
  },
  {
    id: 'hexo',
    ecosystem: 'node',
    config: /^_config\.ya?ml$/,
    packages: ['hexo'],
    typical: /^(source\/_posts|scaffolds)\//,
    build: 'hexo generate',
    output: { directory: 'public', key: ['public_dir'] },
  },
  {
    id: 'mkdocs',
    ecosystem: 'python',
    config: /^mkdocs\.ya?ml$/,
    packages: ['mkdocs', 'mkdocs-material'],
    typical: /^docs\//,
    build: 'mkdocs build',
    output: { directory: 'site', key: ['site_dir'] },
  },
];

/** @throws never: every id is in the table */
export const frameworkOf = (id: FrameworkId): Framework =>
  frameworks.find((one) => one.id === id) ?? (frameworks[0] as Framework);
