import { defineConfig } from 'vitepress';
const prefix = 'base';
export default defineConfig({
  title: 'Sample',
  base: `/${prefix}/`,
  srcDir: './pages',
  cleanUrls: true,
  srcExclude: ['**/README.md', 'drafts/**'],
  ignoreDeadLinks: true,
  rewrites: {
    'packages/:name/src/:page': ':name/:page',
    'old/:rest*': 'new/:rest*',
    'single.md': 'moved/index.md',
  },
  locales: { root: { label: 'English', lang: 'en' }, fr: { label: 'Français', lang: 'fr' } },
});
