import { createHash } from 'node:crypto';
import type { CollectionDescription, Discovery } from './collection-schema.ts';
import { byUse } from './inferred-groups.ts';
import { membership } from './path-set.ts';
import { dataExtensions, extensionOf, findSite, markdownExtensions, mediaRootsOf } from './site-layout.ts';

const content = [...markdownExtensions, ...dataExtensions];
/** Of files that found collections, and of those that configurations import. */
const telling: ReadonlySet<string> = new Set([...content, ...['ts', 'mts', 'cts', 'tsx', 'js', 'mjs', 'cjs', 'jsx']]);

/**
 * Names all that a discovery of scope `configuration` took from how files are named: where sites and media directories are, which extensions the
 * collections use, and which files are in none or in several. Of two listings with equal digests and configurations the discoveries are equal.
 * @param contentRoot the one that was given to the discovery
 */
export function listingDigest(
  paths: readonly string[],
  { schemas }: Pick<Discovery, 'schemas'>,
  contentRoot: string | undefined,
): string {
  const site = findSite(paths, contentRoot);
  const { owned, free, shared } = share(paths, schemas);
  const extensions = [...owned].map(([name, own]) => {
    const used = new Set(own.map(extensionOf));
    return [name, byUse(own, content).filter((extension) => used.has(extension))];
  });
  const parts = [site, mediaRootsOf(paths, site), extensions, shared, free];
  return createHash('sha256').update(JSON.stringify(parts)).digest('hex').slice(0, 32);
}

/** Which paths each collection could have, which of those that tell something nobody could, and whether some have several. */
function share(paths: readonly string[], schemas: readonly CollectionDescription[]) {
  const owned = new Map<string, string[]>(schemas.map(({ collection }) => [collection, []]));
  const sets = schemas.map((schema) => ({ name: schema.collection, holds: membership(schema.paths) }));
  const free: string[] = [];
  let shared = false;
  for (const path of paths) {
    const owners = sets.filter(({ holds }) => holds(path));
    for (const { name } of owners) owned.get(name)?.push(path);
    if (owners.length > 1) shared = true;
    if (owners.length === 0 && telling.has(extensionOf(path))) free.push(path);
  }
  return { owned, free, shared };
}
