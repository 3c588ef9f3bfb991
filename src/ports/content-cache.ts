import type { Oid } from './git-records.ts';

/** A blob as one kind of file: the same bytes say one thing as Markdown and another as JSON. */
export interface BlobKey {
  oid: Oid;
  /** How it is read, and by which version of the reader. */
  format: string;
}

/** What was read from a blob. */
export interface BlobRecord extends BlobKey {
  /** JSON text; `null` of facts that are too long to be stored. */
  facts: string;
  /** Distinct, folded, of letters and digits alone. */
  words: readonly string[];
}

/** A blob as the cache holds it; the number is its own among all that are stored. */
export interface StoredBlob extends BlobKey {
  number: number;
}

/** A search: whole words, and the beginning of one more. */
export interface SearchWords {
  whole: readonly string[];
  prefix: string | null;
}

/** The schemas of a site as JSON text, and what they hold for: a key to find them by and a variant to be compared, hexadecimal digests. */
export interface SchemaRow {
  key: string;
  variant: string;
  text: string;
}

/** The last commits of paths, as one commit sees them. */
export interface KnownCommits {
  /** null: nothing is stored yet. */
  marker: Oid | null;
  /** Those of the given paths that are known. */
  commits: ReadonlyMap<string, Oid>;
}

/** Paths whose last commit is another one at the new marker; null: not known there. */
export type CommitChanges = ReadonlyMap<string, Oid | null>;

/**
 * What was derived from a repository's content, kept where it survives a restart and other processes find it. It is only a cache: nothing
 * here fails: what cannot be answered or done gives null or false.
 * `repository` is the id of a project's repository; its rows are deleted with the project.
 */
export interface ContentCache {
  /** Facts of blobs as JSON text, in the order requested; undefined: not stored. */
  facts(repository: string, blobs: readonly BlobKey[]): Promise<(string | undefined)[] | null>;
  /** Every blob that is stored, but for retired ones. */
  stored(repository: string): Promise<Iterable<StoredBlob> | null>;
  /** Numbers of the stored blobs that hold all the words. */
  search(repository: string, words: SearchWords): Promise<ReadonlySet<number> | null>;
  /** Stores blobs durably; existing ones stay as they are, and are no longer retired. */
  store(repository: string, blobs: readonly BlobRecord[]): Promise<StoredBlob[] | null>;
  /** Makes many blobs that were just stored as quick to search as the others. */
  settle(): Promise<void>;
  /** Schemas under any of the keys, the newest first; there may be more than are given. */
  schemas(repository: string, keys: readonly string[]): Promise<SchemaRow[] | null>;
  /** Stores schemas durably; the oldest of the repository may go for them. */
  storeSchemas(repository: string, row: SchemaRow): Promise<boolean>;
  lastCommits(repository: string, paths: readonly string[]): Promise<KnownCommits | null>;
  /**
   * Moves the marker with everything that changes on the way, unless it has left `from` (null: no marker yet, or what there is no longer
   * counts, and all its paths with it).
   */
  moveMarker(repository: string, from: Oid | null, to: Oid, changes: CommitChanges): Promise<boolean>;
  /** Retires blobs that are no longer referenced: reads no longer find them; searches do until they are removed. */
  retire(repository: string, blobs: readonly BlobKey[]): Promise<boolean>;
  /** Removes up to `limit` blobs of all repositories that were retired an hour ago, and schemas stored a month ago. @returns how many blobs */
  removeExpired(limit: number): Promise<number | null>;
  /** Deletes up to `limit` paths that the marker's commit does not hold, unless the marker has left it. @returns how many */
  forgetCommits(repository: string, marker: Oid, held: readonly string[], limit: number): Promise<number | null>;
  /** Adds paths that were not known, unless the marker has left `marker`. */
  addCommits(repository: string, marker: Oid, commits: ReadonlyMap<string, Oid>): Promise<boolean>;
}
