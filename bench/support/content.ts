import { seeded } from './statistics.ts';

export interface ContentFile {
  path: string;
  content: Buffer;
}

const words = (
  'garden seed frost pear wall glass pane barrel rain moth night table mulberry compost bay pond plan bee hive label rust spade root ' +
  'shade trellis bench lantern gravel orchard winter spring ladder basket twine hedge gate path shelf jar vinegar honey clay kiln ' +
  'the a of and to in is that for with on as by at from it this which when while after before under over between without'
).split(' ');
const tags = ['garden', 'tools', 'kitchen', 'winter', 'spring', 'bees', 'glass', 'notes', 'history', 'howto'];

const config = `import { defineCollection } from 'astro:content';
import { glob } from 'astro/loaders';
import { z } from 'astro/zod';

const posts = defineCollection({
  loader: glob({ pattern: '**/*.md', base: './src/content/posts' }),
  schema: z.object({
    title: z.string(),
    date: z.coerce.date(),
    tags: z.array(z.string()).default([]),
    draft: z.boolean().default(false),
  }),
});

export const collections = { posts };
`;

const manifest = `${JSON.stringify({ name: 'bench-site', type: 'module', dependencies: { astro: '^5.0.0' } }, null, 2)}\n`;

/** Slug of the post with a number from 0. */
export const slugOf = (number: number) => `post-${String(number).padStart(5, '0')}`;
export const pathOf = (number: number) => `src/content/posts/${slugOf(number)}.md`;
export { tags };

function post(random: () => number, number: number): string {
  const pick = <T>(from: readonly T[], otherwise: T): T => from[Math.floor(random() * from.length)] ?? otherwise;
  const sentence = () => {
    const text = Array.from({ length: 5 + Math.floor(random() * 14) }, () => pick(words, 'garden')).join(' ');
    return `${text.charAt(0).toUpperCase()}${text.slice(1)}.`;
  };
  const paragraph = () => Array.from({ length: 2 + Math.floor(random() * 5) }, sentence).join(' ');
  const day = new Date(Date.UTC(2012, 0, 1) + Math.floor(random() * 5_000) * 86_400_000).toISOString().slice(0, 10);
  const chosen = new Set([pick(tags, 'notes'), pick(tags, 'notes'), pick(tags, 'notes')]);
  const title = `${sentence().slice(0, 50).replace(/\W+$/, '')} ${number}`;
  // Most posts are short and some are long: the square of an even spread.
  const sections = 1 + Math.floor(random() ** 2 * 8);
  const body = Array.from({ length: sections }, () => {
    const points = Array.from(
      { length: Math.floor(random() * 5) },
      () => `- **${pick(words, 'seed')}**: ${sentence()}\n`,
    );
    return `## ${sentence().replace('.', '')}\n\n${paragraph()}\n\n${paragraph()}\n${points.length > 0 ? `\n${points.join('')}` : ''}`;
  }).join('\n');
  const list = [...chosen].map((tag) => `  - ${tag}\n`).join('');
  return `---\ntitle: "${title}"\ndate: ${day}\ntags:\n${list}draft: ${random() < 0.1}\n---\n\n${body}`;
}

/** A site with one flat collection of posts; the same number of posts gives the same bytes. */
export function siteFiles(posts: number): ContentFile[] {
  const random = seeded(20_260);
  const files = [
    { path: 'package.json', text: manifest },
    { path: 'src/content.config.ts', text: config },
    ...Array.from({ length: posts }, (_, number) => ({ path: pathOf(number), text: post(random, number) })),
  ];
  return files.map(({ path, text }) => ({ path, content: Buffer.from(text) }));
}
