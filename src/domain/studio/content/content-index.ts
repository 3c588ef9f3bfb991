import { LRUCache } from 'lru-cache';
import type { ContentCache, SearchWords } from '../../../ports/content-cache.ts';
import type { Repository } from '../../../ports/git.ts';
import type { Commit, Oid, Snapshot } from '../../../ports/git-records.ts';
import type { Log } from '../../../ports/log.ts';
import type { CollectionIndex, IndexedEntry } from './collection-index.ts';
import { type EntryFacts, type Place, unreadable } from './entry-facts.ts';
import { LastCommits } from './last-commits.ts';
import { type ListAt, type ListOrder, ListOrders } from './list-orders.ts';
import type { SiteIndex } from './site-index.ts';
import { SiteCache, Sites } from './sites.ts';
import { Damage, FactStore } from './stored/fact-store.ts';
import { FullText } from './stored/full-text.ts';
import { Indexer } from './stored/indexer.ts';
import { pruneContent } from './stored/prune.ts';
import { SchemaStore } from './stored/schema-store.ts';
import { StoredBlobs } from './stored/stored-blobs.ts';

interface Known {
  entries: readonly IndexedEntry[];
  facts: readonly EntryFacts[];
}

/** The facts of all entries of a collection as lists show them, kept as long as its index is: what they sort and filter by. */
class CollectionFacts {
  readonly #store: FactStore;
  readonly #lists = new WeakMap<readonly IndexedEntry[], Promise<readonly EntryFacts[]>>();
  readonly #latest = new LRUCache<string, Known>({ max: 16 });

  constructor(store: FactStore) {
    this.#store = store;
  }

  of(git: Repository, snapshot: Snapshot, index: CollectionIndex): Promise<readonly EntryFacts[]> {
    const known = this.#lists.get(index.entries);
    if (known) return known;
    const made = this.#make(git, snapshot, index);
    this.#lists.set(index.entries, made);
    const forget = () => this.#lists.delete(index.entries);
    // An object that is damaged now may come back.
    made.then((facts) => facts.includes(unreadable) && forget(), forget);
    return made;
  }

  async #make(
    git: Repository,
    snapshot: Snapshot,
    { schema, entries }: CollectionIndex,
  ): Promise<readonly EntryFacts[]> {
    const key = `${git.id}:${schema.collection}`;
    const latest = this.#latest.get(key);
    const facts = entries.map((entry, at) => (latest?.entries[at] === entry ? latest.facts[at] : undefined));
    const missing = facts.flatMap((fact, at) => (fact ? [] : [at]));
    const places = missing.flatMap((at) => entries[at] ?? []);
    for (const [at, read] of (await this.#store.listed(git, snapshot, places)).entries())
      facts[missing[at] ?? 0] = read;
    const whole = facts as EntryFacts[];
    if (!whole.includes(unreadable)) this.#latest.set(key, { entries, facts: whole });
    return whole;
  }
}

/** What all content roots share. */
function partsOver(cache: ContentCache, log: Log) {
  const damage = new Damage();
  const facts = new FactStore(cache, damage);
  const stored = new StoredBlobs(cache);
  const indexer = new Indexer({ cache, stored, facts, log });
  return {
    facts,
    damage,
    cache,
    sites: new SiteCache(),
    schemas: new SchemaStore(cache),
    collections: new CollectionFacts(facts),
    lists: new ListOrders(),
    orders: new LRUCache<string, Promise<readonly IndexedEntry[]>>({ max: 256 }),
    fullText: new FullText(cache, stored, indexer, damage),
    lastCommits: new LastCommits(cache, log),
    indexer,
  };
}

/**
 * Everything that is derived from content, kept by object id and so never stale: schemas and entry places by tree, facts and words by blob,
 * orders of lists by tree and query, last commits by head. All of it can be made again from the repository at any time, by any process; what
 * is dear to make also goes into a cache that survives restarts.
 */
export class ContentIndex {
  readonly #parts: ReturnType<typeof partsOver>;
  readonly #contentRoot: string | null;
  readonly #sites: Sites;

  /** @param from the cache to use and where to tell of its faults, or an index to share everything with for another content root */
  constructor(from: { cache: ContentCache; log: Log } | ContentIndex, contentRoot: string | null = null) {
    this.#parts = from instanceof ContentIndex ? from.#parts : partsOver(from.cache, from.log);
    this.#contentRoot = contentRoot;
    const { sites, facts, schemas } = this.#parts;
    const read = { facts: facts.listed.bind(facts), stored: schemas };
    this.#sites = new Sites(sites, read, contentRoot);
  }

  /** The same caches for a project whose site stands in a directory of its choice. */
  below(contentRoot: string | null): ContentIndex {
    return contentRoot === this.#contentRoot ? this : new ContentIndex(this, contentRoot);
  }

  /** The site at a tree. */
  site(git: Repository, snapshot: Snapshot): Promise<SiteIndex> {
    return this.#sites.at(git, snapshot, ({ collections }) => {
      const lists = [...collections.values()].map(({ entries }) => entries);
      this.#parts.indexer.want(git, lists);
    });
  }

  /** Discovers the schemas of a tree again, whatever is cached. */
  refresh(git: Repository, snapshot: Snapshot): Promise<SiteIndex> {
    return this.#sites.refresh(git, snapshot);
  }

  /** The site an empty repository would be with its first entry. */
  firstSite(collection: string, slug: string): Promise<SiteIndex> {
    return this.#sites.first(collection, slug);
  }

  /** The same by the path of the entry; null when no collection would begin there. */
  firstSiteAt(path: string): Promise<SiteIndex | null> {
    return this.#sites.firstAt(path);
  }

  /** Facts of files, in their order. @throws DomainError `repository_unavailable` when one cannot be read */
  facts(git: Repository, snapshot: Snapshot, files: readonly Place[]): Promise<readonly EntryFacts[]> {
    return this.#parts.facts.of(git, snapshot, files);
  }

  /** The same for lists, which show a file that cannot be read as just that. */
  listedFacts(git: Repository, snapshot: Snapshot, files: readonly Place[]): Promise<readonly EntryFacts[]> {
    return this.#parts.facts.listed(git, snapshot, files);
  }

  /** How often something could not be read: what it says of a list may change though no commit is made. */
  damage({ id }: Repository): number {
    return this.#parts.damage.met(id);
  }

  /** Facts of all entries of a collection for lists, in their order. */
  collectionFacts(git: Repository, snapshot: Snapshot, index: CollectionIndex): Promise<readonly EntryFacts[]> {
    return this.#parts.collections.of(git, snapshot, index);
  }

  /** A choice of entries, computed once; `key` names all it depends on, and the repository. */
  order(
    git: Repository,
    key: string,
    compute: () => Promise<readonly IndexedEntry[]>,
  ): Promise<readonly IndexedEntry[]> {
    const { orders } = this.#parts;
    const known = orders.get(key);
    if (known) return known;
    const damage = this.damage(git);
    const made = compute();
    orders.set(key, made);
    const forget = () => orders.delete(key);
    made.then(() => this.damage(git) !== damage && forget(), forget);
    return made;
  }

  /** An order of a list, computed once per tree, from the order at another tree where one is known. */
  listOrder(
    git: Repository,
    at: ListAt,
    compute: (before: ListOrder | undefined) => Promise<readonly IndexedEntry[]>,
  ): Promise<readonly IndexedEntry[]> {
    const damage = this.damage(git);
    const list = `${git.id}:${at.list}`;
    return this.#parts.lists.of({ ...at, list }, compute, () => this.damage(git) === damage);
  }

  /**
   * Those entries of a list that hold all the words; only entries `among` which is true for are looked at. A list that stays the same is
   * searched faster the second time.
   */
  search<P extends Place>(
    git: Repository,
    entries: readonly P[],
    wanted: SearchWords,
    among?: (entry: P) => boolean,
  ): Promise<ReadonlySet<P>> {
    return this.#parts.fullText.search(git, entries, wanted, among);
  }

  /** For each path the newest commit reachable from `head` that touched it. */
  lastCommits(git: Repository, head: Oid, paths: readonly string[]): Promise<Map<string, Commit>> {
    return this.#parts.lastCommits.of(git, head, paths);
  }

  /** Retires what is stored of a repository and nothing there holds any more. */
  prune(git: Repository, signal: AbortSignal): Promise<void> {
    return pruneContent(this.#parts.cache, git, signal);
  }

  /** Removes up to `limit` rows that have been retired long enough. @returns how many; null: the cache cannot say */
  removeExpired(limit: number): Promise<number | null> {
    return this.#parts.cache.removeExpired(limit);
  }

  /** Resolves when nothing is being stored in the background. */
  async settled(): Promise<void> {
    await this.#parts.indexer.settled();
    await this.#parts.schemas.settled();
    await this.#parts.lastCommits.settled();
  }

  /** Ends the background work; nothing is lost that cannot be made again. */
  async close(): Promise<void> {
    await this.#parts.indexer.close();
    await this.#parts.schemas.settled();
    await this.#parts.lastCommits.settled();
  }
}
