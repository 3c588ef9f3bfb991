import { forEachYielding } from '../../../../lib/concurrency.ts';
import type { ContentCache, SearchWords } from '../../../../ports/content-cache.ts';
import type { Repository } from '../../../../ports/git.ts';
import { parseFile } from '../../frontmatter/parse-file.ts';
import { blobKey, type Place } from '../entry-facts.ts';
import { containsWords, wordsOf } from '../search.ts';
import { type Damage, isDamage, soundBlobs } from './fact-store.ts';
import type { Indexer } from './indexer.ts';
import type { BlobNumbers, StoredBlobs } from './stored-blobs.ts';

/** The numbers of a list's blobs, in its order; 0: not stored. */
interface Numbered {
  by: BlobNumbers;
  numbers: Int32Array;
  isWhole: boolean;
}

/** Finds files by their words: stored ones through the cache, all others by reading them. */
export class FullText {
  readonly #cache: ContentCache;
  readonly #stored: StoredBlobs;
  readonly #indexer: Pick<Indexer, 'want'>;
  readonly #damage: Damage;
  /** Looking up 10,000 blobs takes as long as finding their words. */
  readonly #numbered = new WeakMap<readonly Place[], Numbered>();

  constructor(cache: ContentCache, stored: StoredBlobs, indexer: Pick<Indexer, 'want'>, damage: Damage) {
    this.#damage = damage;
    this.#cache = cache;
    this.#stored = stored;
    this.#indexer = indexer;
  }

  /** Those files of a list that hold all the words; only files `among` which is true for are looked at. */
  async search<P extends Place>(
    git: Repository,
    list: readonly P[],
    wanted: SearchWords,
    among: (file: P) => boolean = () => true,
  ): Promise<ReadonlySet<P>> {
    if (wanted.prefix === null) return new Set();
    // What comes in while the cache searches may or may not be among its hits: what counts is what was there before.
    const numbers = await this.#numbersOf(git, list);
    const hits = numbers && (await this.#cache.search(git.id, wanted));
    const found = new Set<P>();
    const unknown: P[] = [];
    let at = 0;
    await forEachYielding(list, (file: P) => {
      const number = hits ? (numbers[at] ?? 0) : 0;
      at += 1;
      if (!among(file)) return;
      if (number === 0) unknown.push(file);
      else if (hits?.has(number)) found.add(file);
    });
    if (unknown.length === 0) return found;
    for (const file of await this.#scan(git, unknown, wanted)) found.add(file);
    this.#indexer.want(git, [unknown]);
    return found;
  }

  async #numbersOf(git: Repository, list: readonly Place[]): Promise<Int32Array | null> {
    const by = await this.#stored.of(git.id);
    if (!by) return null;
    const known = this.#numbered.get(list);
    if (known?.isWhole && known.by === by) return known.numbers;
    const numbers = new Int32Array(list.length);
    let next = 0;
    await forEachYielding(list, (file: Place) => {
      numbers[next++] = by.get(blobKey(file)) ?? 0;
    });
    this.#numbered.set(list, { by, numbers, isWhole: !numbers.includes(0) });
    return numbers;
  }

  /** Reads files for the words; nothing is found in one that cannot be read. */
  async #scan<P extends Place>(git: Repository, files: readonly P[], wanted: SearchWords): Promise<P[]> {
    const found: P[] = [];
    const oids = files.map(({ oid }) => oid);
    let next = 0;
    for await (const content of soundBlobs(git, oids)) {
      const file = files[next++];
      if (isDamage(content)) this.#damage.note(git.id);
      else if (Buffer.isBuffer(content) && file && containsWords(wordsOf(parseFile(content, file.path)), wanted))
        found.push(file);
    }
    return found;
  }
}
