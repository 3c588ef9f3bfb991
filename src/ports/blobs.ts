/** SHA-256 of a content in 64 lower-case hexadecimal digits: the only name a blob has. */
export type Sha256 = string;

/** A content coding a blob is also kept in (RFC 9110 8.4.1), ready to be sent. */
export type BlobEncoding = 'br' | 'gzip';

export interface KeptBlob {
  sha256: Sha256;
  /** Bytes. */
  size: number;
  /** False when it had been kept before: nothing was copied then. */
  isNew: boolean;
}

/** Bytes of a blob as it is, and of each coding that makes it smaller. */
export interface BlobSizes {
  identity: number;
  br?: number;
  gzip?: number;
}

export interface ReadBlobOptions {
  /** Default: as it was put. */
  encoding?: BlobEncoding;
  /** First and last byte, both included. */
  range?: { start: number; end: number };
}

export interface SweptBlobs {
  kept: number;
  removed: number;
  /** Freed. */
  bytes: number;
}

/** Reports which of the blobs whose name begins with two hexadecimal digits are referred to. A rejection ends the sweep. */
export type LiveBlobs = (prefix: string) => Promise<ReadonlySet<Sha256>>;

/**
 * Contents by their own hash, so that the same one is never kept twice. What a call resolved with is durable. A blob that nothing
 * refers to goes with a sweep; each put and each `missing` that finds it makes it young again, unless that was done within half an hour, so
 * a new reference to a blob has to be written within the sweep's grace period less half an hour.
 */
export interface BlobStore {
  /**
   * Stores a content, hashing it as it arrives. A stream that fails leaves nothing.
   * @throws DomainError `unavailable` when the disk is full
   */
  put(content: Uint8Array | AsyncIterable<Uint8Array>): Promise<KeptBlob>;
  /** Keeps the content of a plain file (never of what a link names), which is read without being copied when it is kept already. */
  putFile(path: string): Promise<KeptBlob>;
  /**
   * Keeps the codings that make a blob smaller beside it; cheap when they are there. A loss of power may take them away again.
   * @throws DomainError `not_found`
   */
  encode(sha256: Sha256): Promise<void>;
  /** Null when there is no such blob. */
  sizes(sha256: Sha256): Promise<BlobSizes | null>;
  /** The bytes as they are read from the disk, unchecked. @throws DomainError `not_found`, before the first byte */
  read(sha256: Sha256, options?: ReadBlobOptions): AsyncIterable<Buffer>;
  /** @returns the ones that are not stored; the others are renewed */
  missing(sha256s: Iterable<Sha256>): Promise<Set<Sha256>>;
  /** Reads a blob again and compares it with its name. */
  verify(sha256: Sha256): Promise<'intact' | 'corrupted' | 'missing'>;
  /**
   * Removes what is neither in `live` nor younger than `before`, and what interrupted puts left. `live` must have been collected after
   * `before`, or at least hold everything that was referred to then. Where that is too much for the memory, it is called part by part.
   */
  sweep(live: ReadonlySet<Sha256> | LiveBlobs, before: Date): Promise<SweptBlobs>;
}
