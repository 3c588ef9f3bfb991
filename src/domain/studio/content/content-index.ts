import { LRUCache } from 'lru-cache';
import type { Repository } from '../../ports/git.ts';
import type { Snapshot } from '../../ports/git-records.ts';
import { parseFile } from '../frontmatter/parse-file.ts';
import type { Discovery } from '../schema/collection-schema.ts';
import { discoverSchemas } from '../schema/discover.ts';
import { configurationFiles } from '../schema/site-layout.ts';
import { viewOf } from '../view.ts';
import { type EntryFacts, factsOf } from './entry-facts.ts';
import { matchesWords, type SearchWords } from './search.ts';
import {
  advanceSite,
  buildSite,
  type CollectionIndex,
  type IndexedEntry,
  type SiteIndex,
  type TreeDifference,
} from './site-index.ts';

const mebibyte = 1024 * 1024;
const maxConfigBytes = mebibyte;
const contentFile = /\.(?:md|mdx|markdown|mdoc|ya?ml|json|toml)$/i;

/** Files that could found a collection nobody knows yet. */
const mayFound = (path: string) => contentFile.test(path);

const extension = (path: string) => path.slice(path.lastIndexOf('.') + 1).toLowerCase();

/**
 * Everything that is derived from content, kept by object id and so never stale: schemas and entry places by tree, facts by blob, orders of
 * lists by tree and query. All of it can be made again from the repository at any time, by any process.
 */
export class ContentIndex {
  readonly #sites: LRUCache<string, Promise<SiteIndex>>;
  /** The last index of each repository and branch tip seen, to go on from. */
  readonly #latest: LRUCache<string, SiteIndex>;
  readonly #facts: LRUCache<string, EntryFacts>;
  readonly #collections: WeakMap<readonly IndexedEntry[], Promise<readonly EntryFacts[]>>;
  readonly #orders: LRUCache<string, Promise<readonly IndexedEntry[]>>;
  readonly #found: LRUCache<string, Map<string, boolean>>;
  readonly #contentRoot: string | null;

  /**
   * @param shared whose caches to use; absent: its own
   * @param contentRoot directory of the site that a project has chosen; null: found by its configuration
   */
  constructor(shared?: ContentIndex, contentRoot: string | null = null) {
    this.#sites = shared ? shared.#sites : new LRUCache({ max: 64 });
    this.#latest = shared ? shared.#latest : new LRUCache({ max: 64 });
    this.#facts = shared
      ? shared.#facts
      : new LRUCache({
          maxSize: 48 * mebibyte,
          sizeCalculation: (facts) => 300 + Math.min(facts.size, 4096),
        });
    this.#collections = shared ? shared.#collections : new WeakMap();
    this.#orders = shared ? shared.#orders : new LRUCache({ max: 256 });
    this.#found = shared ? shared.#found : new LRUCache({ max: 16 });
    this.#contentRoot = contentRoot;
  }

  /** The same caches for a project whose site stands in a directory of its choice. */
  below(contentRoot: string | null): ContentIndex {
    return contentRoot === this.#contentRoot ? this : new ContentIndex(this, contentRoot);
  }

  #key({ id }: Repository, tree = ''): string {
    return JSON.stringify([id, this.#contentRoot, tree]);
  }

  get #options(): { contentRoot?: string } {
    return this.#contentRoot === null ? {} : { contentRoot: this.#contentRoot };
  }

  /** The site at a tree: from the cache, by advancing the last index of the repository, or by discovery. */
  site(git: Repository, snapshot: Snapshot): Promise<SiteIndex> {
    const key = this.#key(git, snapshot.tree ?? '');
    const known = this.#sites.get(key);
    if (known) return known;
    const made = this.#makeSite(git, snapshot);
    this.#sites.set(key, made);
    made.catch(() => this.#sites.delete(key));
    return made;
  }

  /** Discovers the schemas of a tree again, whatever is cached. */
  async refresh(git: Repository, snapshot: Snapshot): Promise<SiteIndex> {
    const site = await this.#discover(git, snapshot);
    this.#sites.set(this.#key(git, snapshot.tree ?? ''), Promise.resolve(site));
    this.#latest.set(this.#key(git), site);
    return site;
  }

  /** The site an empty repository would be with its first entry: how a collection nobody has declared begins. */
  async firstSite(collection: string, slug: string): Promise<SiteIndex> {
    const root = this.#contentRoot ? `${this.#contentRoot}/` : '';
    const file = { path: `${root}content/${collection}/${slug}.md`, oid: '', mode: '100644' };
    const nothing = { read: async () => null, sampleEntries: async () => [] };
    const discovery = await discoverSchemas(
      { paths: [file], read: nothing.read },
      { sampleEntries: nothing.sampleEntries, ...this.#options },
    );
    return buildSite(discovery, keyOf(discovery), []);
  }

  async #makeSite(git: Repository, snapshot: Snapshot): Promise<SiteIndex> {
    const latest = this.#latest.get(this.#key(git));
    const advanced =
      latest && advanceSite(latest, await snapshot.files(), (difference) => changesSchemas(latest, difference));
    const site = advanced ?? (await this.#discover(git, snapshot));
    this.#latest.set(this.#key(git), site);
    return site;
  }

  async #discover(git: Repository, snapshot: Snapshot): Promise<SiteIndex> {
    const files = await snapshot.files();
    const regular = files.filter((file) => file.mode === '100644' || file.mode === '100755');
    const oids = new Map(regular.map((file) => [file.path, file.oid]));
    const read = async (path: string) => {
      const oid = oids.get(path);
      if (!oid) return null;
      const [size] = await git.sizes([oid]);
      if (size == null || size > maxConfigBytes) return null;
      const content = await snapshot.blob(oid);
      const text = content.toString('utf8');
      return Buffer.from(text, 'utf8').equals(content) ? text : null;
    };
    const sampleEntries = async (paths: readonly string[]) => {
      const entries = paths.map((path) => ({ path, oid: oids.get(path) ?? '' }));
      const facts = await this.facts(git, snapshot, entries);
      return entries.map(({ path }, at) => ({ path, frontmatter: facts[at]?.frontmatter ?? null }));
    };
    const discovery = await discoverSchemas({ paths: regular, read }, { sampleEntries, ...this.#options });
    return buildSite(discovery, keyOf(discovery), files);
  }

  /** Facts of entries, in their order; blobs not yet known are streamed once. */
  async facts(
    git: Repository,
    snapshot: Snapshot,
    entries: readonly { path: string; oid: string }[],
  ): Promise<readonly EntryFacts[]> {
    const keys = entries.map(({ path, oid }) => `${git.id}:${oid}:${extension(path)}`);
    const result = keys.map((key) => this.#facts.get(key));
    const missing = result.flatMap((facts, at) => (facts ? [] : [at]));
    if (missing.length === 0) return result as EntryFacts[];
    const keep = (at: number, content: Buffer) => {
      const facts = factsOf(content, entries[at]?.path ?? '');
      result[at] = facts;
      this.#facts.set(keys[at] ?? '', facts);
    };
    if (missing.length === 1 && missing[0] !== undefined) {
      keep(missing[0], await snapshot.blob(entries[missing[0]]?.oid ?? ''));
      return result as EntryFacts[];
    }
    let next = 0;
    for await (const { content } of snapshot.blobs(missing.map((at) => entries[at]?.oid ?? '')))
      keep(missing[next++] ?? 0, content);
    return result as EntryFacts[];
  }

  /** Facts of all entries of a collection, kept as long as its index is: what lists sort and filter by. */
  collectionFacts(git: Repository, snapshot: Snapshot, index: CollectionIndex): Promise<readonly EntryFacts[]> {
    const known = this.#collections.get(index.entries);
    if (known) return known;
    const made = this.facts(git, snapshot, index.entries);
    this.#collections.set(index.entries, made);
    made.catch(() => this.#collections.delete(index.entries));
    return made;
  }

  /** An order of a list, computed once per tree and query. */
  order(key: string, compute: () => Promise<readonly IndexedEntry[]>): Promise<readonly IndexedEntry[]> {
    const known = this.#orders.get(key);
    if (known) return known;
    const made = compute();
    this.#orders.set(key, made);
    made.catch(() => this.#orders.delete(key));
    return made;
  }

  /** Which entries contain all the words; blobs already searched for the same words are not read again. */
  async search(git: Repository, entries: readonly IndexedEntry[], wanted: SearchWords): Promise<ReadonlySet<string>> {
    const key = `${git.id}:${JSON.stringify(wanted)}`;
    const found = this.#found.get(key) ?? new Map<string, boolean>();
    this.#found.set(key, found);
    const missing = entries.filter((entry) => !found.has(entry.oid));
    let next = 0;
    for await (const { oid, content } of git.blobs(missing.map((entry) => entry.oid))) {
      const entry = missing[next++];
      found.set(oid, matchesWords(parseFile(content, entry?.path ?? ''), wanted));
    }
    return new Set(entries.filter((entry) => found.get(entry.oid)).map((entry) => entry.oid));
  }
}

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

function keyOf({ schemas, contentRoot, locales }: Discovery): string {
  return viewOf([schemas.map(({ matches: _m, ...schema }) => schema), contentRoot, locales]);
}
