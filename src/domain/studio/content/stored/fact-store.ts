import { LRUCache } from 'lru-cache';
import { DomainError } from '../../../../kernel/errors.ts';
import { forEachYielding, Pace } from '../../../../lib/concurrency.ts';
import type { ContentCache } from '../../../../ports/content-cache.ts';
import type { Repository } from '../../../../ports/git.ts';
import type { Snapshot } from '../../../../ports/git-records.ts';
import type { ParsedFile } from '../../frontmatter/values.ts';
import { blobKey, type EntryFacts, factsOf, factsWeight, keptFacts, type Place, unreadable } from '../entry-facts.ts';

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

type Source = Pick<Snapshot, 'blobs'> & Partial<Pick<Snapshot, 'blob'>>;

/** More damaged blobs than this, and than there are sound ones: it is the repository that cannot be read. */
const fewDamaged = 20;

const isDamage = (error: unknown): error is DomainError =>
  error instanceof DomainError && error.code === 'repository_unavailable';

/**
 * Contents of blobs in the order of the input; in place of one that cannot be read, the error: the others are still read.
 * @throws DomainError `repository_unavailable` when it is not only some
 */
export async function* soundBlobs(source: Source, oids: readonly string[]): AsyncGenerator<Buffer | DomainError> {
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
      if (!isDamage(error)) throw error;
      const alone = await readAlone(source, oids[next] ?? '');
      next += 1;
      if (alone instanceof DomainError) damaged += 1;
      if (damaged > fewDamaged && damaged > next - damaged) throw error;
      yield alone;
    }
  }
}

async function readAlone(source: Source, oid: string): Promise<Buffer | DomainError> {
  try {
    if (source.blob) return await source.blob(oid);
    for await (const { content } of source.blobs([oid])) return content;
  } catch (error) {
    if (isDamage(error)) return error;
    throw error;
  }
  throw new Error(`nothing was said of ${oid}`);
}

const memory = 64 * 1024 * 1024;
/** So few blobs are read from the repository before a database has answered. */
const fewBlobs = 4;
/** Rows read at once: as many as may be of the longest. */
const rowsAtOnce = 1_000;
/** Facts that are stored have at most so many characters: for longer ones the file is as quick to read. */
export const longestStored = 32 * 1024;
/** Files whose facts are read together where each is looked at alone, and bytes of them that are kept until it is. */
const filesAtOnce = 5_000;
const heldAtOnce = 16 * 1024 * 1024;

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
  async of(git: Repository, snapshot: Snapshot, files: readonly Place[]): Promise<readonly EntryFacts[]> {
    const { facts, damage } = await this.#read(git, snapshot, files);
    if (damage) throw damage;
    return facts;
  }

  /** Facts of files, in their order; `unreadable` for damaged ones, which must not fail a whole list. */
  async listed(git: Repository, snapshot: Snapshot, files: readonly Place[]): Promise<readonly EntryFacts[]> {
    return (await this.#read(git, snapshot, files)).facts;
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
   * The same one after the other, for what looks at each and keeps none: the facts of all files of a collection may be more than memory has room for.
   * @throws DomainError `repository_unavailable` when one cannot be read, unless they are `listed`
   */
  async *each(
    git: Repository,
    snapshot: Snapshot,
    files: readonly Place[],
    { listed }: { listed: boolean },
  ): AsyncGenerator<EntryFacts> {
    for (let from = 0; from < files.length; from += filesAtOnce) {
      const some = files.slice(from, from + filesAtOnce);
      const held = new Array<EntryFacts | undefined>(some.length).fill(undefined);
      let left = heldAtOnce;
      const damage = await this.#visit(git, snapshot, some, (facts, at) => {
        left -= factsWeight(facts);
        if (left >= 0) held[at] = facts;
      });
      if (damage && !listed) throw damage;
      for (const [at, file] of some.entries()) {
        const facts = held[at];
        held[at] = undefined;
        // What there was no room for is read again when it comes to it.
        const read = facts ? undefined : await this.#read(git, snapshot, [file]);
        if (read?.damage && !listed) throw read.damage;
        yield facts ?? read?.facts[0] ?? unreadable;
      }
    }
  }

  async #read(git: Repository, snapshot: Snapshot, files: readonly Place[]): Promise<Read> {
    const facts = new Array<EntryFacts>(files.length).fill(unreadable);
    const damage = await this.#visit(git, snapshot, files, (found, at) => {
      facts[at] = found;
    });
    return { facts, damage };
  }

  /** Calls `visit` with the facts of each file, in any order, and holds none. @returns why some are `unreadable` */
  async #visit(
    git: Repository,
    snapshot: Snapshot,
    files: readonly Place[],
    visit: (facts: EntryFacts, at: number) => void,
  ): Promise<DomainError | null> {
    const missing = new Map<string, Missing>();
    await forEachYielding(files.entries(), ([at, file]) => {
      const key = keyOf(git, file);
      const known = this.#known.get(key);
      if (known) return visit(known, at);
      const same = missing.get(key);
      if (same) same.at.push(at);
      else missing.set(key, { key, file, at: [at] });
    });
    if (missing.size === 0) return null;
    const load = this.#load(git, snapshot, [...missing.values()], (facts, { at }) => {
      for (const one of at) visit(facts, one);
    });
    this.#loading.add(load);
    return load.finally(() => this.#loading.delete(load));
  }

  /** Reads each blob once. @returns why some cannot be read */
  async #load(
    git: Repository,
    snapshot: Snapshot,
    missing: readonly Missing[],
    visit: (facts: EntryFacts, missing: Missing) => void,
  ): Promise<DomainError | null> {
    const keep = (one: Missing, facts: EntryFacts) => {
      this.#known.set(one.key, facts);
      visit(facts, one);
    };
    const isFew = missing.length <= fewBlobs;
    const unread = isFew ? missing : await this.#fromCache(git, missing, keep);
    const damaged: Missing[] = [];
    let damage: DomainError | null = null;
    let next = 0;
    const oids = unread.map(({ file }) => file.oid);
    for await (const content of soundBlobs(snapshot, oids)) {
      const read = unread[next++];
      if (!read) continue;
      if (content instanceof DomainError) {
        damage = content;
        damaged.push(read);
      } else keep(read, factsOf(content, read.file.path));
    }
    if (damaged.length === 0) return null;
    // What it said when it could be read, the cache may still know.
    const left = isFew ? await this.#fromCache(git, damaged, keep) : damaged;
    if (left.length === 0) return null;
    for (const one of left) visit(unreadable, one);
    this.#damage.note(git.id);
    return damage;
  }

  /** Keeps the facts that the cache has. @returns the files it lacks */
  async #fromCache(git: Repository, missing: readonly Missing[], keep: (missing: Missing, facts: EntryFacts) => void) {
    const unread: Missing[] = [];
    const pace = new Pace();
    for (let from = 0; from < missing.length; from += rowsAtOnce) {
      const batch = missing.slice(from, from + rowsAtOnce);
      const stored = await this.#cache.facts(
        git.id,
        batch.map(({ file }) => blobKey(file)),
      );
      for (const [at, one] of batch.entries()) {
        const facts = JSON.parse(stored?.[at] ?? 'null') as EntryFacts | null;
        if (facts === null) unread.push(one);
        else keep(one, facts);
        if (pace.isDue) await pace.yield();
      }
    }
    return unread;
  }
}

interface Read {
  facts: EntryFacts[];
  /** Why some are `unreadable`. */
  damage: DomainError | null;
}

/** A blob whose facts are not in memory, one of its files, and where the facts belong in the answer. */
interface Missing {
  key: string;
  file: Place;
  at: number[];
}

function keyOf({ id }: Repository, file: Place): string {
  const { oid, format } = blobKey(file);
  return `${id}:${oid}:${format}`;
}
