import { themes } from 'prism-react-renderer';

const languages = ['en', 'fr'];

export default {
  title: 'Sample',
  url: 'https://example.org',
  baseUrl: '/base/',
  onBrokenLinks: 'ignore',
  i18n: { defaultLocale: languages[0], locales: languages },
  presets: [
    [
      'classic',
      {
        docs: {
          path: '../docs',
          routeBasePath: 'handbook',
          exclude: ['**/internal/**', '**/_*.{js,jsx,ts,tsx,md,mdx}', '**/_*/**'],
          lastVersion: '1.0',
          versions: { current: { label: 'Coming', path: 'coming' }, '2.0': { path: 'two' } },
        },
        blog: { showReadingTime: false, routeBasePath: 'news', onUntruncatedBlogPosts: 'ignore', onInlineAuthors: 'ignore' },
      },
    ],
  ],
  plugins: [
    ['@docusaurus/plugin-content-docs', { id: 'api', path: 'api-docs', routeBasePath: 'api', numberPrefixParser: false }],
    ['@docusaurus/plugin-content-docs', { id: 'recipes', path: 'recipes', routeBasePath: '/recipes', include: ['**/*.md'] }],
    ['content-blog', { id: 'log', path: 'log', routeBasePath: 'log', onUntruncatedBlogPosts: 'ignore' }],
  ],
  themeConfig: { prism: { theme: themes.github } },
};
