import mdx from '@astrojs/mdx';
import { defineConfig } from 'astro/config';

const base = '/base';

export default defineConfig({
  site: 'https://example.org',
  base,
  trailingSlash: 'always',
  i18n: { defaultLocale: 'en', locales: ['en', 'fr'], routing: { prefixDefaultLocale: false } },
  integrations: [mdx()],
});
