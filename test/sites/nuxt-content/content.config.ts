import { defineCollection, defineContentConfig } from '@nuxt/content';

export default defineContentConfig({
  collections: {
    docs: defineCollection({ type: 'page', source: { include: 'docs/**/*.md', exclude: ['docs/internal/**'], prefix: '/manual' } }),
    blog: defineCollection({ type: 'page', source: 'blog/**/*.md' }),
    home: defineCollection({ type: 'page', source: '*.md' }),
    authors: defineCollection({ type: 'data', source: 'authors/*.yml' }),
  },
});
