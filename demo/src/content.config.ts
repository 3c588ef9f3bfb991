import { defineCollection, reference } from 'astro:content';
import { glob } from 'astro/loaders';
import { z } from 'astro/zod';

// The first directory of a post or page is its language. What follows is the same in all: `de/first-frost` translates
// `en/first-frost`.
const posts = defineCollection({
  loader: glob({ pattern: '**/*.md', base: './src/content/posts' }),
  schema: ({ image }) =>
    z.object({
      title: z.string().max(80),
      description: z.string().max(200),
      date: z.coerce.date(),
      updated: z.coerce.date().optional(),
      draft: z.boolean().default(false),
      tags: z.array(z.string()).default([]),
      cover: image().optional(),
      cover_alt: z.string().optional(),
      author: reference('authors'),
      related: z.array(reference('posts')).default([]),
      season: z.enum(['spring', 'summer', 'autumn', 'winter']).optional(),
    }),
});

const pages = defineCollection({
  loader: glob({ pattern: '**/*.md', base: './src/content/pages' }),
  schema: ({ image }) =>
    z.object({
      title: z.string().max(80),
      description: z.string().max(200),
      cover: image().optional(),
      cover_alt: z.string().optional(),
      // Pages with an order appear in the menu, smallest first.
      menu_order: z.number().int().optional(),
    }),
});

const authors = defineCollection({
  loader: glob({ pattern: '*.yaml', base: './src/content/authors' }),
  schema: z.object({
    name: z.string(),
    role: z.object({ en: z.string(), de: z.string() }),
    bio: z.object({ en: z.string(), de: z.string() }),
    color: z.string().regex(/^#[0-9a-f]{6}$/i),
  }),
});

export const collections = { posts, pages, authors };
