/** An object id: 40 hexadecimal digits (SHA-1 repositories) or 64 (SHA-256). */
export type Oid = string;

/** git's own modes: blob 100644 or 100755, symlink 120000, tree 40000, submodule 160000. */
export type Mode = '100644' | '100755' | '120000' | '40000' | '160000' | (string & {});

export interface TreeEntry {
  name: string;
  mode: Mode;
  oid: Oid;
}

/** A file of a recursive listing; `path` is relative to the listed tree. */
export interface TreeFile {
  path: string;
  mode: Mode;
  oid: Oid;
}

export interface Signature {
  name: string;
  email: string;
  /** RFC 3339, whole seconds, with the offset the commit carries. */
  date: string;
}

export interface Commit {
  sha: Oid;
  tree_sha: Oid;
  parents: Oid[];
  message: string;
  author: Signature;
  committer: Signature;
}

/** Commits that each of two has alone. */
export interface Distance {
  ahead_by: number;
  behind_by: number;
}

export interface Ref {
  /** Full name, `refs/heads/main`. */
  name: string;
  oid: Oid;
}

/** What a path holds at a tree: the entry there, or nothing. `blocked` names the ancestor that is a symlink or submodule. */
export interface PathLookup {
  entry: TreeEntry | null;
  blocked: string | null;
}

/** A tree as one commit sees it, or the empty tree before the first commit. Reads only the trees on the way. */
export interface Snapshot {
  commit: Oid | null;
  tree: Oid | null;
  lookup(path: string): Promise<PathLookup>;
  /** The entries of a directory; empty when it does not exist or is not a tree. */
  directory(path: string): Promise<TreeEntry[]>;
  /** The entries of a directory that `foldCase` takes for this name. */
  alike(directory: string, name: string): Promise<TreeEntry[]>;
  /** The oid of the tree at a directory path ('' is the root); null when it does not exist. */
  treeOid(path: string): Promise<Oid | null>;
  /** All files below a directory, in git's order; served from a cache by tree oid. */
  files(path?: string): Promise<readonly TreeFile[]>;
  /**
   * Files that differ from another tree (null: the empty one), in git's order; null when more than `limit` files and directories do. Takes as
   * long as there are differences.
   */
  changesSince(tree: Oid | null, limit: number): Promise<FileChange[] | null>;
  /**
   * Two paths whose names `foldCase` takes for one, and that none of some other trees (null: the empty one) holds both: what merging those has
   * brought together. The first of the two is not in the first tree. null: none.
   */
  newCollision(trees: readonly (Oid | null)[]): Promise<[string, string] | null>;
  blob(oid: Oid): Promise<Buffer>;
  /** Sizes in bytes, in the order requested; null for objects that do not exist. Those of commits that are not stored yet do, too. */
  sizes(oids: readonly Oid[]): Promise<(number | null)[]>;
  /** Streams blobs in the order requested, without holding them all; those of commits that are not stored yet too. */
  blobs(oids: readonly Oid[]): AsyncIterable<{ oid: Oid; content: Buffer }>;
}

/** A file of which two trees hold different versions; null: it is not there. */
export interface FileChange {
  path: string;
  before: FileSide | null;
  after: FileSide | null;
}

/** A blob that is in the store already. */
export interface StoredBlob {
  oid: Oid;
  /** Bytes. */
  size: number;
  /** Its first 4 KiB, or all of a shorter one. */
  head: Buffer;
}

export interface LogQuery {
  from: Oid;
  paths?: string[];
  author?: string;
  /** RFC 3339. */
  since?: string;
  until?: string;
  skip: number;
  limit: number;
}

export interface BlameQuery {
  commit: Oid;
  path: string;
  /** Lines from 1 on, both included; the file has them. */
  first: number;
  last: number;
}

/** Lines that one commit has brought. */
export interface BlamedLines {
  commit: Oid;
  first: number;
  last: number;
}

export interface Blame {
  /** In order, without overlaps; neighbours are of different commits. */
  lines: BlamedLines[];
  /** Every line of the query is among them; otherwise time was over, and those of older commits are missing. */
  isComplete: boolean;
}

/** A commit on the first-parent line of another. */
export interface LineCommit {
  oid: Oid;
  parents: Oid[];
  /** Where its tree differs from that of its first parent, or from the empty tree. */
  paths: string[];
}

/** One side of a changed or conflicting file. */
export interface FileSide {
  oid: Oid;
  mode: Mode;
}

/** git's reasons, as its messages name them (git-merge-tree); `other` covers submodules and those to come. */
export type ConflictKind =
  | 'content'
  | 'binary'
  | 'add_add'
  | 'delete_modify'
  | 'rename_delete'
  | 'rename_rename'
  | 'file_directory'
  | 'mode'
  | 'other';

export interface MergeConflict {
  path: string;
  kind: ConflictKind;
  /** Index stages 1, 2 and 3. A file renamed to two names gives three conflicts, each with one stage. */
  stages: { base: FileSide | null; current: FileSide | null; incoming: FileSide | null };
  /** The other paths git names with this one: the names of a file that was renamed. */
  related: string[];
}

/** Two commits merged by git, line by line. */
/**
 * The tree of a merge. It need not be stored before a commit names it, so it is passed on as this very value, not its id.
 */
export interface MergedTree {
  readonly oid: Oid;
}

export interface TreeMerge {
  /** Where it conflicts, files hold git's conflict markers or one side. */
  tree: MergedTree;
  clean: boolean;
  /** Whether files of different paths may have been taken for one that was renamed. */
  may_follow_renames: boolean;
  /** In order of path. */
  conflicts: MergeConflict[];
  /** Paths changed on both sides whose lines git merged without conflict; they may still be invalid as documents. */
  auto_merged: string[];
}

/** What is known of merging one commit into another; null: they have no common ancestor, or one is not there. */
export type Mergeability = {
  clean: boolean;
  conflicts: string[];
  /** Paths changed on both sides whose lines git merged without conflict. */
  auto_merged: string[];
  /** Whether files of different paths may have been taken for one that was renamed. */
  may_follow_renames: boolean;
} | null;

export interface ChangedFile {
  path: string;
  /** Where a renamed file was before. */
  previous_path: string | null;
  status: 'added' | 'modified' | 'removed' | 'renamed';
  base: FileSide | null;
  head: FileSide | null;
  /** Lines; 0 for binary files. */
  additions: number;
  deletions: number;
  binary: boolean;
}

/** One page of a comparison of two trees. */
export interface TreeDiff {
  /** In order of path. */
  files: ChangedFile[];
  /** Changed files in all. */
  total: number;
}

/** A unified diff of one file, with git's header lines. */
export interface Patch {
  text: string;
  /** The text was longer than the limit; it ends with a whole line. */
  truncated: boolean;
}
