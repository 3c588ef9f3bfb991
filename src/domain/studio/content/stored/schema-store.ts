import { createHash } from 'node:crypto';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { ContentCache, SchemaRow } from '../../../ports/content-cache.ts';
import type { Discovery, SiteFiles } from '../../schema/collection-schema.ts';
import { discoveryOf, discoveryText, discoveryVersion } from '../../schema/discovery-text.ts';
import { listingDigest } from '../../schema/listing-digest.ts';
import { configurationFiles } from '../../schema/site-layout.ts';
import { readerVersion } from '../entry-facts.ts';

/** A tree whose site is wanted. */
export interface SiteTree {
  repository: string;
  tree: string;
  /** null: found by its configuration. */
  contentRoot: string | null;
  paths: SiteFiles['paths'];
}

const digestOf = (parts: unknown) => createHash('sha256').update(JSON.stringify(parts)).digest('hex').slice(0, 32);

/** The key under which a site's schemas are found by its tree, and the one by its configuration. */
function keysOf({ contentRoot, tree, paths }: SiteTree): Record<Discovery['scope'], string> {
  const reader = [discoveryVersion, readerVersion, contentRoot];
  const configuration = configurationFiles(paths).map(({ path, oid }) => [path, oid]);
  return { tree: digestOf([...reader, tree]), configuration: digestOf([...reader, configuration]) };
}

/** What a discovery depends on beside its key; equal ones mean that it holds for the tree. */
function variantOf({ paths, contentRoot }: SiteTree, discovery: Discovery): string {
  if (discovery.scope === 'tree') return digestOf(null);
  const wanted = new Set(discovery.dependencies);
  const read = paths.filter(({ path }) => wanted.has(path)).map(({ path, oid }) => [path, oid]);
  const names = paths.map(({ path }) => path);
  return digestOf([read, listingDigest(names, discovery, contentRoot ?? undefined)]);
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
    const rows = await this.#cache.schemas(site.repository, Object.values(keysOf(site)));
    for (const { variant, text } of rows ?? []) {
      const discovery = discoveryOf(text);
      if (variantOf(site, discovery) === variant) return discovery;
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
    // Whoever waits for the site goes first.
    await nextTurn();
    const key = keysOf(site)[discovery.scope];
    const row: SchemaRow = { key, variant: variantOf(site, discovery), text: discoveryText(discovery) };
    await this.#cache.storeSchemas(site.repository, row);
  }
}
