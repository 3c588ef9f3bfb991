import type { ContentCache, SearchWords } from '../../ports/content-cache.ts';
import type { Repository } from '../../ports/git.ts';
import { parseFile } from '../frontmatter/parse-file.ts';
import { blobKey, type Place } from './entry-facts.ts';
import { holdsWords, wordsOf } from './search.ts';
import { BlobSet, type StoredBlobs } from './stored-blobs.ts';

/** Finds files by their words: stored ones through the cache, all others by reading them. */
export class FullText {
  readonly #cache: ContentCache;
  readonly #stored: StoredBlobs;

  constructor(cache: ContentCache, stored: StoredBlobs) {
    this.#cache = cache;
    this.#stored = stored;
  }

  /** Those files that hold all the words. */
  async search<P extends Place>(git: Repository, files: readonly P[], wanted: SearchWords): Promise<ReadonlySet<P>> {
    if (wanted.prefix === null) return new Set(files);
    const stored = await this.#stored.of(git.id);
    // What is stored while the cache searches may or may not be among its hits: what counts is what was there before.
    const before = { size: stored?.size ?? 0, files: stored ? files.filter((file) => stored.has(blobKey(file))) : [] };
    const answer = before.files.length > 0 ? await this.#cache.search(git.id, wanted) : null;
    const isWhole = answer !== null && answer.stored >= before.size;
    if (answer && !isWhole) this.#stored.forget(git.id);
    const covered = new Set(isWhole ? before.files : []);
    const hits = new BlobSet(isWhole ? answer.hits : undefined);
    const read = await scan(
      git,
      files.filter((file) => !covered.has(file)),
      wanted,
    );
    return new Set(files.filter((file) => (covered.has(file) ? hits.has(blobKey(file)) : read.has(file))));
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
