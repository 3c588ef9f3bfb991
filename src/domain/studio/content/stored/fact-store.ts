import { LRUCache } from 'lru-cache';
import type { ContentCache } from '../../../ports/content-cache.ts';
import type { Repository } from '../../../ports/git.ts';
import type { Snapshot } from '../../../ports/git-records.ts';
import { blobKey, type EntryFacts, factsOf, factsWeight, type Place } from '../entry-facts.ts';

const memory = 64 * 1024 * 1024;
/** So few blobs are read from the repository before a database has answered. */
const fewBlobs = 4;
/** Rows asked for at once. */
const rowsAtOnce = 5_000;

/** The facts of files by their blobs: from memory, else from the cache, else from the repository. */
export class FactStore {
  readonly #cache: ContentCache;
  readonly #known = new LRUCache<string, EntryFacts>({ maxSize: memory, sizeCalculation: factsWeight });
  readonly #loading = new Set<Promise<unknown>>();

  constructor(cache: ContentCache) {
    this.#cache = cache;
  }

  /** Facts of files, in their order. */
  async of(git: Repository, snapshot: Snapshot, files: readonly Place[]): Promise<readonly EntryFacts[]> {
    const found = files.map((file) => this.#known.get(keyOf(git, file)));
    const missing = files.flatMap((file, at) => (found[at] ? [] : [{ file, at }]));
    if (missing.length === 0) return found as EntryFacts[];
    const load = this.#load(git, snapshot, missing, found);
    this.#loading.add(load);
    await load.finally(() => this.#loading.delete(load));
    return found as EntryFacts[];
  }

  /** Resolves at a moment when nobody waits for facts. */
  async quiet(): Promise<void> {
    while (this.#loading.size > 0) await Promise.allSettled(this.#loading);
  }

  async #load(git: Repository, snapshot: Snapshot, missing: Missing[], found: (EntryFacts | undefined)[]) {
    const keep = ({ file, at }: Missing, facts: EntryFacts) => {
      found[at] = facts;
      this.#known.set(keyOf(git, file), facts);
    };
    const unread = missing.length > fewBlobs ? await this.#ask(git, missing, keep) : missing;
    if (unread.length === 1 && unread[0]) {
      const [only] = unread;
      return keep(only, factsOf(await snapshot.blob(only.file.oid), only.file.path));
    }
    let next = 0;
    for await (const { content } of snapshot.blobs(unread.map(({ file }) => file.oid))) {
      const read = unread[next++];
      if (read) keep(read, factsOf(content, read.file.path));
    }
  }

  /** Keeps those that the cache has. @returns the others. */
  async #ask(git: Repository, missing: Missing[], keep: (missing: Missing, facts: EntryFacts) => void) {
    const unread: Missing[] = [];
    for (let from = 0; from < missing.length; from += rowsAtOnce) {
      const slice = missing.slice(from, from + rowsAtOnce);
      const stored = await this.#cache.facts(
        git.id,
        slice.map(({ file }) => blobKey(file)),
      );
      for (const [at, one] of slice.entries()) {
        const text = stored?.[at];
        if (text === undefined) unread.push(one);
        else keep(one, JSON.parse(text) as EntryFacts);
      }
    }
    return unread;
  }
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
