/** A small Astro site with two languages, comments in its frontmatter, and authors that posts require. */
export const siteFiles: Record<string, string> = {
  'astro.config.mjs': `import { defineConfig } from 'astro/config';
export default defineConfig({ i18n: { locales: ['en', 'de'], defaultLocale: 'en' } });
`,
  'src/content.config.ts': `import { defineCollection, reference } from 'astro:content';
import { glob } from 'astro/loaders';
import { z } from 'astro/zod';
const posts = defineCollection({
  loader: glob({ pattern: '**/*.md', base: './src/content/posts' }),
  schema: z.object({
    title: z.string().max(80),
    date: z.coerce.date().optional(),
    draft: z.boolean().default(false),
    tags: z.array(z.string()).default([]),
    rating: z.number().min(0).max(5).optional(),
    author: reference('authors'),
  }),
});
const authors = defineCollection({
  loader: glob({ pattern: '*.yaml', base: './src/content/authors' }),
  schema: z.object({ name: z.string() }),
});
export const collections = { posts, authors };
`,
  'src/content/authors/ada.yaml': 'name: Ada\n',
  'src/content/authors/bob.yaml': 'name: Bob\n',
  'src/content/posts/en/alpha.md': `---
# What readers see first.
title: "Alpha"   # quoted on purpose
date: 2026-03-01
tags: [one, two]
rating: 4.5
author: ada
---

Alpha body, with café and *stars*.
`,
  'src/content/posts/en/beta.md': `---
title: Beta
date: 2026-02-01
draft: true
tags:
  - two
author: ada
---

Beta body.
`,
  'src/content/posts/en/deep/gamma.md': '---\ntitle: Gamma\nauthor: ada\nmeta:\n  score: 7\n---\n\nGamma body.\n',
  'src/content/posts/de/alpha.md': '---\ntitle: Alpha auf Deutsch\ndate: 2026-03-02\nauthor: ada\n---\n\nRumpf.\n',
  'README.md': '# Site\n',
  'public/logo.svg': '<svg xmlns="http://www.w3.org/2000/svg"/>\n',
};
