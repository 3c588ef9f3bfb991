const page = '# A page\n';

/** Rewrites, excluded files, two languages, and clean addresses or not. */
export const vitepressSite = (cleanUrls: boolean): Record<string, string> => ({
  '.vitepress/config.mts': `import { defineConfig } from 'vitepress';
const prefix = 'base';
export default defineConfig({
  title: 'Sample',
  base: \`/\${prefix}/\`,
  srcDir: './pages',
  cleanUrls: ${cleanUrls},
  srcExclude: ['**/README.md', 'drafts/**'],
  ignoreDeadLinks: true,
  rewrites: {
    'packages/:name/src/:page': ':name/:page',
    'old/:rest*': 'new/:rest*',
    'single.md': 'moved/index.md',
  },
  locales: { root: { label: 'English', lang: 'en' }, fr: { label: 'Français', lang: 'fr' } },
});
`,
  'pages/index.md': page,
  'pages/about.md': page,
  'pages/README.md': page,
  'pages/Upper Case.md': page,
  'pages/drafts/a.md': page,
  'pages/guide/index.md': page,
  'pages/guide/getting-started.md': page,
  'pages/guide/v1.2.md': page,
  'pages/guide/deep/er/page.md': page,
  'pages/packages/one/src/intro.md': page,
  'pages/packages/two/src/index.md': page,
  'pages/old/a.md': page,
  'pages/old/b/c.md': page,
  'pages/single.md': page,
  'pages/fr/index.md': page,
  'pages/fr/guide/getting-started.md': page,
  'pages/items/[id].md': page,
  'pages/items/[id].paths.js': "export default { paths: () => [{ params: { id: 'one' } }] };\n",
});
