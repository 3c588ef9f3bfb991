import { LRUCache } from 'lru-cache';
import { DomainError } from '../../../../kernel/errors.ts';
import { mapYielding, Pace } from '../../../../lib/concurrency.ts';
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
/** Rows read at once. */
const rowsAtOnce = 5_000;

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

  async #read(git: Repository, snapshot: Snapshot, files: readonly Place[]): Promise<Read> {
    const missing: Missing[] = [];
    const facts = await mapYielding(files, (file, at) => {
      const known = this.#known.get(keyOf(git, file)) ?? unreadable;
      if (known === unreadable) missing.push({ file, at });
      return known;
    });
    if (missing.length === 0) return { facts, damage: null };
    const load = this.#load(git, snapshot, missing, facts);
    this.#loading.add(load);
    return { facts, damage: await load.finally(() => this.#loading.delete(load)) };
  }

  /** Puts what can be read in its place. @returns why the rest cannot */
  async #load(
    git: Repository,
    snapshot: Snapshot,
    missing: readonly Missing[],
    found: EntryFacts[],
  ): Promise<DomainError | null> {
    const keep = ({ file, at }: Missing, facts: EntryFacts) => {
      found[at] = facts;
      this.#known.set(keyOf(git, file), facts);
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
    this.#damage.note(git.id);
    return damage;
  }

  /** Keeps the facts that the cache has. @returns the files it lacks */
  async #fromCache(git: Repository, missing: readonly Missing[], keep: (missing: Missing, facts: EntryFacts) => void) {
    const unread: Missing[] = [];
    for (let from = 0; from < missing.length; from += rowsAtOnce) {
      const batch = missing.slice(from, from + rowsAtOnce);
      const stored = await this.#cache.facts(
        git.id,
        batch.map(({ file }) => blobKey(file)),
      );
      for (const [at, one] of batch.entries()) {
        const text = stored?.[at];
        if (text === undefined) unread.push(one);
        else keep(one, JSON.parse(text) as EntryFacts);
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

/** A file whose facts are not in memory, and where they belong in the answer. */
interface Missing {
  file: Place;
  at: number;
}

function keyOf({ id }: Repository, file: Place): string {
  const { oid, format } = blobKey(file);
  return `${id}:${oid}:${format}`;
}
