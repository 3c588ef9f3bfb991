import { setTimeout as delay, setImmediate as nextTurn } from 'node:timers/promises';
import type { BlobRecord, ContentCache } from '../../../../ports/content-cache.ts';
import type { Repository } from '../../../../ports/git.ts';
import type { Log } from '../../../../ports/log.ts';
import { parseFile } from '../../frontmatter/parse-file.ts';
import { blobKey, factsFrom, type Place } from '../entry-facts.ts';
import { wordsOf } from '../search.ts';
import type { FactStore } from './fact-store.ts';
import type { StoredBlobs } from './stored-blobs.ts';

/** What one statement should carry, in characters. */
const charactersAtOnce = 4_000_000;
/** How long a slice of reading keeps the process from everything else, milliseconds. */
const timeSlice = 8;

/**
 * Reads files for the cache, in parts that one statement can carry; gives way to other work between slices. What cannot be read is left out:
 * it may be damaged, or the commit that brings it is not stored yet.
 */
async function* recordsOf(git: Repository, files: readonly Place[]): AsyncGenerator<BlobRecord[]> {
  try {
    yield* readAll(git, files);
  } catch {
    if (files.length > 1) for (const file of files) yield* recordsOf(git, [file]);
  }
}

async function* readAll(git: Repository, files: readonly Place[]): AsyncGenerator<BlobRecord[]> {
  let records: BlobRecord[] = [];
  let characters = 0;
  let next = 0;
  let began = performance.now();
  for await (const { content } of git.blobs(files.map(({ oid }) => oid))) {
    const file = files[next++];
    if (!file) continue;
    const record = recordOf(file, content);
    records.push(record);
    characters += record.facts.length + record.words.reduce((sum, word) => sum + word.length, 0);
    if (characters >= charactersAtOnce) {
      yield records;
      records = [];
      characters = 0;
    }
    if (performance.now() - began < timeSlice) continue;
    await nextTurn();
    began = performance.now();
  }
  if (records.length > 0) yield records;
}

function recordOf(file: Place, content: Buffer): BlobRecord {
  const parsed = parseFile(content, file.path);
  const facts = JSON.stringify(factsFrom(parsed, content.length));
  return { ...blobKey(file), facts, words: wordsOf(parsed) };
}

/** Blobs read and stored at a time. */
const blobsAtOnce = 200;
/** How long those who ask first go before; what comes meanwhile is done in one. Milliseconds. */
const startDelay = 100;
/** Repositories that may wait; of more the newest are left for when they are asked for again. */
const mostWaiting = 64;
/** From so many rows on it pays to make them quick to search at once. */
const manyRows = 100;

/** Files of a repository that should be stored. */
interface Work {
  git: Repository;
  lists: readonly (readonly Place[])[];
}

/**
 * Stores the facts and words of blobs in the background: one repository after another, a few blobs at a time, and only while nobody waits for
 * facts. What waits is names of blobs, never content; what is not stored today is tomorrow.
 */
export class Indexer {
  readonly #parts: { cache: ContentCache; stored: StoredBlobs; facts: FactStore; log: Log };
  readonly #waiting = new Map<string, Work>();
  #running: Promise<void> | null = null;
  readonly #closing = new AbortController();

  constructor(parts: { cache: ContentCache; stored: StoredBlobs; facts: FactStore; log: Log }) {
    this.#parts = parts;
  }

  /** Sees to it that these files are stored, instead of those that were wanted of the repository before. */
  want(git: Repository, lists: readonly (readonly Place[])[]): void {
    if (this.#closing.signal.aborted || (!this.#waiting.has(git.id) && this.#waiting.size >= mostWaiting)) return;
    this.#waiting.set(git.id, { git, lists });
    this.#running ??= this.#run();
  }

  /** Resolves when nothing waits. */
  async settled(): Promise<void> {
    while (this.#running) await this.#running;
  }

  /** Ends after the blobs in hand. */
  async close(): Promise<void> {
    this.#closing.abort();
    this.#waiting.clear();
    await this.settled();
  }

  async #run(): Promise<void> {
    while (this.#waiting.size > 0) {
      await delay(startDelay, undefined, { ref: false, signal: this.#closing.signal }).catch(() => {});
      const [next] = this.#waiting.values();
      if (!next) break;
      this.#waiting.delete(next.git.id);
      try {
        await this.#store(next);
      } catch (err) {
        this.#parts.log.warn({ err, repository: next.git.id }, 'content not indexed');
      }
    }
    this.#running = null;
  }

  async #store({ git, lists }: Work): Promise<void> {
    const { cache, stored, facts } = this.#parts;
    const known = await stored.of(git.id);
    if (!known) return;
    const missing = new Map<string, Place>();
    for (const list of lists) {
      for (const file of list) {
        const key = blobKey(file);
        if (known.get(key) === undefined) missing.set(`${key.format}:${key.oid}`, file);
      }
    }
    const files = [...missing.values()];
    for (let from = 0; from < files.length && !this.#closing.signal.aborted; from += blobsAtOnce) {
      await facts.quiet();
      for await (const records of recordsOf(git, files.slice(from, from + blobsAtOnce))) {
        const now = await cache.store(git.id, records);
        if (!now) return;
        for (const blob of now) known.add(blob);
      }
    }
    if (files.length >= manyRows) await cache.settle();
  }
}
