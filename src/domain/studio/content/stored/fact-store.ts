import { LRUCache } from 'lru-cache';
import { DomainError } from '../../../../kernel/errors.ts';
import { Pace } from '../../../../lib/concurrency.ts';
import type { ContentCache } from '../../../../ports/content-cache.ts';
import type { Repository } from '../../../../ports/git.ts';
import type { Snapshot } from '../../../../ports/git-records.ts';
import type { ParsedFile } from '../../frontmatter/values.ts';
import {
  blobKey,
  type EntryFacts,
  factsOf,
  factsWeight,
  factsWithout,
  keptFacts,
  type Place,
  unreadable,
} from '../entry-facts.ts';

/** Counts how often objects were met that cannot be read, per repository: what was made meanwhile lacks what they say, and is not to be kept. */
export class Damage {
  readonly #met = new Map<string, number>();

  note(repository: string): void {
    this.#met.set(repository, this.met(repository) + 1);
  }

  /** How often until now. */
  met(repository: string): number {
    return this.#met.get(repository) ?? 0;
  }
}

type Blobs = Pick<Snapshot, 'blobs'> & Partial<Pick<Snapshot, 'blob'>>;

/** More damaged blobs than this, and than there are sound ones: it is the repository that cannot be read. */
const fewDamaged = 20;

export const isDamage = (error: unknown): error is DomainError =>
  error instanceof DomainError && error.code === 'repository_unavailable';

/** Of one blob, whatever the others are. */
const isOfOne = (error: unknown): error is DomainError =>
  isDamage(error) || (error instanceof DomainError && error.code === 'too_large');

/**
 * Contents of blobs in the order of the input; in place of one that is damaged or too large, the error: the others are still read.
 * @throws DomainError `repository_unavailable` when it is not only some
 */
export async function* soundBlobs(source: Blobs, oids: readonly string[]): AsyncGenerator<Buffer | DomainError> {
  let next = 0;
  // Blobs that have come already follow one another without an iteration of the event loop.
  const pace = new Pace();
  if (oids.length === 1) return yield await readAlone(source, oids[0] ?? '');
  for (let damaged = 0; next < oids.length; ) {
    try {
      for await (const { content } of source.blobs(oids.slice(next))) {
        next += 1;
        yield content;
        if (pace.isDue) await pace.yield();
      }
    } catch (error) {
      if (!isOfOne(error)) throw error;
      const alone = await readAlone(source, oids[next] ?? '');
      next += 1;
      if (isDamage(alone)) damaged += 1;
      if (damaged > fewDamaged && damaged > next - damaged) throw error;
      yield alone;
    }
  }
}

async function readAlone(source: Blobs, oid: string): Promise<Buffer | DomainError> {
  try {
    if (source.blob) return await source.blob(oid);
    for await (const { content } of source.blobs([oid])) return content;
  } catch (error) {
    if (isOfOne(error)) return error;
    throw error;
  }
  throw new Error(`nothing was said of ${oid}`);
}

const memory = 64 * 1024 * 1024;
/** So few blobs are read from the repository before a database has answered. */
const fewBlobs = 4;
/** Facts that are stored have at most so many characters: for longer ones the file is as quick to read. */
export const longestStored = 32 * 1024;
/** Of what facts are made from, so much is held until they are due: bytes of files and of facts in memory, characters of rows. */
const heldAtOnce = 16 * 1024 * 1024;
/** Rows read at once: as many as may be of the longest. */
const rowsAtOnce = heldAtOnce / longestStored;

/** The facts of files by their blobs: from memory, else from the cache, else from the repository. */
export class FactStore {
  readonly #cache: ContentCache;
  readonly #damage: Damage;
  readonly #known = new LRUCache<string, EntryFacts>({ maxSize: memory, sizeCalculation: factsWeight });
  readonly #loading = new Set<Promise<unknown>>();

  constructor(cache: ContentCache, damage: Damage) {
    this.#cache = cache;
    this.#damage = damage;
  }

  /** Facts of files, in their order. @throws DomainError `repository_unavailable` when one cannot be read */
  of(git: Repository, snapshot: Snapshot, files: readonly Place[]): Promise<readonly EntryFacts[]> {
    return collected(this.each(git, snapshot, files, { listed: false }));
  }

  /** Facts of files, in their order; `unreadable` for damaged ones, which must not fail a whole list. */
  listed(git: Repository, snapshot: Snapshot, files: readonly Place[]): Promise<readonly EntryFacts[]> {
    return collected(this.each(git, snapshot, files, { listed: true }));
  }

  /** Adds the facts of a file that has been read already. */
  set(git: Repository, file: Place, parsed: ParsedFile, size: number): void {
    this.#known.set(keyOf(git, file), keptFacts(parsed, size));
  }

  /** Resolves at a moment when no facts are being loaded. */
  async quiet(): Promise<void> {
    while (this.#loading.size > 0) await Promise.allSettled(this.#loading);
  }

  /**
   * Facts of files one after the other, for what looks at each and keeps none: those of a whole collection may be more than memory has room for.
   * What they are made from is read in groups, each row and each blob once; they are made when they are due.
   * @throws DomainError `repository_unavailable` when one cannot be read, unless they are `listed`
   */
  async *each(
    git: Repository,
    snapshot: Snapshot,
    files: readonly Place[],
    { listed }: { listed: boolean },
  ): AsyncGenerator<EntryFacts> {
    const pace = new Pace();
    const { promise: ended, resolve: end } = Promise.withResolvers<void>();
    try {
      for (let from = 0; from < files.length; ) {
        const group = this.#groupOf(git, files, from);
        from += group.places.length;
        if (group.missing.size > 0) this.#loading.add(ended);
        for await (const facts of this.#factsOf(git, snapshot, group, group.places.length === files.length)) {
          if (facts instanceof DomainError && !listed) throw facts;
          yield facts instanceof DomainError ? factsWithout(facts) : facts;
          if (pace.isDue) await pace.yield();
        }
      }
    } finally {
      this.#loading.delete(ended);
      end();
    }
  }

  /** The facts of a group, or why they cannot be read. */
  async *#factsOf(
    git: Repository,
    snapshot: Snapshot,
    { places, missing, sources }: Group,
    isAll: boolean,
  ): AsyncGenerator<EntryFacts | DomainError> {
    const isFew = isAll && missing.size <= fewBlobs;
    if (!isFew) await this.#addRows(git, missing, sources);
    let contents: Sources = new Map();
    for (const [at, { key, file }] of places.entries()) {
      let source = this.#known.get(key) ?? sources.get(key) ?? contents.get(key);
      if (source === undefined) {
        const unread = places.slice(at).filter((one) => !this.#known.has(one.key) && !sources.has(one.key));
        contents = await this.#contents(git, snapshot, unread, isFew);
        source = contents.get(key) ?? unreadable;
      }
      yield this.#made(key, file, source);
    }
  }

  /** The next files: up to so many that their rows, or what is known of them, are not too much to hold. */
  #groupOf(git: Repository, files: readonly Place[], from: number): Group {
    const group: Group = { places: [], missing: new Map(), sources: new Map() };
    let weight = 0;
    for (let at = from; at < files.length && group.places.length < rowsAtOnce && weight < heldAtOnce; at += 1) {
      const file = files[at] as Place;
      const key = keyOf(git, file);
      group.places.push({ key, file });
      if (group.sources.has(key) || group.missing.has(key)) continue;
      const known = this.#known.get(key);
      if (!known) group.missing.set(key, file);
      else {
        // Held until it is due, for what comes before may take its place in memory.
        group.sources.set(key, known);
        weight += factsWeight(known);
      }
    }
    return group;
  }

  /** Adds the rows of files that the cache has. */
  async #addRows(git: Repository, files: ReadonlyMap<string, Place>, sources: Sources): Promise<void> {
    if (files.size === 0) return;
    const stored = await this.#cache.facts(git.id, [...files.values()].map(blobKey));
    let next = 0;
    for (const key of files.keys()) {
      const row = stored?.[next++] ?? 'null';
      if (row !== 'null') sources.set(key, row);
    }
  }

  /** Reads the blobs of files, each once: as many as there is room for, and the first however long it is. */
  async #contents(git: Repository, snapshot: Snapshot, places: readonly KeyedFile[], isFew: boolean): Promise<Sources> {
    const files = [...new Map(places.map((place) => [place.key, place])).values()];
    const contents: Sources = new Map();
    const damaged = new Map<string, Place>();
    let left = heldAtOnce;
    for await (const content of soundBlobs(
      snapshot,
      files.map(({ file }) => file.oid),
    )) {
      const { key, file } = files[contents.size] as KeyedFile;
      contents.set(key, content);
      if (content instanceof Buffer) left -= content.length;
      else damaged.set(key, file);
      if (left <= 0) break;
    }
    // What it said when it could be read, the cache may still know.
    if (isFew) await this.#addRows(git, damaged, contents);
    if ([...damaged.keys()].some((key) => isDamage(contents.get(key)))) this.#damage.note(git.id);
    return contents;
  }

  /** The facts as they are known, or made from a row or a file. */
  #made(key: string, { path }: Place, source: Source): EntryFacts | DomainError {
    const isRow = typeof source === 'string';
    if (!isRow && !Buffer.isBuffer(source)) return source;
    const facts: EntryFacts = isRow ? JSON.parse(source) : factsOf(source, path);
    this.#known.set(key, facts);
    return facts;
  }
}

/** What facts are made from: themselves, their row, the content of their file, or why it cannot be read. */
type Source = EntryFacts | string | Buffer | DomainError;
type Sources = Map<string, Source>;

/** A file, and what its facts are known by. */
interface KeyedFile {
  key: string;
  file: Place;
}

/** Files whose facts are made one after the other, and by their keys what they are made from, or have yet to be. */
interface Group {
  places: KeyedFile[];
  missing: Map<string, Place>;
  sources: Sources;
}

async function collected(each: AsyncIterable<EntryFacts>): Promise<EntryFacts[]> {
  const facts: EntryFacts[] = [];
  for await (const one of each) facts.push(one);
  return facts;
}

function keyOf({ id }: Repository, file: Place): string {
  const { oid, format } = blobKey(file);
  return `${id}:${oid}:${format}`;
}
