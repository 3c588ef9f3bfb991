/** A content that is on the disk for as long as its spool is open. */
export interface Spooled {
  /** Bytes. */
  size: number;
  /** Reads it from the beginning, as often as it is called. */
  read(): AsyncIterable<Uint8Array>;
}

/** Where the files of one request wait until all of the request is known. Takes no space before the first file. */
export interface Spool {
  /**
   * Keeps a content after those before it; one at a time.
   * @param limit most bytes
   * @throws DomainError `too_large`
   */
  add(content: AsyncIterable<Uint8Array>, limit: number): Promise<Spooled>;
  /** Frees the space; twice is once. What is still read from it then fails. */
  close(): Promise<void>;
}

export interface Spools {
  open(): Spool;
  /** Spools that hold files. */
  readonly held: number;
}
