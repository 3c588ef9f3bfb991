import { expect } from 'vitest';
import { discoveryOf, discoveryText } from '../../../../src/domain/studio/content/stored/schema-store.ts';
import type { Discovery, EntrySample, SiteFiles } from '../../../../src/domain/studio/schema/collection-schema.ts';
import { discoverSchemas } from '../../../../src/domain/studio/schema/discover.ts';
import type { SchemaField } from '../../../../src/domain/studio/schema/schema.schema.ts';

type Files = Record<string, string>;

/** A site in memory; `reads` records what was read. */
export function siteOf(files: Files): SiteFiles & { reads: string[] } {
  const reads: string[] = [];
  return {
    paths: Object.keys(files).map((path, at) => ({ path, oid: String(at).padStart(40, '0') })),
    reads,
    read: async (path) => {
      reads.push(path);
      return Object.hasOwn(files, path) ? (files[path] ?? null) : null;
    },
  };
}

/** Discovers the schemas of files; entries are JSON texts, or anything else for an empty frontmatter. */
export async function discover(files: Files, contentRoot?: string): Promise<Discovery & { reads: string[] }> {
  const site = siteOf(files);
  const sampleEntries = async (paths: readonly string[]): Promise<EntrySample[]> =>
    paths.map((path) => {
      const text = files[path] ?? '';
      return { path, frontmatter: text.startsWith('{') ? JSON.parse(text) : {} };
    });
  const found = await discoverSchemas(
    site,
    contentRoot === undefined ? { sampleEntries } : { contentRoot, sampleEntries },
  );
  checkStored(found, Object.keys(files).slice(0, 200), site.reads);
  return { ...found, reads: site.reads };
}

/** Whatever is discovered can be stored: it comes back the same, and names all files that were read for it. */
function checkStored(found: Discovery, paths: readonly string[], reads: readonly string[]): void {
  const again = discoveryOf(discoveryText(found));
  const plain = ({ schemas, ...rest }: Discovery) => [rest, schemas.map(({ matches: _, ...schema }) => schema)];
  expect(plain(again)).toEqual(plain(found));
  const near = paths.flatMap((path) => [path, `x/${path}`, path.replace(/[^/]*$/, '_$&'), path.replace('.', '-2.')]);
  for (const [at, { matches }] of found.schemas.entries()) {
    expect(near.filter((path) => again.schemas[at]?.matches(path))).toEqual(near.filter(matches));
  }
  const known = new Set(found.dependencies);
  expect(reads.filter((path) => paths.includes(path) && !known.has(path))).toEqual([]);
}

export const header = `import { defineCollection, z, reference } from 'astro:content';
import { glob, file } from 'astro/loaders';
`;

/** The fields of one collection `posts` with this schema expression. */
export async function foldSchema(schema: string, before = '', more: Files = {}) {
  const config = `${header}${before}
export const collections = { posts: defineCollection({ schema: ${schema} }) };`;
  const found = await discover({ 'src/content.config.ts': config, 'src/content/posts/a.md': '', ...more });
  const posts = found.schemas.find((schema) => schema.collection === 'posts');
  if (!posts) throw new Error('no collection was found');
  const field = (name: string) => posts.fields.find((one) => one.name === name);
  return { ...found, posts, field };
}

/** One field without the noise of its defaults. */
export async function foldField(zod: string, before = ''): Promise<Partial<SchemaField>> {
  const { field } = await foldSchema(`z.object({ it: ${zod} })`, before);
  const { name: _name, list, required, ...rest } = field('it') ?? ({} as SchemaField);
  return { ...rest, ...(list ? { list } : {}), ...(required ? {} : { required }) };
}
