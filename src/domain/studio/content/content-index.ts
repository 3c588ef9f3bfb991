import { DomainError } from '../../../kernel/errors.ts';
import { mapYielding, Pace } from '../../../lib/concurrency.ts';
import { leastJson } from '../../../lib/objects.ts';
import type { Activity } from '../../../lib/timing.ts';
import { VersionCache } from '../../../lib/version-cache.ts';
import type { ContentCache, SearchWords } from '../../../ports/content-cache.ts';
import type { Repository } from '../../../ports/git.ts';
import type { Commit, FileChange, Oid, Snapshot } from '../../../ports/git-records.ts';
import type { Log } from '../../../ports/log.ts';
import type { ParsedFile } from '../frontmatter/values.ts';
import type { Discovery } from '../schema/collection-schema.ts';
import { type CollectionIndex, earlierPlaces, type IndexedEntry } from './collection-index.ts';
import { type EntryFacts, factsWeight, type Place, unreadable } from './entry-facts.ts';
import { LastCommits } from './last-commits.ts';
import { type SiteAtTree, type SiteIndex, Sites } from './site-index.ts';
import { Damage, FactStore } from './stored/fact-store.ts';
import { FullText } from './stored/full-text.ts';
import { Indexer } from './stored/indexer.ts';
import { pruneContent } from './stored/prune.ts';
import { SchemaStore } from './stored/schema-store.ts';
import { StoredBlobs } from './stored/stored-blobs.ts';

/** The facts of all entries of a collection at one tree: what lists sort and filter by. */
interface CollectionFacts {
  entries: readonly IndexedEntry[];
  /** null: they weigh more than may be. */
  facts: readonly EntryFacts[] | null;
  weight: number;
}

const mebibyte = 1024 * 1024;
/** Bytes that the facts of one collection may take in memory, and those of all that are kept beside the ones in use. */
const mostFacts = 512 * mebibyte;
const mostKept = 256 * mebibyte;

const tooMuch = ({ schema }: CollectionIndex) =>
  new DomainError(
    'too_large',
    `The frontmatter of the collection ${schema.collection} takes more than ${mostFacts / mebibyte} MiB: too much for its entries to be chosen and ordered by`,
  );

/** The order of a list at one tree, and all entries it was chosen from, in order of their paths. */
export interface ListOrder {
  entries: readonly IndexedEntry[];
  ordered: readonly IndexedEntry[];
}

/** A list at a tree. */
interface ListAt {
  /** Names everything that decides what is shown and how it is ordered, but for the files. */
  list: string;
  /** Of the directory the entries are in. */
  tree: string | null;
  entries: readonly IndexedEntry[];
}

/** What an index is made with: the cache to use, what its background work gives way to, and where its faults are logged. */
interface Sources {
  cache: ContentCache;
  activity: Activity;
  log: Log;
}

/** Characters of schemas that weigh as much as an entry. */
const charactersOfEntry = 64;

const schemasWeight = ({ schemas }: Discovery) =>
  Math.floor(leastJson(schemas, Number.MAX_SAFE_INTEGER) / charactersOfEntry);

/** What all content roots share. Weights of sites and lists count entries: sites of a few thousand are kept by the number of versions alone. */
function cachesOver({ cache, activity, log }: Sources) {
  const damage = new Damage();
  const facts = new FactStore(cache, damage);
  const stored = new StoredBlobs(cache);
  const indexer = new Indexer({ cache, stored, facts, activity, log });
  return {
    facts,
    damage,
    cache,
    sites: new VersionCache<SiteAtTree>({
      versions: 64,
      subjects: 64,
      weight: {
        most: 1_500_000,
        of: ({ collections, discovery }) =>
          [...collections.values()].reduce((sum, { size }) => sum + size, schemasWeight(discovery)),
      },
    }),
    schemas: new SchemaStore(cache),
    collections: new VersionCache<CollectionFacts>({
      versions: 32,
      subjects: 16,
      weight: { most: mostKept, of: ({ weight }) => weight },
    }),
    lists: new VersionCache<ListOrder>({
      versions: 512,
      subjects: 64,
      weight: { most: 8_000_000, of: ({ entries, ordered }) => entries.length + ordered.length },
    }),
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
  readonly #caches: ReturnType<typeof cachesOver>;
  readonly #contentRoot: string | null;
  readonly #sites: Sites;

  /** @param from what to make it with, or an index to share everything with for another content root */
  constructor(from: Sources | ContentIndex, contentRoot: string | null = null) {
    this.#caches = from instanceof ContentIndex ? from.#caches : cachesOver(from);
    this.#contentRoot = contentRoot;
    const { sites, facts, schemas } = this.#caches;
    const read = { facts: facts.each.bind(facts), stored: schemas };
    this.#sites = new Sites(sites, read, contentRoot);
  }

  /** The same caches for a project whose site stands in a directory of its choice. */
  below(contentRoot: string | null): ContentIndex {
    return contentRoot === this.#contentRoot ? this : new ContentIndex(this, contentRoot);
  }

  /** The site at a tree. */
  site(git: Repository, snapshot: Snapshot): Promise<SiteIndex> {
    const { indexer } = this.#caches;
    return this.#sites.at(git, snapshot, (site, changes) => {
      if (changes) indexer.add(git, entriesOf(site, changes));
      else
        indexer.want(
          git,
          [...site.collections.values()].map(({ entries }) => entries),
        );
    });
  }

  /** Takes over what a save has read of the file it wrote: nothing has to be read or parsed again for lists and search. */
  wrote(git: Repository, place: Place, parsed: ParsedFile, size: number): void {
    this.#caches.facts.set(git, place, parsed, size);
    this.#caches.indexer.add(git, [{ ...place, content: { parsed, size } }]);
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
    return this.#caches.facts.of(git, snapshot, files);
  }

  /** The same for lists, which show a file that cannot be read as just that. */
  listedFacts(git: Repository, snapshot: Snapshot, files: readonly Place[]): Promise<readonly EntryFacts[]> {
    return this.#caches.facts.listed(git, snapshot, files);
  }

  /**
   * The same one after the other, for what looks at each and keeps none of all the entries of a collection.
   * @throws DomainError `repository_unavailable` when one cannot be read
   */
  eachFacts(git: Repository, snapshot: Snapshot, files: readonly Place[]): AsyncGenerator<EntryFacts> {
    return this.#caches.facts.each(git, snapshot, files, { listed: false });
  }

  /** The same for lists. */
  eachListed(git: Repository, snapshot: Snapshot, files: readonly Place[]): AsyncGenerator<EntryFacts> {
    return this.#caches.facts.each(git, snapshot, files, { listed: true });
  }

  /** How often something could not be read: what it says of a list may change though no commit is made. */
  damage({ id }: Repository): number {
    return this.#caches.damage.met(id);
  }

  /**
   * Facts of all entries of a collection for lists, in their order; kept while the index is in use.
   * @throws DomainError `too_large`
   */
  async collectionFacts(git: Repository, snapshot: Snapshot, index: CollectionIndex): Promise<readonly EntryFacts[]> {
    const subject = JSON.stringify([git.id, index.schema.collection]);
    const { facts } = await this.#caches.collections.of(
      subject,
      String(index.version),
      (latest) => this.#readFacts(git, snapshot, index, latest),
      // An object that is damaged now may come back.
      (read) => !read.facts?.includes(unreadable),
    );
    if (!facts) throw tooMuch(index);
    return facts;
  }

  async #readFacts(
    git: Repository,
    snapshot: Snapshot,
    { entries }: CollectionIndex,
    latest: CollectionFacts | undefined,
  ): Promise<CollectionFacts> {
    const missing: IndexedEntry[] = [];
    const before = latest?.facts && (await earlierPlaces(entries, latest.entries));
    let weight = 0;
    const known = await mapYielding(entries, (entry, at) => {
      const facts = before && latest.facts?.[before[at] ?? -1];
      if (facts) weight += factsWeight(facts);
      else missing.push(entry);
      return facts;
    });
    const read: EntryFacts[] = [];
    const pace = new Pace();
    for await (const facts of this.#caches.facts.each(git, snapshot, missing, { listed: true })) {
      weight += factsWeight(facts);
      if (weight > mostFacts) return { entries, facts: null, weight: 0 };
      read.push(facts);
      if (pace.isDue) await pace.yield();
    }
    let next = 0;
    return { entries, facts: await mapYielding(known, (facts) => facts ?? read[next++] ?? unreadable), weight };
  }

  /**
   * A choice of entries in an order, computed once per tree.
   * @param compute gets the order at another tree, where one is known, to go on from
   */
  async listOrder(
    git: Repository,
    { list, tree, entries }: ListAt,
    compute: (before: ListOrder | undefined) => Promise<readonly IndexedEntry[]>,
  ): Promise<readonly IndexedEntry[]> {
    const damage = this.damage(git);
    const { ordered } = await this.#caches.lists.of(
      JSON.stringify([git.id, list]),
      tree ?? '',
      async (latest) => ({ entries, ordered: await compute(latest) }),
      () => this.damage(git) === damage,
    );
    return ordered;
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
    return this.#caches.fullText.search(git, entries, wanted, among);
  }

  /** For each path the newest commit reachable from `head` that touched it. */
  lastCommits(git: Repository, head: Oid, paths: readonly string[]): Promise<Map<string, Commit>> {
    return this.#caches.lastCommits.of(git, head, paths);
  }

  /** Retires what is stored of a repository and nothing there holds any more. */
  prune(git: Repository, signal: AbortSignal): Promise<void> {
    return pruneContent(this.#caches.cache, git, signal);
  }

  /** Removes up to `limit` rows that have been retired long enough. @returns how many; null: the cache cannot say */
  removeExpired(limit: number): Promise<number | null> {
    return this.#caches.cache.removeExpired(limit);
  }

  /** Resolves when nothing is being stored in the background. */
  async settled(): Promise<void> {
    await this.#caches.indexer.settled();
    await this.#caches.schemas.settled();
    await this.#caches.lastCommits.settled();
  }

  /** Ends the background work; nothing is lost that cannot be made again. */
  async close(): Promise<void> {
    await this.#caches.indexer.close();
    await this.#caches.schemas.settled();
    await this.#caches.lastCommits.settled();
  }
}

/** The entries that changes left, where they are now. */
const entriesOf = ({ collections }: SiteIndex, changes: readonly FileChange[]): IndexedEntry[] =>
  changes.flatMap(({ path }) => [...collections.values()].flatMap((index) => index.at(path) ?? []));
