const page = (more = 'title: A page') => `---\n${more}\n---\n\nText\n`;

/** A base, a root language and another one, slugs, capitals and spaces, drafts, MDX, and a page beside the documentation. */
export const starlightSite: Record<string, string> = {
  'astro.config.mjs': `import starlight from '@astrojs/starlight';
import { defineConfig } from 'astro/config';

export default defineConfig({
  site: 'https://example.org',
  base: '/handbook',
  integrations: [
    starlight({
      title: 'Sample',
      pagefind: false,
      locales: { root: { label: 'English', lang: 'en' }, de: { label: 'Deutsch' } },
    }),
  ],
});
`,
  'src/content.config.ts': `import { docsLoader } from '@astrojs/starlight/loaders';
import { docsSchema } from '@astrojs/starlight/schema';
import { defineCollection } from 'astro:content';

export const collections = { docs: defineCollection({ loader: docsLoader(), schema: docsSchema() }) };
`,
  'src/content/docs/index.mdx': page('title: Home\ntemplate: splash'),
  'src/content/docs/guides/index.md': page(),
  'src/content/docs/guides/First Steps.md': page(),
  'src/content/docs/guides/v1.2-notes.md': page(),
  'src/content/docs/guides/slugged.md': page('title: S\nslug: elsewhere/given'),
  'src/content/docs/guides/hidden.md': page('title: H\ndraft: true'),
  'src/content/docs/guides/_part.md': page(),
  'src/content/docs/guides/component.mdx': page(),
  'src/content/docs/reference/deep/er/page.md': page(),
  'src/content/docs/de/index.md': page('title: Start'),
  'src/content/docs/de/guides/index.md': page(),
  'src/content/docs/de/guides/First Steps.md': page(),
  'src/pages/about.astro': '<html><body><h1>About</h1></body></html>\n',
};
