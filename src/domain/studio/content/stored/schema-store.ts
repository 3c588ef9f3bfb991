import { createHash } from 'node:crypto';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { filterYielding, forEachYielding, mapYielding, setYielding } from '../../../../lib/concurrency.ts';
import { jsonBytes } from '../../../../lib/long-output.ts';
import type { ContentCache, SchemaRow } from '../../../../ports/content-cache.ts';
import type { CollectionDescription, Discovery, SiteFiles } from '../../schema/collection-schema.ts';
import { withMatches } from '../../schema/discover.ts';
import { byUse } from '../../schema/inferred-groups.ts';
import { placing } from '../../schema/path-set.ts';
import {
  configurationFiles,
  dataExtensions,
  extensionOf,
  findSite,
  markdownExtensions,
  mediaRootsOf,
} from '../../schema/site-layout.ts';
import { readerVersion } from '../entry-facts.ts';

/**
 * Counts up when a site would be read otherwise than before, or what is found would be written otherwise. What an older version stored is then not
 * found any more.
 */
export const discoveryVersion = 20;

/** Writes a discovery as JSON text. */
export function discoveryText(discovery: Discovery): string {
  return JSON.stringify({ ...discovery, schemas: discovery.schemas.map(({ matches: _, ...schema }) => schema) });
}

/** Reads what `discoveryText` of the same version wrote. */
export function discoveryOf(text: string): Discovery {
  const discovery = JSON.parse(text) as Discovery;
  return { ...discovery, schemas: withMatches(discovery.schemas, discovery.precedence) };
}

const content = [...markdownExtensions, ...dataExtensions];
/** Extensions of files that found collections or that configurations import. */
const telling: ReadonlySet<string> = new Set([...content, ...['ts', 'mts', 'cts', 'tsx', 'js', 'mjs', 'cjs', 'jsx']]);

/**
 * Names all that a discovery of scope `configuration` took from how files are named: where sites and media directories are, which extensions the
 * collections use, and which files are in none or in several. Of two listings with equal digests and configurations the discoveries are equal.
 * @param contentRoot the one that was given to the discovery
 */
export async function listingDigest(
  paths: readonly string[],
  { schemas }: Pick<Discovery, 'schemas'>,
  contentRoot: string | undefined,
): Promise<string> {
  const site = await findSite(paths, contentRoot);
  const { owned, free, shared } = await share(paths, schemas);
  const extensions: [string, string[]][] = [];
  for (const [name, own] of owned) {
    const used = await setYielding(own, extensionOf);
    extensions.push([name, (await byUse(own, content)).filter((extension) => used.has(extension))]);
  }
  return digestOf([site, await mediaRootsOf(paths, site), extensions, shared, free]);
}

/** Which paths each collection could have, which relevant paths none could, and whether some have several. */
async function share(paths: readonly string[], schemas: readonly CollectionDescription[]) {
  const owned = new Map<string, string[]>(schemas.map(({ collection }) => [collection, []]));
  const setsOf = placing(schemas.map((schema) => schema.paths));
  const free: string[] = [];
  let shared = false;
  await forEachYielding(paths, (path) => {
    const owners = setsOf(path).map((at) => schemas[at]?.collection ?? '');
    for (const name of owners) owned.get(name)?.push(path);
    if (owners.length > 1) shared = true;
    if (owners.length === 0 && telling.has(extensionOf(path))) free.push(path);
  });
  return { owned, free, shared };
}

/** A tree whose site is wanted. */
export interface SiteTree {
  repository: string;
  tree: string;
  /** null: found by its configuration. */
  contentRoot: string | null;
  paths: SiteFiles['paths'];
}

const digestOf = async (parts: unknown) =>
  createHash('sha256')
    .update(await jsonBytes(parts))
    .digest('hex')
    .slice(0, 32);

/** The key under which a site's schemas are found by its tree, and the one by its configuration. */
async function keysOf({ contentRoot, tree, paths }: SiteTree): Promise<Record<Discovery['scope'], string>> {
  const reader = [discoveryVersion, readerVersion, contentRoot];
  const configuration = await mapYielding(await configurationFiles(paths), ({ path, oid }) => [path, oid]);
  return { tree: await digestOf([...reader, tree]), configuration: await digestOf([...reader, configuration]) };
}

/** What a discovery depends on beside its key; equal ones mean that it holds for the tree. */
async function variantOf({ paths, contentRoot }: SiteTree, discovery: Discovery): Promise<string> {
  if (discovery.scope === 'tree') return digestOf(null);
  const wanted = new Set(discovery.dependencies);
  const files = await filterYielding(paths, ({ path }) => wanted.has(path));
  const read = files.map(({ path, oid }) => [path, oid]);
  const names = await mapYielding(paths, ({ path }) => path);
  return digestOf([read, await listingDigest(names, discovery, contentRoot ?? undefined)]);
}

/**
 * Keeps what was discovered, for other processes and for after a restart. Sites that say all in their configuration are shared by all branches that
 * have the same one; of others the whole tree must be the same.
 */
export class SchemaStore {
  readonly #cache: Pick<ContentCache, 'schemas' | 'storeSchemas'>;
  readonly #storing = new Set<Promise<unknown>>();

  constructor(cache: Pick<ContentCache, 'schemas' | 'storeSchemas'>) {
    this.#cache = cache;
  }

  /** What discovery would find; null when it has to be done. */
  async find(site: SiteTree): Promise<Discovery | null> {
    const rows = await this.#cache.schemas(site.repository, Object.values(await keysOf(site)));
    for (const { variant, text } of rows ?? []) {
      const discovery = discoveryOf(text);
      if ((await variantOf(site, discovery)) === variant) return discovery;
    }
    return null;
  }

  /** Stores a discovery in the background. */
  keep(site: SiteTree, discovery: Discovery): void {
    const stored = this.#store(site, discovery);
    this.#storing.add(stored);
    stored.finally(() => this.#storing.delete(stored));
  }

  /** Resolves when nothing is being stored. */
  async settled(): Promise<void> {
    while (this.#storing.size > 0) await Promise.all(this.#storing);
  }

  async #store(site: SiteTree, discovery: Discovery): Promise<void> {
    // Requests that wait for the site go first.
    await nextTurn();
    const key = (await keysOf(site))[discovery.scope];
    const row: SchemaRow = { key, variant: await variantOf(site, discovery), text: discoveryText(discovery) };
    await this.#cache.storeSchemas(site.repository, row);
  }
}
