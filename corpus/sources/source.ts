/** A regular file of a source. */
export interface ListedFile {
  /** From the root of the source, with slashes. */
  path: string;
  /** Names the content in a repository; '' in a directory. */
  oid: string;
}

/** What is not looked at, and how often it was met. */
export interface Skipped {
  symlinks: number;
  /** Cannot be opened or listed. */
  unreadable: number;
  /** Larger than an entry can be. */
  too_large: number;
  /** Pipes, sockets, submodules. */
  special: number;
}

/** Files to check the engine on: a directory, or the head of a branch. Only ever read. */
export interface Source {
  /** As it was given, with `@branch` behind it when it is a repository. */
  name: string;
  kind: 'directory' | 'git';
  commit: string | null;
  /** In order of path. */
  files: readonly ListedFile[];
  skipped: Skipped;
  /** The bytes of a file; null, and counted as skipped, when it cannot be read or is too large. */
  read(file: ListedFile): Promise<Buffer | null>;
  /** Ends what reads it. */
  close(): Promise<void>;
}

/** The largest entry the service merges; bytes. */
export const largestFile = 5 * 1024 * 1024;

export const nothingSkipped = (): Skipped => ({ symlinks: 0, unreadable: 0, too_large: 0, special: 0 });

/** Counts what is skipped, each path once however often it is asked for. */
export class SkipCounter {
  readonly counts = nothingSkipped();
  readonly #met = new Set<string>();

  add(kind: keyof Skipped, path: string): void {
    if (this.#met.has(path)) return;
    this.#met.add(path);
    this.counts[kind]++;
  }
}
