import { setTimeout as delay } from 'node:timers/promises';
import { forEachYielding } from '../../../../lib/concurrency.ts';
import type { Activity } from '../../../../lib/timing.ts';
import type { BlobRecord, ContentCache } from '../../../../ports/content-cache.ts';
import type { Repository } from '../../../../ports/git.ts';
import type { Log } from '../../../../ports/log.ts';
import { parseFile } from '../../frontmatter/parse-file.ts';
import type { ParsedFile } from '../../frontmatter/values.ts';
import { blobKey, factsFrom, type Place } from '../entry-facts.ts';
import { wordsOf } from '../search.ts';
import { type FactStore, longestStored } from './fact-store.ts';
import type { StoredBlobs } from './stored-blobs.ts';

/** What one statement should carry, in characters. */
const charactersAtOnce = 4_000_000;
/** How long reading goes on before it gives way to requests, milliseconds. */
const timeBudget = 5;
/** How long it gives way at most, milliseconds: a hundredth of the process is left to it while requests come without a pause. */
const longestWait = 500;

/**
 * Reads files for the cache, in parts that one statement can carry; other work goes on in between. What cannot be read is left out:
 * it may be damaged, or the commit that brings it is not stored yet.
 */
async function* recordsOf(
  git: Repository,
  files: readonly IndexedFile[],
  activity: Activity,
): AsyncGenerator<BlobRecord[]> {
  try {
    yield* readAll(git, files, activity);
  } catch {
    if (files.length > 1) for (const file of files) yield* recordsOf(git, [file], activity);
  }
}

async function* readAll(
  git: Repository,
  files: readonly IndexedFile[],
  activity: Activity,
): AsyncGenerator<BlobRecord[]> {
  let records: BlobRecord[] = [];
  let characters = 0;
  let began = performance.now();
  const unread = git.blobs(files.flatMap(({ oid, content }) => (content ? [] : [oid])))[Symbol.asyncIterator]();
  try {
    for (const file of files) {
      const record = file.content
        ? recordOf(file, file.content.parsed, file.content.size)
        : recordFrom(file, (await unread.next()).value.content);
      records.push(record);
      characters += record.facts.length + record.words.reduce((sum, word) => sum + word.length, 0);
      if (characters >= charactersAtOnce) {
        yield records;
        records = [];
        characters = 0;
      }
      if (performance.now() - began < timeBudget) continue;
      await activity.quiet(longestWait);
      began = performance.now();
    }
    if (records.length > 0) yield records;
  } finally {
    await unread.return?.();
  }
}

const recordFrom = (file: Place, content: Buffer): BlobRecord =>
  recordOf(file, parseFile(content, file.path), content.length);

function recordOf(file: Place, parsed: ParsedFile, size: number): BlobRecord {
  const facts = JSON.stringify(factsFrom(parsed, size));
  return { ...blobKey(file), facts: facts.length > longestStored ? 'null' : facts, words: wordsOf(parsed) };
}

/** Blobs read and stored at a time. */
const blobsAtOnce = 50;
/** So few files are stored without a look at what is. */
const fewFiles = 200;
/** How long requests go before; what comes meanwhile is done in one batch. Milliseconds. */
const startDelay = 100;
/** Repositories that may wait; of more the newest are left for their next request. */
const mostWaiting = 64;
/** Files of one repository that may wait by themselves; more come with the next requested list. */
const mostFiles = 10_000;
/** Bytes of files that may wait as they were parsed; beyond that they are read again. */
const mostParsed = 8 * 1024 * 1024;
/** From so many rows on it pays to make them quick to search at once. */
const manyRows = 100;

/** A file to be stored, with its content where a save has parsed it. */
interface IndexedFile extends Place {
  content?: { parsed: ParsedFile; size: number };
}

/** What an indexer works with. */
interface Sources {
  cache: ContentCache;
  stored: StoredBlobs;
  facts: FactStore;
  activity: Activity;
  log: Log;
}

/** What of a repository should be stored. */
interface Work {
  git: Repository;
  /** Of a site that was read anew; only what is not stored yet. */
  lists: readonly (readonly Place[])[];
  /** What changed since, by its path. */
  files: Map<string, IndexedFile>;
}

/**
 * Stores the facts and words of blobs in the background: one repository after another, a few blobs at a time, and only while no facts are being
 * loaded. What is not stored today is tomorrow.
 */
export class Indexer {
  readonly #over: Sources;
  readonly #waiting = new Map<string, Work>();
  #parsed = 0;
  #running: Promise<void> | null = null;
  readonly #closing = new AbortController();

  constructor(over: Sources) {
    this.#over = over;
  }

  /** Has all files of some lists stored, in place of the lists that were wanted of the repository before. */
  want(git: Repository, lists: readonly (readonly Place[])[]): void {
    const work = this.#workFor(git);
    if (work) work.lists = lists;
  }

  /** Has single files stored, in addition. */
  add(git: Repository, files: readonly IndexedFile[]): void {
    const work = files.length > 0 ? this.#workFor(git) : null;
    if (!work) return;
    for (const { path, oid, content } of files) {
      const known = work.files.get(path);
      if (known?.oid === oid && (known.content || !content)) continue;
      if (!known && work.files.size >= mostFiles) continue;
      this.#parsed -= known?.content?.size ?? 0;
      const isKept = content !== undefined && this.#parsed + content.size <= mostParsed;
      if (isKept) this.#parsed += content.size;
      work.files.set(path, { path, oid, ...(isKept && { content }) });
    }
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

  #workFor(git: Repository): Work | null {
    if (this.#closing.signal.aborted) return null;
    const known = this.#waiting.get(git.id);
    if (!known && this.#waiting.size >= mostWaiting) return null;
    const work = known ?? { git, lists: [], files: new Map() };
    this.#waiting.set(git.id, work);
    this.#running ??= this.#run();
    return work;
  }

  async #run(): Promise<void> {
    while (this.#waiting.size > 0) {
      await delay(startDelay, undefined, { ref: false, signal: this.#closing.signal }).catch(() => {});
      const [next] = this.#waiting.values();
      if (!next) break;
      this.#waiting.delete(next.git.id);
      for (const { content } of next.files.values()) this.#parsed -= content?.size ?? 0;
      try {
        await this.#store(next);
      } catch (err) {
        this.#over.log.warn({ err, repository: next.git.id }, 'content not indexed');
      }
    }
    this.#running = null;
  }

  async #store({ git, lists, files }: Work): Promise<void> {
    const { cache, stored, facts, activity } = this.#over;
    const missing = await this.#missing(git, lists, [...files.values()]);
    if (!missing) return;
    for (let from = 0; from < missing.length && !this.#closing.signal.aborted; from += blobsAtOnce) {
      await facts.quiet();
      await activity.quiet(longestWait);
      for await (const records of recordsOf(git, missing.slice(from, from + blobsAtOnce), activity)) {
        const now = await cache.store(git.id, records);
        if (!now) return;
        await stored.add(git.id, now);
      }
    }
    if (missing.length >= manyRows) await cache.settle();
  }

  /** What is not stored yet; null: the cache cannot say. Few files are stored without a look at what is: they are likely new. */
  async #missing(git: Repository, lists: Work['lists'], files: readonly IndexedFile[]): Promise<IndexedFile[] | null> {
    const { stored } = this.#over;
    const isFew = lists.length === 0 && files.length <= fewFiles;
    const known = await (isFew ? stored.known(git.id) : stored.of(git.id));
    if (!known && !isFew) return null;
    const missing = new Map<string, IndexedFile>();
    for (const list of [...lists, files]) {
      await forEachYielding(list, (file: IndexedFile) => {
        const key = blobKey(file);
        if (known?.get(key) === undefined) missing.set(`${key.format}:${key.oid}`, file);
      });
    }
    return [...missing.values()];
  }
}
