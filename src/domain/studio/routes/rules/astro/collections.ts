import { astroReader } from '../../../schema/astro/astro-reader.ts';
import { below, joinPath } from '../../../schema/site-layout.ts';
import { nodesOf, parseModule } from '../../../schema/static/syntax.ts';
import type { RouteReading } from '../rule.ts';

/** The collections of a site, as far as the ids of their entries go. */
export interface AstroCollections {
  /** Name of a file's collection and its path below the collection's base; null outside all. */
  of(path: string): { name: string; rest: string } | null;
  /** The loaders make ids by functions of their own. */
  ownIds: boolean;
}

export async function readCollections(reading: RouteReading): Promise<AstroCollections> {
  // What is unclear of the schemas is told where the schemas are.
  const drafts = await astroReader.read({ ...reading, layout: { ...reading.layout, locales: null }, warnings: [] });
  const declared = drafts.map(({ schema }) => schema);
  const content = joinPath(reading.layout.root, 'src/content');
  return {
    of(path) {
      const schema = declared.find((one) => one.matches(path));
      if (schema) return { name: schema.collection, rest: below(schema.path, path) ?? path };
      // Older sites need no declaration: every directory is a collection.
      const rest = declared.length > 0 ? null : below(content, path);
      const slash = rest?.indexOf('/') ?? -1;
      if (rest === null || slash === -1 || rest.split('/').some((part) => part.startsWith('_'))) return null;
      return { name: rest.slice(0, slash), rest: rest.slice(slash + 1) };
    },
    ownIds: await hasOwnIds(declared[0]?.source.path, reading),
  };
}

async function hasOwnIds(path: string | undefined, { site }: RouteReading): Promise<boolean> {
  const text = path === undefined ? null : await site.read(path);
  if (path === undefined || !text?.includes('generateId')) return false;
  try {
    for (const node of nodesOf(await parseModule(path, text)))
      if (node.type === 'Identifier' && node.name === 'generateId') return true;
  } catch {
    return false;
  }
  return false;
}
