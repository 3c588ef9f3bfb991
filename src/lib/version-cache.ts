import { readFile, stat } from 'node:fs/promises';
import { LRUCache } from 'lru-cache';

/**
 * Options of an `LRUCache` that holds at most so many entries and takes memory as they come. Given as `max`, the cache would lay out room for
 * all of them at once: 28 bytes an entry, whether or not one ever comes.
 */
export const upTo = (entries: number) => ({ maxSize: entries, sizeCalculation: () => 1 });

/** How much a `VersionCache` holds. */
interface Bounds<V> {
  /** In all. */
  versions: number;
  /** Whose last values are kept. */
  subjects: number;
  /** What all versions may weigh together, and so all last values, where a value grows with its subject; it is weighed once it is derived. */
  weight?: { most: number; of(value: V): number };
}

/**
 * What is derived from versions of subjects, computed once per version: the one kind of cache for content, whose versions are named by object
 * ids and so are never stale. Callers that need a version while it is computed share the computation; one that fails is forgotten. The value
 * derived last of each subject is kept apart, for the next version can be derived from it and from what changed, often in no time: of the subject
 * in use however much it weighs, while a version that weighs more than all may is not kept.
 */
export class VersionCache<V> {
  readonly #versions: LRUCache<string, Promise<V>>;
  readonly #latest: LRUCache<string, V & {}>;
  readonly #most: number;
  readonly #weigh: (value: V) => number;

  constructor({ versions, subjects, weight }: Bounds<V>) {
    this.#most = weight?.most ?? Number.MAX_SAFE_INTEGER;
    this.#weigh = weight?.of ?? (() => 1);
    const unweighed = { maxSize: this.#most, sizeCalculation: () => 1 };
    this.#versions = new LRUCache({ max: versions, ...unweighed });
    this.#latest = new LRUCache({ max: subjects, ...unweighed });
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
    // Looked up for a known version too: the subject is in use.
    const latest = this.#latest.get(subject);
    const known = this.#versions.get(key);
    if (known) return known;
    const made = derive(latest);
    this.#versions.set(key, made);
    const isCurrent = () => this.#versions.peek(key) === made;
    const forget = () => {
      if (isCurrent()) this.#versions.delete(key);
    };
    const keep = (value: V & {}) => {
      const size = this.#sizeOf(value);
      if (isCurrent()) this.#setVersion(key, made, size);
      this.#setLatest(subject, value, size);
    };
    made.then((value) => (mayKeep(value) ? keep(value) : forget()), forget);
    return made;
  }

  /** Whether a version is known; true also while it is derived. */
  has(subject: string, version: string): boolean {
    return this.#versions.has(keyOf(subject, version));
  }

  /** Replaces what is known of a version. */
  set(subject: string, version: string, value: V & {}): void {
    const size = this.#sizeOf(value);
    this.#setVersion(keyOf(subject, version), Promise.resolve(value), size);
    this.#setLatest(subject, value, size);
  }

  #sizeOf(value: V): number {
    return Math.max(1, this.#weigh(value));
  }

  #setVersion(key: string, made: Promise<V>, size: number): void {
    // The cache does not weigh the same promise again.
    this.#versions.delete(key);
    this.#versions.set(key, made, { size });
  }

  #setLatest(subject: string, value: V & {}, size: number): void {
    this.#latest.set(subject, value, { size: Math.min(size, this.#most) });
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
