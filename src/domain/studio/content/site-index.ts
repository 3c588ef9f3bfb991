import { DomainError } from '../../../kernel/errors.ts';
import { findYielding, forEachYielding } from '../../../lib/concurrency.ts';
import type { VersionCache } from '../../../lib/version-cache.ts';
import type { Repository } from '../../../ports/git.ts';
import type { FileChange, FileSide, Oid, Snapshot, TreeFile } from '../../../ports/git-records.ts';
import type { Discovery, EntrySample, SiteFiles } from '../schema/collection-schema.ts';
import { discoverSchemas } from '../schema/discover.ts';
import { collectionNamePattern } from '../schema/schema.schema.ts';
import { configurationFiles } from '../schema/site-layout.ts';
import { viewOf } from '../view.ts';
import { CollectionIndex } from './collection-index.ts';
import { factsWeight, unreadable } from './entry-facts.ts';
import { siteFilesOf } from './site-files.ts';
import type { FactStore } from './stored/fact-store.ts';
import type { SchemaStore, SiteTree } from './stored/schema-store.ts';

/** A site as one tree holds it: its schemas and the places of its entries. */
export interface SiteIndex {
  discovery: Discovery;
  /** Names the discovery: equal keys mean equal schemas. */
  schemaKey: string;
  collections: ReadonlyMap<string, CollectionIndex>;
  /** @throws DomainError `not_found` */
  collection(name: string): CollectionIndex;
}

/** A site with the tree it was read at, which the site of the next tree is derived from. */
export interface SiteAtTree extends SiteIndex {
  tree: Oid | null;
}

const isRegular = (file: { mode: string }) => file.mode === '100644' || file.mode === '100755';

function makeSite(discovery: Discovery, schemaKey: string, collections: Map<string, CollectionIndex>): SiteIndex {
  return {
    discovery,
    schemaKey,
    collections,
    collection(name) {
      const found = collections.get(name);
      if (!found) throw new DomainError('not_found', `Collection ${name.slice(0, 100)} does not exist`);
      return found;
    },
  };
}

/** Places every file of a tree in the collection that matches it. */
export async function buildSite(
  discovery: Discovery,
  schemaKey: string,
  files: readonly TreeFile[],
): Promise<SiteIndex> {
  const owned = new Map<string, TreeFile[]>(discovery.schemas.map((schema) => [schema.collection, []]));
  await forEachYielding(files, (file) => {
    const owner = isRegular(file) ? discovery.schemas.find((schema) => schema.matches(file.path)) : undefined;
    if (owner) owned.get(owner.collection)?.push(file);
  });
  const collections = new Map<string, CollectionIndex>();
  for (const schema of discovery.schemas) {
    const { collection } = schema;
    collections.set(collection, await CollectionIndex.of(schema, owned.get(collection) ?? []));
  }
  return makeSite(discovery, schemaKey, collections);
}

/** What is at some paths now; null: no file. */
type Placed = ReadonlyMap<string, FileSide | null>;

/** What is at the paths of changes now. */
export const placedBy = (changes: readonly FileChange[]): Placed =>
  new Map(changes.map(({ path, after }) => [path, after]));

/** The site with other files at some paths, its schemas left as they are; collections without such a path are shared. */
export async function changeSite(site: SiteIndex, changes: Placed): Promise<SiteIndex> {
  const touched = new Map<string, Map<string, FileSide | null>>();
  await forEachYielding(changes, ([path, file]) => {
    const owner = site.discovery.schemas.find((schema) => schema.matches(path));
    if (!owner) return;
    const own = touched.get(owner.collection) ?? new Map<string, FileSide | null>();
    touched.set(owner.collection, own.set(path, file && isRegular(file) ? file : null));
  });
  const collections = new Map(site.collections);
  for (const [name, own] of touched) collections.set(name, await site.collection(name).with(own));
  return makeSite(site.discovery, site.schemaKey, collections);
}

const contentFile = /\.(?:md|mdx|markdown|mdoc|ya?ml|json|toml)$/i;

/** Files that could found a collection that is not known yet. */
const mayFound = (path: string) => contentFile.test(path);

/** Whether a tree that differs by this from a site's may have other schemas, so that they have to be discovered anew. */
export async function changesSchemas(
  { discovery, collections }: SiteIndex,
  changes: readonly FileChange[],
): Promise<boolean> {
  const { dependencies, schemas } = discovery;
  const rests = new Set(dependencies);
  if (changes.some(({ path }) => rests.has(path)) || (await configurationFiles(changes)).length > 0) return true;
  const ownerOf = (path: string) => schemas.find((schema) => schema.matches(path));
  const founds = ({ path, before }: FileChange) => before === null && mayFound(path) && !ownerOf(path);
  if (await findYielding(changes, founds)) return true;
  // An inferred collection is there because files are.
  const removed = changes.filter(({ after }) => after === null);
  const last = await findYielding(removed, ({ path }) => {
    const owner = ownerOf(path);
    const left = owner ? (collections.get(owner.collection)?.size ?? 0) : 2;
    return owner?.inferred === true && left <= removed.length;
  });
  return last !== undefined;
}

/** Trees that differ in more files than this are read anew. */
const mostChanges = 10_000;

type ReadFacts = FactStore['each'];

/** Bytes of frontmatter that the fields of a collection are inferred from: that of thousands of entries, if these are not long. */
const mostSampled = 64 * 1024 * 1024;

/** The sites that trees hold, read below one content root. */
export class Sites {
  readonly #cache: VersionCache<SiteAtTree>;
  readonly #facts: ReadFacts;
  readonly #stored: SchemaStore;
  readonly #contentRoot: string | null;

  /** @param contentRoot directory of the site that a project has chosen; null: found by its configuration */
  constructor(
    cache: VersionCache<SiteAtTree>,
    { facts, stored }: { facts: ReadFacts; stored: SchemaStore },
    contentRoot: string | null,
  ) {
    this.#cache = cache;
    this.#facts = facts;
    this.#stored = stored;
    this.#contentRoot = contentRoot;
  }

  #subject({ id }: Repository): string {
    return JSON.stringify([id, this.#contentRoot]);
  }

  get #options(): { contentRoot?: string } {
    return this.#contentRoot === null ? {} : { contentRoot: this.#contentRoot };
  }

  /**
   * The site at a tree: from the cache, from the last one of the repository and what changed since, or by discovery.
   * @param onMade called when it was not in the cache, with all changes it was derived by; null: it was read anew
   */
  at(
    git: Repository,
    snapshot: Snapshot,
    onMade: (site: SiteIndex, changes: readonly FileChange[] | null) => void,
  ): Promise<SiteIndex> {
    return this.#cache.of(this.#subject(git), snapshot.tree ?? '', async (latest) => {
      // The last tree may be gone since its branch was moved by force.
      const changes = latest ? await snapshot.changesSince(latest.tree, mostChanges).catch(() => null) : null;
      const isDerived = latest && changes && !(await changesSchemas(latest, changes));
      const site = isDerived ? await changeSite(latest, placedBy(changes)) : await this.#read(git, snapshot);
      onMade(site, isDerived ? changes : null);
      return { ...site, tree: snapshot.tree };
    });
  }

  /** Discovers the schemas of a tree again, whatever is cached. */
  async refresh(git: Repository, snapshot: Snapshot): Promise<SiteIndex> {
    const site = await this.#discover(git, snapshot);
    this.#cache.set(this.#subject(git), snapshot.tree ?? '', { ...site, tree: snapshot.tree });
    return site;
  }

  /** The site an empty repository would be with its first entry: how an undeclared collection begins. */
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

  /** The site as it has been stored, else as it is discovered. */
  async #read(git: Repository, snapshot: Snapshot): Promise<SiteIndex> {
    const { paths } = await siteFilesOf(snapshot);
    const discovery = await this.#stored.find(this.#treeOf(git, snapshot, paths));
    if (!discovery) return this.#discover(git, snapshot);
    return buildSite(discovery, keyOf(discovery), await snapshot.files());
  }

  #treeOf({ id }: Repository, { tree }: Snapshot, paths: SiteFiles['paths']): SiteTree {
    return { repository: id, tree: tree ?? '', contentRoot: this.#contentRoot, paths };
  }

  async #discover(git: Repository, snapshot: Snapshot): Promise<SiteIndex> {
    const files = await snapshot.files();
    const site = await siteFilesOf(snapshot);
    let isWhole = true;
    const sampleEntries = async (paths: readonly string[]) => {
      const oids = await site.oids();
      const entries = paths.map((path) => ({ path, oid: oids.get(path) ?? '' }));
      const samples: EntrySample[] = [];
      let left = mostSampled;
      for await (const facts of this.#facts(git, snapshot, entries, { listed: true })) {
        left -= factsWeight(facts);
        if (left < 0) break;
        if (facts === unreadable) isWhole = false;
        samples.push({ path: paths[samples.length] ?? '', frontmatter: facts.frontmatter });
      }
      return samples;
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
