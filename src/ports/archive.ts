/** The manifest of an archive. */
export interface ArchiveLabel {
  /** RFC 3339. */
  made_at: string;
  /** The project as it was called, and where. */
  project: { organization: string; organization_name: string; machine_name: string; name: string };
  /** How many of what there are in it: rows by table, refs. */
  counts: Record<string, number>;
}

/** An archive while it is written, invisible before all of it is on the disk. */
export interface ArchiveDraft {
  /** Writes a file of text lines, in place of one of this name. @returns how many there were. */
  writeLines(name: string, lines: AsyncIterable<string>): Promise<number>;
  /** The lines of a file written before. */
  lines(name: string): AsyncIterable<string>;
  /** A directory inside the archive, for an engine that writes files itself: its absolute path. */
  folder(name: string): Promise<string>;
}

/** An archive whose files all exist, with the content they were written with. */
export interface Archive {
  readonly label: ArchiveLabel;
  /** Version of the program that made it. */
  readonly product_version: string;
  /** Paths of its files, relative, with slashes. */
  readonly files: readonly string[];
  lines(name: string): AsyncIterable<string>;
  /** Absolute path of a directory inside the archive. */
  folder(name: string): string;
}

/** Directories that each hold one thing, are versioned and checksummed, and are there whole or not at all. */
export interface ArchiveStore {
  /**
   * Makes an archive at `place`, an absolute path: filled aside, synced, then renamed. What fails or is aborted leaves nothing.
   *
   * @returns bytes of all its files
   * @throws DomainError `already_exists` when something is there
   */
  create(place: string, fill: (draft: ArchiveDraft) => Promise<ArchiveLabel>, signal: AbortSignal): Promise<number>;
  /**
   * Opens an archive once every file has been compared with its checksum.
   *
   * @throws DomainError `not_found` without an archive, `invalid_request` naming the damaged file
   */
  open(place: string, signal: AbortSignal): Promise<Archive>;
}
