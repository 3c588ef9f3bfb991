import { seeded } from './statistics.ts';

export interface ContentFile {
  path: string;
  content: Buffer;
}

/** How many posts a site has, and over how many directories they are spread; 0: all lie in one. */
export interface Site {
  posts: number;
  directories: number;
}

const common = (
  'the a of and to in is that for with on as by at from it this which when while after before under over between without ' +
  'garden seed frost pear wall glass pane barrel rain moth night table mulberry compost bay pond plan bee hive label rust spade root ' +
  'shade trellis bench lantern gravel orchard winter spring ladder basket twine hedge gate path shelf jar vinegar honey clay kiln'
).split(' ');
const syllables = 'ba de fi go lu ma ne pi ro su ta ve wi xo zu ka bre cla dro fle gri plo sta tru'.split(' ');
export const tags = ['garden', 'tools', 'kitchen', 'winter', 'spring', 'bees', 'glass', 'notes', 'history', 'howto'];

const vocabularySize = 30_000;

/** The word of a rank from 0: the lower, the more often it stands in a post. Rare ones are made of syllables. */
export function wordOf(rank: number): string {
  const known = common[rank];
  if (known !== undefined) return known;
  let word = '';
  for (let rest = rank; rest > 0 || word.length < 6; rest = Math.floor(rest / syllables.length)) {
    word += syllables[rest % syllables.length];
  }
  return `${word}n`;
}

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
export function slugOf(number: number, { directories }: Site): string {
  const slug = `post-${String(number).padStart(6, '0')}`;
  return directories === 0 ? slug : `d${String(number % directories).padStart(2, '0')}/${slug}`;
}
export const pathOf = (number: number, site: Site) => `src/content/posts/${slugOf(number, site)}.md`;

/** The post with a number: the same bytes whenever and in whatever order it is generated. */
export function postOf(number: number): string {
  const random = seeded(20_260 + number);
  const below = (limit: number) => Math.floor(random() * limit);
  const tag = () => tags[below(tags.length)] ?? '';
  // As in any language a word's frequency falls with its rank.
  const word = () => wordOf(Math.floor(vocabularySize ** random()) - 1);
  const sentence = () => {
    const text = Array.from({ length: 5 + below(14) }, word).join(' ');
    return `${text.charAt(0).toUpperCase()}${text.slice(1)}.`;
  };
  const paragraph = () => Array.from({ length: 2 + below(5) }, sentence).join(' ');
  const day = new Date(Date.UTC(2012, 0, 1) + below(5_000) * 86_400_000).toISOString().slice(0, 10);
  const chosen = new Set([tag(), tag(), tag()]);
  const title = `${sentence().slice(0, 50).replace(/\W+$/, '')} ${number}`;
  // Most posts are short and some are long: the square of an even spread.
  const body = Array.from({ length: 1 + Math.floor(random() ** 2 * 8) }, () => {
    const points = Array.from({ length: below(5) }, () => `- **${word()}**: ${sentence()}\n`);
    return `## ${sentence().replace('.', '')}\n\n${paragraph()}\n\n${paragraph()}\n${points.length > 0 ? `\n${points.join('')}` : ''}`;
  }).join('\n');
  const list = [...chosen].map((name) => `  - ${name}\n`).join('');
  return `---\ntitle: "${title}"\ndate: ${day}\ntags:\n${list}draft: ${random() < 0.1}\n---\n\n${body}`;
}

/** All files of a site with one collection of posts, one after the other. */
export function* siteFiles(site: Site): Generator<ContentFile> {
  yield { path: 'package.json', content: Buffer.from(manifest) };
  yield { path: 'src/content.config.ts', content: Buffer.from(config) };
  for (let number = 0; number < site.posts; number += 1) {
    yield { path: pathOf(number, site), content: Buffer.from(postOf(number)) };
  }
}

/** How many files {@link siteFiles} gives. */
export const fileCount = ({ posts }: Site) => posts + 2;

/** Bytes that do not compress, such as those of pictures: a series of 32-bit words (xorshift). */
export function noise(bytes: number, seed: number): Buffer {
  const words = new Uint32Array(Math.ceil(bytes / 4));
  let state = (seed + 1) * 0x9e3779b1;
  for (let at = 0; at < words.length; at += 1) {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    words[at] = state;
  }
  return Buffer.from(words.buffer, 0, bytes);
}
