import { defineConfig, passthroughImageService } from 'astro/config';

export default defineConfig({
  site: 'https://garden.example',
  trailingSlash: 'always',
  // The pictures are drawn at the size they are shown, so the build needs no image library.
  image: { service: passthroughImageService() },
});
