import type {
  Blame,
  BlameQuery,
  Commit,
  Distance,
  LineCommit,
  LogQuery,
  Mergeability,
  MergedTree,
  Oid,
  Patch,
  Ref,
  Snapshot,
  StoredBlob,
  TreeDiff,
  TreeMerge,
} from './git-records.ts';
import type {
  GitServeRequest,
  Imported,
  ImportSource,
  IntroducedChange,
  PushMove,
  Upstream,
  UpstreamPush,
  UpstreamRefs,
} from './git-transfer.ts';
import type { CommitRequest, Committed, InternalRefUpdate, StagedTree } from './git-writes.ts';
import type { Spooled } from './spool.ts';

/** One project's repository. Cheap to hold; processes behind it are pooled and closed when idle. */
export interface Repository {
  readonly id: string;
  /** Short name of the branch HEAD points to. */
  defaultBranch(): Promise<string>;
  setDefaultBranch(branch: string): Promise<void>;
  branches(): Promise<readonly Ref[]>;
  /** The commit of a branch, short name; null when it does not exist. */
  head(branch: string): Promise<Oid | null>;
  /** True when `oid` is a commit reachable from a visible ref (heads, tags, pulls). */
  isReachable(oid: Oid): Promise<boolean>;
  /** True when a commit that a visible ref reaches has this blob at a path; false also when that is not found out within seconds. */
  hasVersion(path: string, oid: Oid): Promise<boolean>;
  /** Of a commit that a ref names: this and all that is read of it fail with `repository_unavailable` for an object that is not there. */
  snapshot(commit: Oid | null): Promise<Snapshot>;
  /** A stored tree that no commit names yet, such as that of a merge; its `commit` is null. */
  snapshotOfTree(tree: MergedTree): Promise<StagedTree>;
  commit(oid: Oid): Promise<Commit>;
  /** Streams blobs in the order requested, without holding them all. */
  blobs(oids: readonly Oid[]): AsyncIterable<{ oid: Oid; content: Buffer }>;
  /** Sizes in bytes, in the order requested; null for objects that do not exist. */
  sizes(oids: readonly Oid[]): Promise<(number | null)[]>;
  /**
   * Stores the content of a file durably, ahead of the commit that will name it; holds no more than a chunk in memory.
   * Fails with `too_large` above `limit` bytes.
   */
  storeBlob(content: AsyncIterable<Uint8Array> | Spooled, limit: number): Promise<StoredBlob>;
  write<T>(request: CommitRequest<T>): Promise<Committed<T>>;
  /** Makes a commit on top of another one for a branch that is still to be made, or moved: no ref moves, and no writer waits. */
  writeOnto<T>(parent: Oid, request: Pick<CommitRequest<T>, 'author' | 'plan'>): Promise<Committed<T>>;
  /** Fails with `already_exists` when the branch exists. */
  createBranch(name: string, oid: Oid): Promise<void>;
  /**
   * Fails with `not_found`, with `branch_moved` when the branch holds something else, and with `protected` for the default branch.
   * @param inTurn called when the writers before it have finished; what it throws leaves the branch
   */
  deleteBranch(name: string, expected: Oid, inTurn?: () => Promise<void>): Promise<void>;
  /**
   * Moves a branch (short name) to any stored commit, in line with its writers; fails with `branch_moved` when it does not hold `from`. The
   * branch may lose commits: only one whose commits are all on the upstream or rescued may be moved by this.
   */
  resetBranch(name: string, move: { from: Oid; to: Oid }): Promise<void>;
  /** Moves all or none; fails with `branch_moved` when one does not hold its `from`. */
  updateRefs(updates: readonly InternalRefUpdate[]): Promise<void>;
  /** Keeps a commit under `refs/portico/rescue/<branch>/<oid>`, whatever becomes of the branch; twice is once. Returns the ref's name. */
  rescue(branch: string, oid: Oid): Promise<string>;
  /** What the last fetch found on the upstream's branch, short name; null: it is not there. */
  upstreamHead(branch: string): Promise<Oid | null>;
  /** All refs below a prefix without a slash at its end (`refs/pull`, `refs/portico/rescue`), sorted by name. */
  refsBelow(prefix: string): Promise<readonly Ref[]>;
  /** Commits `head` has and `base` lacks, and the other way round. */
  aheadBehind(head: Oid, base: Oid): Promise<Distance>;
  /** The same for many heads, as far as it is known, or counted until a signal. What is being counted then is known later. */
  distances(heads: Iterable<Oid>, base: Oid, until: AbortSignal): Promise<ReadonlyMap<Oid, Distance>>;
  /** For each path the newest commit reachable from `from` that touched it, found in one walk of the history. */
  lastCommits(from: Oid, paths: readonly string[]): Promise<Map<string, Commit>>;
  /** The commits that lines of a text file are from, as far as they are found within `time` milliseconds. */
  blame(query: BlameQuery, time: number): Promise<Blame>;
  /** The first-parent line of a commit, newest first, down to what `without` reaches (null: to its root). */
  line(head: Oid, without: Oid | null): AsyncIterable<LineCommit>;
  /** Every change of the commits that some `heads` have and `without` lacks; of a merge what was done by hand. A path may come more than once. */
  introduced(heads: readonly Oid[], without: Oid, signal?: AbortSignal): AsyncIterable<IntroducedChange>;
  /** The commits those stand on: parents that `without` has, too. */
  edges(heads: readonly Oid[], without: Oid): Promise<Oid[]>;
  log(query: LogQuery): Promise<Commit[]>;
  /** Commits that `log` with the same query would give in all, counted up to `limit`. */
  countCommits(query: Omit<LogQuery, 'skip'>): Promise<number>;
  /** Commits `head` has and `base` lacks, newest first. */
  commitsBetween(base: Oid, head: Oid, page: { skip: number; limit: number }): Promise<Commit[]>;
  /** The best common ancestor; null without one. */
  mergeBase(a: Oid, b: Oid): Promise<Oid | null>;
  /** All common ancestors that none of the others has in its history. */
  mergeBases(a: Oid, b: Oid): Promise<Oid[]>;
  isAncestor(ancestor: Oid, descendant: Oid): Promise<boolean>;
  /** Merges two commits into a tree; no ref moves. Fails with `no_common_ancestor`. */
  mergeTrees(current: Oid, incoming: Oid, signal?: AbortSignal): Promise<TreeMerge>;
  /**
   * Tries many merges in one process and stores nothing; answers in the order requested.
   * @param until ends the tries; undefined is what was not found by then, or takes git too long or too much
   */
  mergeability(
    pairs: readonly { current: Oid; incoming: Oid }[],
    until?: AbortSignal,
  ): Promise<(Mergeability | undefined)[]>;
  /** Files that differ from `base` (null: the empty tree) to `head`, renames found. */
  diff(base: Oid | null, head: Oid, page: { skip: number; limit: number }): Promise<TreeDiff>;
  /**
   * Where files that were renamed from `base` to `head` were before, by their new paths; found in one pass, without counting lines. Fails with
   * `too_large` for more than a million.
   */
  renames(base: Oid, head: Oid, signal?: AbortSignal): Promise<ReadonlyMap<string, string>>;
  /** Changed files and lines in all. Fails with `git_timeout` when they are too many to count while somebody waits. */
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

/** `light` packs what was written since; `full` repacks everything and drops what nothing has named for two weeks. */
export type MaintenanceLevel = 'light' | 'full';

export interface FsckReport {
  ok: boolean;
  /** git's own lines, at most 200: for operators. */
  problems: string[];
}

/** The store of all repositories in the data directory; the only part that runs git. */
export interface GitStore {
  /** Fails with a readable message when git is missing or older than 2.38; removes what killed processes had made to reach other hosts. */
  check(): Promise<{ version: string }>;
  create(id: string, defaultBranch: string): Promise<Repository>;
  open(id: string): Repository;
  exists(id: string): Promise<boolean>;
  remove(id: string): Promise<void>;
  /** Contents of the store: ids of repositories, and names of directories that are none, left by processes that died. */
  list(): Promise<{ ids: string[]; remains: string[] }>;
  /**
   * Fetches all branches and tags of a source, or the branches it names, into an empty repository: fetched aside, checked, then all refs moved in one transaction. Resumable: a
   * repeat after a crash starts over on what is there. HEAD becomes the source's default branch. Refs whose names cannot be used here are left out.
   */
  importFrom(id: string, source: ImportSource): Promise<Imported>;
  /**
   * Answers one request of git's smart HTTP protocol. Writes the whole body to `output`, for an advertisement with the
   * `# service=…` line in front where the protocol version has one, waits for `output` when it is full, and does not end it.
   * Resolves when the body is complete; of a push its end is written only after the push is durable. Rejects with `rate_limited` (too
   * many wait) or `repository_unavailable` before the first byte; a later rejection means the body is cut off.
   */
  serve(id: string, request: GitServeRequest): Promise<void>;
  /**
   * Lists an upstream's branches. This and the next fail with `invalid_request` for an address that may not be used, and with
   * `upstream_unavailable` and `details.reason` (an `UpstreamFailure`, `damaged`, `incomplete` or `too_many_branches`) otherwise.
   */
  lsRemote(upstream: Upstream, signal?: AbortSignal): Promise<UpstreamRefs>;
  /**
   * Brings `refs/remotes/upstream/*` in step with the upstream's branches, all or none; no other visible ref moves. Branches whose names cannot
   * be used here are left out, unless one of that name is here already; they stay below `refs/portico/upstream`. Every object of the others is
   * checked before. Fails with `too_large`, too, when the upstream holds more than a repository may, or git needs more memory for it.
   */
  fetchUpstream(id: string, upstream: Upstream, signal?: AbortSignal): Promise<readonly Ref[]>;
  /**
   * Pushes one commit to one branch of an upstream. What is there is lost only where the move expects exactly that. Fails only for an address
   * that may not be used.
   */
  pushUpstream(id: string, upstream: Upstream, push: PushMove, signal?: AbortSignal): Promise<UpstreamPush>;
  /** Which upkeep a repository is due for; cheap enough to check after every write. */
  maintenanceDue(id: string): Promise<MaintenanceLevel | null>;
  /**
   * Maintains a repository at low priority, one at a time in this process; readers and writers go on. Fails with `busy` when another
   * process is at it. May take hours.
   */
  maintain(id: string, level: MaintenanceLevel, signal?: AbortSignal): Promise<void>;
  /** Checks all objects and connections. */
  fsck(id: string, signal?: AbortSignal): Promise<FsckReport>;
  /**
   * Writes all refs and their histories into a directory, while writers go on. Unreachable objects are not part of it.
   * Answers what each ref holds there.
   */
  backup(id: string, directory: string, signal?: AbortSignal): Promise<{ bytes: number; refs: readonly Ref[] }>;
  /** Makes a repository out of a backup. Fails with `already_exists`, and with `invalid_request` for what is no sound backup. */
  restore(id: string, directory: string, signal?: AbortSignal): Promise<Repository>;
  close(): Promise<void>;
}
