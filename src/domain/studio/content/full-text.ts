import type { ContentCache, SearchWords } from '../../ports/content-cache.ts';
import type { Repository } from '../../ports/git.ts';
import { parseFile } from '../frontmatter/parse-file.ts';
import { blobKey, type Place } from './entry-facts.ts';
import type { Indexer } from './indexer.ts';
import { holdsWords, wordsOf } from './search.ts';
import { BlobSet, type StoredBlobs } from './stored-blobs.ts';

/** Finds files by their words: stored ones through the cache, all others by reading them. */
export class FullText {
  readonly #cache: ContentCache;
  readonly #stored: StoredBlobs;
  readonly #indexer: Pick<Indexer, 'want'>;

  constructor(cache: ContentCache, stored: StoredBlobs, indexer: Pick<Indexer, 'want'>) {
    this.#cache = cache;
    this.#stored = stored;
    this.#indexer = indexer;
  }

  /** Those files that hold all the words. */
  async search<P extends Place>(git: Repository, files: readonly P[], wanted: SearchWords): Promise<ReadonlySet<P>> {
    if (wanted.prefix === null) return new Set(files);
    const { found, unknown } = await this.#ask(git, files, wanted);
    if (unknown.length === 0) return found;
    const read = await scan(git, unknown, wanted);
    this.#indexer.want(git, [unknown]);
    return new Set([...found, ...read]);
  }

  /** What the cache finds, and the files it cannot tell of. */
  async #ask<P extends Place>(git: Repository, files: readonly P[], wanted: SearchWords) {
    const nothing = { found: new Set<P>(), unknown: files };
    const stored = await this.#stored.of(git.id);
    // What comes in while the cache searches may or may not be among its hits: what counts is what was there before.
    const before = stored?.size ?? 0;
    const known = stored ? files.filter((file) => stored.has(blobKey(file))) : [];
    const answer = known.length > 0 ? await this.#cache.search(git.id, wanted) : null;
    if (!answer) return nothing;
    if (answer.stored < before) {
      this.#stored.forget(git.id);
      return nothing;
    }
    const hits = new BlobSet(answer.hits);
    const isKnown = known.length === files.length ? null : new Set(known);
    return {
      found: new Set(known.filter((file) => hits.has(blobKey(file)))),
      unknown: isKnown ? files.filter((file) => !isKnown.has(file)) : [],
    };
  }
}

/** Reads files for the words. */
async function scan<P extends Place>(git: Repository, files: readonly P[], wanted: SearchWords): Promise<Set<P>> {
  const found = new Set<P>();
  let next = 0;
  for await (const { content } of git.blobs(files.map((file) => file.oid))) {
    const file = files[next++];
    if (file && holdsWords(wordsOf(parseFile(content, file.path)), wanted)) found.add(file);
  }
  return found;
}
