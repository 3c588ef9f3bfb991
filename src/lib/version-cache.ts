import { readFile, stat } from 'node:fs/promises';
import { LRUCache } from 'lru-cache';

/**
 * Options of an `LRUCache` that holds at most so many entries and takes memory as they come. Given as `max`, the cache would lay out room for
 * all of them at once: 28 bytes an entry, whether or not one ever comes.
 */
export const upTo = (entries: number) => ({ maxSize: entries, sizeCalculation: () => 1 });

/**
 * What is derived from versions of subjects, computed once per version: the one kind of cache for content, whose versions are named by object
 * ids and so are never stale. Callers that need a version while it is computed share the computation; one that fails is forgotten. The value
 * derived last of each subject is kept apart, for the next version can be derived from it and from what changed, often in no time.
 */
export class VersionCache<V> {
  readonly #versions: LRUCache<string, Promise<V>>;
  readonly #latest: LRUCache<string, V & {}>;

  /** @param bounds how many versions in all, and the last values of how many subjects */
  constructor(bounds: { versions: number; subjects: number }) {
    this.#versions = new LRUCache({ max: bounds.versions });
    this.#latest = new LRUCache({ max: bounds.subjects });
  }

  /**
   * The value of a version.
   * @param derive called when it is not known, with the value derived last of the subject
   * @param mayKeep called once it is derived: false where it lacks what could not be read just now
   */
  of(
    subject: string,
    version: string,
    derive: (latest: V | undefined) => Promise<V & {}>,
    mayKeep: (value: V) => boolean = () => true,
  ): Promise<V> {
    const key = keyOf(subject, version);
    const known = this.#versions.get(key);
    if (known) return known;
    const made = derive(this.#latest.get(subject));
    this.#versions.set(key, made);
    const forget = () => {
      if (this.#versions.peek(key) === made) this.#versions.delete(key);
    };
    made.then((value) => (mayKeep(value) ? this.#latest.set(subject, value) : forget()), forget);
    return made;
  }

  /** Replaces what is known of a version. */
  set(subject: string, version: string, value: V & {}): void {
    this.#versions.set(keyOf(subject, version), Promise.resolve(value));
    this.#latest.set(subject, value);
  }
}

/** No subject ends in what another goes on with. */
const keyOf = (subject: string, version: string) => JSON.stringify([subject, version]);

/** Keeps what is made of a file's text until the file changes. The function that is returned rejects while the file cannot be read. */
export function madeOfFile<T>(path: string, make: (text: string) => T): () => Promise<T> {
  let known: { version: string; made: T } | undefined;
  return async () => {
    const { mtimeMs, size, ino } = await stat(path);
    const version = `${mtimeMs} ${size} ${ino}`;
    if (known?.version !== version) known = { version, made: make(await readFile(path, 'utf8')) };
    return known.made;
  };
}
