import { LRUCache } from 'lru-cache';
import type { Repository } from '../../../ports/git.ts';
import type { Snapshot } from '../../../ports/git-records.ts';
import type { Discovery, SiteFiles } from '../schema/collection-schema.ts';
import { discoverSchemas } from '../schema/discover.ts';
import { collectionNamePattern } from '../schema/schema.schema.ts';
import { configurationFiles } from '../schema/site-layout.ts';
import { viewOf } from '../view.ts';
import { type EntryFacts, type Place, unreadable } from './entry-facts.ts';
import { siteFilesOf } from './site-files.ts';
import { advanceSite, buildSite, type ListedSite, type SiteIndex, type TreeDifference } from './site-index.ts';
import type { SchemaStore, SiteTree } from './stored/schema-store.ts';

const contentFile = /\.(?:md|mdx|markdown|mdoc|ya?ml|json|toml)$/i;

/** Files that could found a collection nobody knows yet. */
const mayFound = (path: string) => contentFile.test(path);

/** Whether a tree that differs by this from a site's may have other schemas. */
function changesSchemas(site: SiteIndex, { added, removed, modified }: TreeDifference): boolean {
  const { dependencies, schemas } = site.discovery;
  const all = [...added, ...removed, ...modified];
  if (configurationFiles(all).length > 0 || all.some((file) => dependencies.includes(file.path))) return true;
  if (added.some((file) => mayFound(file.path) && !schemas.some((schema) => schema.matches(file.path)))) return true;
  // An inferred collection is there because files are.
  return removed.some((file) => {
    const owner = schemas.find((schema) => schema.matches(file.path));
    const left = owner ? (site.collections.get(owner.collection)?.entries.length ?? 0) : 2;
    return owner?.inferred === true && left <= removed.length;
  });
}

type ReadFacts = (git: Repository, snapshot: Snapshot, files: readonly Place[]) => Promise<readonly EntryFacts[]>;

/** Sites by their trees, and the last one of each repository to go on from; shared by all content roots. */
export class SiteCache {
  readonly trees = new LRUCache<string, Promise<ListedSite>>({ max: 64 });
  readonly latest = new LRUCache<string, ListedSite>({ max: 64 });
}

/** The sites that trees hold, read below one content root. */
export class Sites {
  readonly #cache: SiteCache;
  readonly #facts: ReadFacts;
  readonly #stored: SchemaStore;
  readonly #contentRoot: string | null;

  /** @param contentRoot directory of the site that a project has chosen; null: found by its configuration */
  constructor(
    cache: SiteCache,
    { facts, stored }: { facts: ReadFacts; stored: SchemaStore },
    contentRoot: string | null,
  ) {
    this.#cache = cache;
    this.#facts = facts;
    this.#stored = stored;
    this.#contentRoot = contentRoot;
  }

  #key({ id }: Repository, tree = ''): string {
    return JSON.stringify([id, this.#contentRoot, tree]);
  }

  get #options(): { contentRoot?: string } {
    return this.#contentRoot === null ? {} : { contentRoot: this.#contentRoot };
  }

  /** The site at a tree: from the cache, by advancing the last one of the repository, or by discovery. `onMade`: it was not in the cache. */
  at(git: Repository, snapshot: Snapshot, onMade: (site: SiteIndex) => void): Promise<SiteIndex> {
    const { trees } = this.#cache;
    const key = this.#key(git, snapshot.tree ?? '');
    const known = trees.get(key);
    if (known) return known;
    const made = this.#make(git, snapshot);
    trees.set(key, made);
    made.then(onMade, () => trees.delete(key));
    return made;
  }

  /** Discovers the schemas of a tree again, whatever is cached. */
  async refresh(git: Repository, snapshot: Snapshot): Promise<SiteIndex> {
    const site = await this.#discover(git, snapshot);
    this.#cache.trees.set(this.#key(git, snapshot.tree ?? ''), Promise.resolve(site));
    this.#cache.latest.set(this.#key(git), site);
    return site;
  }

  /** The site an empty repository would be with its first entry: how a collection nobody has declared begins. */
  async first(collection: string, slug: string): Promise<SiteIndex> {
    const root = this.#contentRoot ? `${this.#contentRoot}/` : '';
    const file = { path: `${root}content/${collection}/${slug}.md`, oid: '', mode: '100644' };
    const nothing = { read: async () => null, sampleEntries: async () => [] };
    const discovery = await discoverSchemas(
      { paths: [file], read: nothing.read },
      { sampleEntries: nothing.sampleEntries, ...this.#options },
    );
    return buildSite(discovery, keyOf(discovery), []);
  }

  /** The site an empty repository would be with its first entry at a path; null when no collection would begin there. */
  async firstAt(path: string): Promise<SiteIndex | null> {
    const root = this.#contentRoot ? `${this.#contentRoot}/content/` : 'content/';
    const [, collection, slug] =
      /^([^/]+)\/(.+)\.[^./]+$/.exec(path.startsWith(root) ? path.slice(root.length) : '') ?? [];
    if (collection === undefined || slug === undefined || !collectionNamePattern.test(collection)) return null;
    const site = await this.first(collection, slug);
    return site.collections.has(collection) ? site : null;
  }

  async #make(git: Repository, snapshot: Snapshot): Promise<ListedSite> {
    const latest = this.#cache.latest.get(this.#key(git));
    const advanced =
      latest && advanceSite(latest, await snapshot.files(), (difference) => changesSchemas(latest, difference));
    const site = advanced ?? (await this.#read(git, snapshot));
    this.#cache.latest.set(this.#key(git), site);
    return site;
  }

  /** The site as it has been stored, else as it is discovered. */
  async #read(git: Repository, snapshot: Snapshot): Promise<ListedSite> {
    const { paths } = await siteFilesOf(git, snapshot);
    const discovery = await this.#stored.find(this.#treeOf(git, snapshot, paths));
    if (!discovery) return this.#discover(git, snapshot);
    return buildSite(discovery, keyOf(discovery), await snapshot.files());
  }

  #treeOf({ id }: Repository, { tree }: Snapshot, paths: SiteFiles['paths']): SiteTree {
    return { repository: id, tree: tree ?? '', contentRoot: this.#contentRoot, paths };
  }

  async #discover(git: Repository, snapshot: Snapshot): Promise<ListedSite> {
    const files = await snapshot.files();
    const site = await siteFilesOf(git, snapshot);
    const oids = new Map(site.paths.map((file) => [file.path, file.oid]));
    let isWhole = true;
    const sampleEntries = async (paths: readonly string[]) => {
      const entries = paths.map((path) => ({ path, oid: oids.get(path) ?? '' }));
      const facts = await this.#facts(git, snapshot, entries);
      isWhole &&= !facts.includes(unreadable);
      return entries.map(({ path }, at) => ({ path, frontmatter: facts[at]?.frontmatter ?? null }));
    };
    const discovery = await discoverSchemas(site, { sampleEntries, ...this.#options });
    // What objects that cannot be read today would say is not known for good.
    if (isWhole) this.#stored.keep(this.#treeOf(git, snapshot, site.paths), discovery);
    return buildSite(discovery, keyOf(discovery), files);
  }
}

function keyOf({ schemas, contentRoot, locales }: Discovery): string {
  return viewOf([schemas.map(({ matches: _m, ...schema }) => schema), contentRoot, locales]);
}
