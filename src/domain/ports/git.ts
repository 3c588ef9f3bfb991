import type { Readable, Writable } from 'node:stream';

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
  /** The oid of the tree at a directory path ('' is the root); null when there is none. */
  treeOid(path: string): Promise<Oid | null>;
  /** All files below a directory, in git's order; served from a cache by tree oid. */
  files(path?: string): Promise<readonly TreeFile[]>;
  blob(oid: Oid): Promise<Buffer>;
}

/** A blob that is in the store already. */
export interface StoredBlob {
  oid: Oid;
  /** Bytes. */
  size: number;
  /** Its first 4 KiB, or all of a shorter one. */
  head: Buffer;
}

export interface Change {
  path: string;
  /** null deletes the file. */
  content: Buffer | Pick<StoredBlob, 'oid'> | null;
  /** Default: the mode the file has, else 100644. */
  mode?: Mode;
}

/** What one writer wants of the head it is shown. Nothing changed and no further parents: no commit is made. */
export interface CommitPlan<T> {
  changes: Change[];
  message: string;
  result: T;
  /** A stored tree the changes apply to, in place of the head's: the result of a merge. */
  tree?: Oid;
  /** Stored commits that become parents after the head: one for a merge commit, none for a squash. */
  parents?: Oid[];
  /**
   * In place of a commit the branch moves to this one; `changes` is empty then. Already part of the branch: nothing happens. The writer
   * gets `not_fast_forward` when it does not descend from the head.
   */
  fast_forward_to?: Oid;
  /** What branches must hold (short names; null: not exist) at the moment this one moves; otherwise the writer gets `branch_moved`. */
  expect?: Record<string, Oid | null>;
}

export interface CommitRequest<T> {
  /** Short branch name. A branch without a commit is only created when the repository is empty and the branch is the default one. */
  branch: string;
  author: { name: string; email: string };
  /**
   * The head shown to `plan` must be stored, not one that a writer in front of it is about to store: for plans that give its oid to
   * `mergeTrees`, `mergeBase` or `diff`. Costs a round of its own.
   */
  stored_head?: boolean;
  /**
   * Called with the branch as it will be the parent of this commit; called again when another process moved the branch meanwhile.
   * What it throws is thrown to this writer alone. After 120 s the signal aborts and the writer gets `git_timeout`: others wait.
   */
  plan(head: Snapshot, signal: AbortSignal): Promise<CommitPlan<T>>;
}

export interface Committed<T> {
  /** The new commit, or the one the branch was moved to; null when nothing moved. */
  commit: Commit | null;
  /** The head the plan was made on, or the new commit: the state the answer describes. */
  snapshot: Snapshot;
  result: T;
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
export interface TreeMerge {
  /** Stored. Where it conflicts, files hold git's conflict markers or one side. */
  tree: Oid;
  clean: boolean;
  /** In order of path. */
  conflicts: MergeConflict[];
  /** Paths changed on both sides whose lines git merged without conflict; they may still be wrong as documents. */
  auto_merged: string[];
}

/** What is known of merging one commit into another; null: they have no common ancestor, or one is not there. */
export type Mergeability = { clean: boolean; conflicts: string[] } | null;

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
  /** The text was longer than asked for; it ends with a whole line. */
  truncated: boolean;
}

/** Moves a ref the service keeps for itself. */
export interface InternalRefUpdate {
  /** `refs/pull/<n>/head` (fetchable, never pushable) or below `refs/portico/` (hidden). */
  name: string;
  /** null deletes it. */
  to: Oid | null;
  /** What it must hold; null: it must not exist. Absent: whatever it holds. */
  from?: Oid | null;
}

/** One project's repository. Cheap to hold; processes behind it are pooled and closed when idle. */
export interface Repository {
  readonly id: string;
  /** Short name of the branch HEAD points to. */
  defaultBranch(): Promise<string>;
  setDefaultBranch(branch: string): Promise<void>;
  branches(): Promise<Ref[]>;
  /** The commit of a branch, short name; null when there is none. */
  head(branch: string): Promise<Oid | null>;
  /** True when `oid` is a commit reachable from a visible ref (heads, tags, pulls). */
  isReachable(oid: Oid): Promise<boolean>;
  snapshot(commit: Oid | null): Promise<Snapshot>;
  /** A stored tree that no commit names yet, such as that of a merge; its `commit` is null. */
  snapshotOfTree(tree: Oid): Promise<Snapshot>;
  commit(oid: Oid): Promise<Commit>;
  /** Streams blobs in the order asked, without holding them all. */
  blobs(oids: readonly Oid[]): AsyncIterable<{ oid: Oid; content: Buffer }>;
  /** Sizes in bytes, in the order asked; null for what is not there. */
  sizes(oids: readonly Oid[]): Promise<(number | null)[]>;
  /**
   * Stores the content of a file durably, ahead of the commit that will name it; holds no more than a chunk in memory.
   * Fails with `too_large` above `limit` bytes.
   */
  storeBlob(content: AsyncIterable<Uint8Array>, limit: number): Promise<StoredBlob>;
  write<T>(request: CommitRequest<T>): Promise<Committed<T>>;
  /** Fails with `already_exists` when the branch exists. */
  createBranch(name: string, oid: Oid): Promise<void>;
  /** Fails with `not_found`, with `branch_moved` when the branch holds something else, and with `protected` for the default branch. */
  deleteBranch(name: string, expected: Oid): Promise<void>;
  /** Moves all or none; fails with `branch_moved` when one does not hold its `from`. */
  updateRefs(updates: readonly InternalRefUpdate[]): Promise<void>;
  /** Keeps a commit under `refs/portico/rescue/<branch>/<oid>`, whatever becomes of the branch; twice is once. Returns the ref's name. */
  rescue(branch: string, oid: Oid): Promise<string>;
  /** What the last fetch found on the upstream's branch, short name; null: it is not there. */
  upstreamHead(branch: string): Promise<Oid | null>;
  /** All refs below a prefix without a slash at its end (`refs/pull`, `refs/portico/rescue`), sorted by name. */
  refsBelow(prefix: string): Promise<Ref[]>;
  /** Commits `head` has and `base` lacks, and the other way round. */
  aheadBehind(head: Oid, base: Oid): Promise<{ ahead_by: number; behind_by: number }>;
  /** For each path the newest commit reachable from `from` that touched it, found in one walk of the history. */
  lastCommits(from: Oid, paths: readonly string[]): Promise<Map<string, Commit>>;
  log(query: LogQuery): Promise<Commit[]>;
  /** Commits that `log` with the same query would give in all, counted up to `limit`. */
  countCommits(query: Omit<LogQuery, 'skip'>): Promise<number>;
  /** Commits `head` has and `base` lacks, newest first. */
  commitsBetween(base: Oid, head: Oid, page: { skip: number; limit: number }): Promise<Commit[]>;
  /** The best common ancestor; null when there is none. */
  mergeBase(a: Oid, b: Oid): Promise<Oid | null>;
  isAncestor(ancestor: Oid, descendant: Oid): Promise<boolean>;
  /** Merges two commits into a tree; no ref moves. Fails with `no_common_ancestor`. */
  mergeTrees(current: Oid, incoming: Oid): Promise<TreeMerge>;
  /** Tries many merges in one process and stores nothing; answers in the order asked. */
  mergeability(pairs: readonly { current: Oid; incoming: Oid }[]): Promise<Mergeability[]>;
  /** Files that differ from `base` (null: the empty tree) to `head`, renames found. */
  diff(base: Oid | null, head: Oid, page: { skip: number; limit: number }): Promise<TreeDiff>;
  /** Changed files and lines in all. */
  diffTotals(base: Oid | null, head: Oid): Promise<{ changed_files: number; additions: number; deletions: number }>;
  /** How one file of `diff` differs; '' when it does not. `limit` in bytes. */
  patch(
    base: Oid | null,
    head: Oid,
    file: { path: string; previous_path: string | null },
    limit: number,
  ): Promise<Patch>;
  objectFormat(): Promise<'sha1' | 'sha256'>;
  /** Size of the repository on disk, bytes. */
  diskSize(): Promise<number>;
}

export interface ImportProgress {
  phase: 'connecting' | 'receiving' | 'resolving' | 'checking' | 'finishing';
  received_objects: number;
  total_objects: number;
}

export interface ImportSource {
  /** https URL (guarded), or an absolute path of a local repository (command line only). */
  url: string;
  kind: 'https' | 'path';
  onProgress?: (progress: ImportProgress) => void;
  signal?: AbortSignal;
}

/** How the service signs in at an upstream. Never part of an address, an argument, a stored configuration or a log. */
export type UpstreamAuth =
  | { kind: 'none' }
  /** An access token, sent as the password of HTTP Basic, which all git hosts take. */
  | { kind: 'token'; token: string }
  | { kind: 'basic'; username: string; password: string }
  /** OpenSSH or PEM, without a passphrase. */
  | { kind: 'ssh_key'; private_key: string };

/** A repository on another host: `https://…`, or `ssh://account@host[:port]/path` with an `ssh_key`. */
export interface Upstream {
  url: string;
  auth: UpstreamAuth;
}

/** Why an upstream could not be used; `unreachable` also when there is no such repository. */
export type UpstreamFailure = 'auth_failed' | 'unreachable' | 'timeout';

export interface UpstreamRefs {
  /** Short name; null when the upstream's HEAD names no branch, or it is empty. */
  default_branch: string | null;
  /** Full names, `refs/heads/main`, sorted. */
  branches: Ref[];
}

export type UpstreamPush =
  | { outcome: 'ok' }
  /** The branch there has commits that were not pushed, or moved at that moment: fetch, merge, push again. */
  | { outcome: 'non_fast_forward' }
  /** The upstream's own rules refused it; `message` is what it said. */
  | { outcome: 'declined'; message: string }
  | { outcome: UpstreamFailure };

/** One line of a push: the ref moves from `old` to `new`; null: it did not exist, or is deleted. */
export interface PushCommand {
  /** Full name, below `refs/heads/` or `refs/tags/`. */
  ref: string;
  old: Oid | null;
  new: Oid | null;
  /** The branch would lose commits, or a tag that exists would change. */
  forced: boolean;
}

export interface PushedChange {
  path: string;
  status: 'added' | 'modified' | 'removed';
  /** What the path becomes; of a removed file what it was. */
  mode: Mode;
}

/** What a push brings, readable before any of it becomes part of the repository. Renames are shown as removed and added. */
export interface PushedObjects {
  /** How two commits differ; null: the empty tree. */
  changes(old: Oid | null, new_: Oid): AsyncIterable<PushedChange>;
  /**
   * Every change of every commit of `new_` that no visible ref has yet, also those a later commit takes back; a merge counts where it
   * differs from all its parents. A path may come more than once.
   */
  introduced(new_: Oid): AsyncIterable<PushedChange>;
}

export type PushVerdict = { allow: true } | { allow: false; message: string };

/** One request of git's smart HTTP protocol (gitprotocol-http), already authorised. */
export interface GitServeRequest {
  service: 'git-upload-pack' | 'git-receive-pack';
  /** True for `GET info/refs`. */
  advertise: boolean;
  /** Value of the `Git-Protocol` header, when it is one of version=0, 1, 2. */
  protocol: string | null;
  input: Readable;
  output: Writable;
  signal: AbortSignal;
  /**
   * Decides about a push once its objects have come in, before any ref moves; all of it is refused or none. The message is shown to the
   * client. The branches concerned hold still from the answer until the push is done. Without it, rewrites and deletions are refused.
   */
  authorizePush?(commands: readonly PushCommand[], pushed: PushedObjects): Promise<PushVerdict>;
}

/** `light` packs what was written since; `full` repacks everything and drops what nothing has named for two weeks. */
export type MaintenanceLevel = 'light' | 'full';

export interface FsckReport {
  ok: boolean;
  /** git's own lines, at most 200: for those who run the server. */
  problems: string[];
}

/** The store of all repositories in the data directory; the only part that runs git. */
export interface GitStore {
  /** Fails with a readable message when git is missing or older than 2.38. */
  check(): Promise<{ version: string }>;
  create(id: string, defaultBranch: string): Promise<Repository>;
  open(id: string): Repository;
  exists(id: string): Promise<boolean>;
  remove(id: string): Promise<void>;
  /**
   * Fetches all branches and tags of a source into an empty repository: fetched aside, checked, then all refs moved in one transaction. Resumable: a
   * repeat after a crash starts over on what is there. HEAD becomes the source's default branch.
   */
  importFrom(id: string, source: ImportSource): Promise<{ default_branch: string; branches: number }>;
  /**
   * Answers one request of git's smart HTTP protocol. Writes the whole body to `output`, for an advertisement with the
   * `# service=…` line in front where the protocol version has one, waits for `output` when it is full, and does not end it.
   * Resolves when the body is complete; of a push its end is written only after the push is durable. Rejects with `rate_limited` (too
   * many wait) or `repository_unavailable` before the first byte; a later rejection means the body is cut off.
   */
  serve(id: string, request: GitServeRequest): Promise<void>;
  /**
   * Asks an upstream for its branches. This and the next fail with `invalid_request` for an address that may not be used, and with
   * `upstream_unavailable` and `details.reason` (an `UpstreamFailure`, or `damaged`) otherwise.
   */
  lsRemote(upstream: Upstream, signal?: AbortSignal): Promise<UpstreamRefs>;
  /** Brings `refs/remotes/upstream/*` in step with the upstream's branches, checking every object; no other ref moves. */
  fetchUpstream(id: string, upstream: Upstream, signal?: AbortSignal): Promise<Ref[]>;
  /** Pushes one commit to one branch (short name) of an upstream, never with force. Fails only for an address that may not be used. */
  pushUpstream(
    id: string,
    upstream: Upstream,
    push: { oid: Oid; branch: string },
    signal?: AbortSignal,
  ): Promise<UpstreamPush>;
  /** What a repository is due for; cheap enough to ask after every write. */
  maintenanceDue(id: string): Promise<MaintenanceLevel | null>;
  /**
   * Maintains a repository at low priority, one at a time in this process; readers and writers go on. Fails with `busy` when another
   * process is at it. May take hours.
   */
  maintain(id: string, level: MaintenanceLevel, signal?: AbortSignal): Promise<void>;
  /** Checks all objects and connections. */
  fsck(id: string, signal?: AbortSignal): Promise<FsckReport>;
  /** Writes all refs and their histories into a directory, while writers go on. Unreachable objects are not part of it. */
  backup(id: string, directory: string, signal?: AbortSignal): Promise<{ bytes: number; refs: number }>;
  /** Makes a repository out of a backup. Fails with `already_exists`, and with `invalid_request` for what is no sound backup. */
  restore(id: string, directory: string, signal?: AbortSignal): Promise<Repository>;
  close(): Promise<void>;
}
