import { defineCollection, reference } from 'astro:content';
import { file, glob } from 'astro/loaders';
import { z } from 'astro/zod';

const posts = defineCollection({
  loader: glob({ pattern: '**/[^_]*.{md,mdx}', base: './src/content/posts' }),
  schema: z.object({ title: z.string(), author: reference('authors').optional(), draft: z.boolean().default(false) }),
});
const notes = defineCollection({
  loader: glob({ pattern: '**/*.md', base: './notes' }),
  schema: z.object({ title: z.string() }),
});
const projects = defineCollection({
  loader: glob({ pattern: '*.md', base: './src/content/projects' }),
  schema: z.object({ title: z.string(), address: z.string() }),
});
const snippets = defineCollection({
  loader: glob({ pattern: '**/*.md', base: './src/content/snippets' }),
  schema: z.object({ title: z.string() }),
});
const authors = defineCollection({ loader: file('src/data/authors.json'), schema: z.object({ name: z.string() }) });

export const collections = { posts, notes, projects, snippets, authors };
