import { defineConfig, passthroughImageService } from 'astro/config';

export default defineConfig({
  site: 'https://garden.example',
  trailingSlash: 'always',
  // Both languages are in the address, and the bare `/` is a page of its own instead of a redirect.
  i18n: {
    locales: ['en', 'de'],
    defaultLocale: 'en',
    routing: { prefixDefaultLocale: true, redirectToDefaultLocale: false },
  },
  // The pictures are drawn at the size they are shown, so the build needs no image library.
  image: { service: passthroughImageService() },
});
